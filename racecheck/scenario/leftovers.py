"""What is in the box before the actors start: what earlier runs have left there.

Each is a `setup` for a scenario or a workload: called with the box, it puts something
into it. They are values, so that they can be compared, shown and carried.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from racecheck.errors import ScenarioError

if TYPE_CHECKING:
    from pathlib import Path

Setup = Callable[..., object]


@dataclass(frozen=True, slots=True)
class Nothing:
    """An empty box."""

    def __call__(self, box: Path) -> None:
        """Leave it empty."""


@dataclass(frozen=True, slots=True)
class FileLeft:
    """A file with some bytes: an image, whole or torn, a stale temp, a lock file.

    Attributes:
        path: Where it is, from the box.
        data: What is in it.
    """

    path: str
    data: bytes = b""

    def __call__(self, box: Path) -> None:
        """Write it."""
        _place(box, self.path).write_bytes(self.data)


@dataclass(frozen=True, slots=True)
class LinkLeft:
    """A symbolic link, which may lead nowhere or to the wrong place.

    Attributes:
        path: Where it is, from the box.
        target: Its text.
    """

    path: str
    target: str

    def __call__(self, box: Path) -> None:
        """Make it."""
        _place(box, self.path).symlink_to(self.target)


@dataclass(frozen=True, slots=True)
class FolderLeft:
    """A folder, with files in it, where something else is expected.

    Attributes:
        path: Where it is, from the box.
        files: How many files it has.
    """

    path: str
    files: int = 0

    def __call__(self, box: Path) -> None:
        """Make it."""
        folder = _place(box, self.path)
        folder.mkdir()
        for number in range(self.files):
            (folder / f"file-{number}").write_bytes(b"left")


@dataclass(frozen=True, slots=True)
class InTurn:
    """Several setups, one after the other; their dicts are put together.

    Attributes:
        setups: The setups.
    """

    setups: tuple[Setup, ...]

    def __call__(self, box: Path) -> object:
        """Call them all."""
        found: dict[str, object] = {}
        for setup in self.setups:
            wants = inspect.signature(setup).parameters
            state = setup(**{"box": box} if "box" in wants else {})
            if isinstance(state, Mapping):
                found.update(state)
            elif state is not None:
                found["state"] = state
        return found

    def __repr__(self) -> str:
        names = [getattr(each, "__name__", repr(each)) for each in self.setups]
        return f"InTurn({', '.join(names)})"


def _place(box: Path, path: str) -> Path:
    place = box / path
    if ".." in place.parts or not place.is_relative_to(box):
        raise ScenarioError(f"what is left in the box is not at {path!r}")
    place.parent.mkdir(parents=True, exist_ok=True)
    return place
