"""Which descriptors of a process lead into the sandbox, and to what."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from racecheck.footprint import Names, OpenFile


class Descriptors:
    """The descriptors of one process that lead into the sandbox.

    Every call that makes or closes a descriptor of a file stops, so that the table is
    exact; a number that is not in it leads elsewhere, which `foreign` verifies.
    """

    __slots__ = ("_closing", "_files")

    def __init__(self) -> None:
        self._files: dict[int, OpenFile] = {}
        self._closing: set[int] = set()

    def find(self, number: int) -> OpenFile | None:
        """Return what a descriptor leads to, or None if not into the sandbox."""
        return self._files.get(number)

    def add(self, number: int, file: OpenFile, *, close_on_exec: bool) -> None:
        """Note a descriptor that the process got."""
        self._files[number] = file
        self.close_on_exec(number, wanted=close_on_exec)

    def close_on_exec(self, number: int, *, wanted: bool) -> None:
        """Note whether an exec closes a descriptor."""
        if wanted:
            self._closing.add(number)
        else:
            self._closing.discard(number)

    def copy(self) -> Descriptors:
        """Return the table that a forked process starts with."""
        other = Descriptors()
        other._files = dict(self._files)
        other._closing = set(self._closing)
        for file in other._files.values():
            file.shared = True
        return other

    def close(self, first: int, last: int | None = None) -> list[OpenFile]:
        """Forget one descriptor or a range; return the files that were closed."""
        if last is None or last == first:
            file = self._files.pop(first, None)
            return [] if file is None else [file]
        numbers = [number for number in self._files if first <= number <= last]
        return [self._files.pop(number) for number in numbers]

    def execute(self) -> None:
        """Forget what an exec closes."""
        for number in self._closing:
            self._files.pop(number, None)
        self._closing.clear()

    def holds(self, file: OpenFile) -> bool:
        """Say whether a descriptor still leads to an open file description."""
        return any(other is file for other in self._files.values())

    def numbers(self) -> tuple[int, ...]:
        """Return the descriptors that lead into the sandbox."""
        return tuple(self._files)

    def table(self) -> Mapping[int, OpenFile]:
        """Return what they lead to, as it is from now on."""
        return self._files

    def files(self) -> set[OpenFile]:
        """Return the open files, each once."""
        return set(self._files.values())


def foreign(names: Names, process: int, number: int) -> bool:
    """Say whether a descriptor that is in no table does lead outside the sandbox."""
    try:
        status = os.stat(f"/proc/{process}/fd/{number}")
    except OSError:
        return True
    return names.find(status) is None
