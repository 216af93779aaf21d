"""Ways to keep a folder of cached files within its cap, the oldest going first.

An evictor chooses from what it has listed, and removes what it has chosen. Both are
pieces: what differs from `evict_by_name` is what its line in `EVICTORS` says.
"""

import os
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from scenarios.eviction.entries import Entry, by_age, is_temp, locked, look, remove

Evictor = Callable[[Path], int]

CAP = 1
CAP_NBYTES = 1000


def excess(entries: list[Entry]) -> list[Entry]:
    """Choose the oldest of all files that are more than the cap allows."""
    return entries[: max(0, len(entries) - CAP)]


def excess_of_images(entries: list[Entry]) -> list[Entry]:
    """Choose the oldest images, as if there were no temp files."""
    return excess([entry for entry in entries if not is_temp(entry.name)])


def excess_of_images_counting_all(entries: list[Entry]) -> list[Entry]:
    """Choose as many images as there are files too many, temp files counted."""
    images = [entry for entry in entries if not is_temp(entry.name)]
    return images[: max(0, len(entries) - CAP)]


def temps(entries: list[Entry]) -> list[Entry]:
    """Choose all temp files, as if nobody were at work."""
    return [entry for entry in entries if is_temp(entry.name)]


def excess_but(current: str) -> Callable[[list[Entry]], list[Entry]]:
    """Return what chooses the oldest images, but never the one that is in use."""

    def choose(entries: list[Entry]) -> list[Entry]:
        images = [entry for entry in entries if not is_temp(entry.name)]
        others = [entry for entry in images if entry.name != current]
        return others[: max(0, len(images) - CAP)]

    return choose


def excess_of_bytes(entries: list[Entry]) -> list[Entry]:
    """Choose the oldest of all files until the rest is small enough."""
    chosen = []
    total = sum(entry.nbytes for entry in entries)
    for entry in entries:
        if total <= CAP_NBYTES:
            break
        chosen.append(entry)
        total -= entry.nbytes
    return chosen


def by_name(folder: Path, entry: Entry) -> bool:
    """Remove what is at the name of an entry."""
    return remove(folder / entry.name)


def after_another_look(folder: Path, entry: Entry) -> bool:
    """Remove an entry if the file at its name is still the one that was chosen."""
    found = look(folder / entry.name)
    if found is None or found.inode != entry.inode:
        return False
    return remove(folder / entry.name)


def from_aside(folder: Path, entry: Entry) -> bool:
    """Rename an entry away, and put it back if it is not the one that was chosen."""
    aside = folder / f".evict.{os.getpid()}"
    try:
        os.rename(folder / entry.name, aside)
    except FileNotFoundError:
        return False
    found = look(aside)
    chosen = found is not None and found.inode == entry.inode
    if not chosen:
        try:
            os.link(aside, folder / entry.name)
        except FileExistsError:
            # A newer one still has come meanwhile.
            chosen = True
    remove(aside)
    return chosen


@dataclass(frozen=True, kw_only=True)
class Eviction:
    """An evictor made of pieces; those that it has by default evict by name.

    Attributes:
        choose: Says of all files, the oldest first, which have to go.
        take: Removes one of them, and says whether it did.
        guard: What stands around all of it.
    """

    choose: Callable[[list[Entry]], Iterable[Entry]] = excess
    take: Callable[[Path, Entry], bool] = by_name
    guard: Callable[[Path], AbstractContextManager[object]] = nullcontext

    def __call__(self, folder: Path) -> int:
        """Evict, and return how many files were removed."""
        with self.guard(folder):
            return sum(self.take(folder, each) for each in self.choose(by_age(folder)))


EVICTORS: Mapping[str, Evictor] = MappingProxyType(
    {
        "by_name": Eviction(),
        "skip_temps": Eviction(choose=excess_of_images),
        "recheck": Eviction(choose=excess_of_images, take=after_another_look),
        "aside": Eviction(choose=excess_of_images, take=from_aside),
        "locked": Eviction(choose=excess_of_images, guard=locked),
        "temps": Eviction(choose=temps),
        "counting_temps": Eviction(choose=excess_of_images_counting_all),
        "by_size": Eviction(choose=excess_of_bytes),
    }
)
