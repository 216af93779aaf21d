"""Ways to remove temp files that nobody will ever rename.

A sweeper asks of each temp file whether it is an orphan. What differs from the first
is what their line in `SWEEPERS` says.
"""

import fcntl
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from scenarios.eviction.entries import Entry, by_age, is_temp, remove

Sweeper = Callable[[Path], int]
Claim = Callable[[Path], AbstractContextManager[bool]]

WINDOW_S = 3600


def older(age_ns: int) -> bool:
    """Say whether an age is more than the window."""
    return age_ns > WINDOW_S * 1_000_000_000


def as_old(age_ns: int) -> bool:
    """Say whether an age is the window or more."""
    return age_ns >= WINDOW_S * 1_000_000_000


@contextmanager
def unclaimed(temp: Path) -> Iterator[bool]:
    """Take any temp file for an orphan that is old enough."""
    del temp
    yield True


@contextmanager
def of_dead_process(temp: Path) -> Iterator[bool]:
    """Spare those whose process lives, by the number in their name."""
    yield not _lives(int(temp.name.rpartition(".tmp.")[2].partition(".")[0]))


@contextmanager
def unlocked(temp: Path) -> Iterator[bool]:
    """Spare those that somebody holds a lock on, and hold it while they are removed."""
    try:
        fd = os.open(temp, os.O_RDWR)
    except FileNotFoundError:
        yield False
        return
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        yield False
    else:
        yield True
    finally:
        os.close(fd)


@dataclass(frozen=True, kw_only=True)
class Sweep:
    """A sweeper made of pieces; those that it has by default sweep by age alone.

    Attributes:
        claim: Says of a temp file that is old enough whether it is an orphan, and
            keeps it one while it is removed.
        is_old: Says of an age in nanoseconds whether it is enough.
    """

    claim: Claim = unclaimed
    is_old: Callable[[int], bool] = older

    def __call__(self, folder: Path) -> int:
        """Sweep one folder, and return how many temp files were removed."""
        return sum(self._take(folder, entry) for entry in by_age(folder))

    def _take(self, folder: Path, entry: Entry) -> bool:
        if not (is_temp(entry.name) and self.is_old(time.time_ns() - entry.age)):
            return False
        with self.claim(folder / entry.name) as orphan:
            return orphan and remove(folder / entry.name)


def sweep_others(cache: Path, current: str) -> int:
    """Sweep each folder of a cache but the one in use."""
    return sum(
        Sweep()(folder)
        for folder in sorted(cache.iterdir())
        if folder.is_dir() and folder.name != current
    )


def sweep_all(cache: Path, current: str) -> int:
    """Sweep each folder of a cache."""
    del current
    return sweep_others(cache, "")


def empty_all(cache: Path, current: str) -> int:
    """Remove whatever is in any folder of a cache."""
    del current
    return sum(
        remove(folder / entry.name)
        for folder in sorted(cache.iterdir())
        for entry in by_age(folder)
    )


SWEEPERS: Mapping[str, Sweeper] = MappingProxyType(
    {
        "by_age": Sweep(),
        "up_to_age": Sweep(is_old=as_old),
        "of_the_dead": Sweep(claim=of_dead_process),
        "unlocked": Sweep(claim=unlocked),
    }
)


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
