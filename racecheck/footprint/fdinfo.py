"""What `/proc/PID/fdinfo` tells of an open file: position, flags and locks."""

from __future__ import annotations

import os
from typing import Final, NamedTuple

FOREVER: Final = (1 << 63) - 1
"""End of what has none: ranges of bytes up to the end of a file, however long."""

_LONGEST: Final = 1 << 16
_LOCKS: Final = frozenset({"FLOCK", "POSIX", "OFDLCK"})


class Lock(NamedTuple):
    """A lock that a process holds.

    Attributes:
        target: Name of the inode.
        type: `FLOCK`, `POSIX` or `OFDLCK`.
        exclusive: Whether it excludes shared ones.
        start: First byte; 0 for `FLOCK`, which has no range.
        end: Byte after the last one; 0 for `FLOCK`.
    """

    target: str
    type: str
    exclusive: bool
    start: int
    end: int


def state(process: int, number: int) -> tuple[int, int]:
    """Return position and flags of a descriptor's open file.

    The flags are those of `open`; `O_CLOEXEC` is that of this descriptor.
    """
    # It starts with two lines such as `pos: 0` and `flags: 02100002`.
    words = _read(process, number).split(None, 4)
    return int(words[1]), int(words[3], 8)


def locks(process: int, number: int, target: str) -> list[Lock]:
    """Return the locks that were taken through a descriptor's open file.

    Args:
        process: Id of the process.
        number: The descriptor.
        target: Name of the inode.
    """
    found = []
    for line in _read(process, number).splitlines():
        # lock:   1: POSIX  ADVISORY  WRITE 4711 00:1b:29046 0 EOF
        words = line.split()
        if words[0] != "lock:" or words[2] not in _LOCKS:
            continue
        start, end = int(words[7]), FOREVER
        if words[2] == "FLOCK":
            end = 0
        elif words[8] != "EOF":
            end = int(words[8]) + 1
        found.append(Lock(target, words[2], words[4] == "WRITE", start, end))
    return found


def _read(process: int, number: int) -> str:
    descriptor = os.open(f"/proc/{process}/fdinfo/{number}", os.O_RDONLY)
    try:
        return os.read(descriptor, _LONGEST).decode()
    finally:
        os.close(descriptor)
