"""The three kinds of file locks, each taken in the way that programs take it."""

from __future__ import annotations

import fcntl
import os
import struct
from typing import TYPE_CHECKING, NamedTuple

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

F_OFD_SETLK, F_OFD_SETLKW = 37, 38
WHOLE = (0, 0)


def record(kind: int, start: int, length: int) -> bytes:
    """Return a `struct flock`: type, whence, start, length, pid."""
    return struct.pack("=hh4xqqi4x", kind, os.SEEK_SET, start, length, 0)


def create(path: Path) -> int:
    """Open a file to lock it."""
    return os.open(path, os.O_RDWR | os.O_CREAT, 0o644)


class Lock(NamedTuple):
    """A kind of lock, by what it is called where tests are listed."""

    name: str
    call: str
    take: Callable[..., None]
    let_go: Callable[[int], None]

    def open(self, path: Path) -> int:
        """Open a file and wait for its lock."""
        descriptor = create(path)
        self.take(descriptor)
        return descriptor


def _flock(descriptor: int, command: int = fcntl.LOCK_EX) -> None:
    fcntl.flock(descriptor, command)


def _posix(
    descriptor: int, command: int = fcntl.LOCK_EX, part: tuple[int, int] = WHOLE
) -> None:
    fcntl.lockf(descriptor, command, part[1], part[0])


def _ofd(
    descriptor: int, command: int = fcntl.LOCK_EX, part: tuple[int, int] = WHOLE
) -> None:
    kind = fcntl.F_RDLCK if command & fcntl.LOCK_SH else fcntl.F_WRLCK
    request = F_OFD_SETLK if command & fcntl.LOCK_NB else F_OFD_SETLKW
    fcntl.fcntl(descriptor, request, record(kind, *part))


def _let_go_ofd(descriptor: int) -> None:
    fcntl.fcntl(descriptor, F_OFD_SETLK, record(fcntl.F_UNLCK, 0, 0))


FLOCK = Lock("flock", "flock", _flock, lambda fd: fcntl.flock(fd, fcntl.LOCK_UN))
POSIX = Lock("posix", "fcntl", _posix, lambda fd: fcntl.lockf(fd, fcntl.LOCK_UN))
OFD = Lock("ofd", "fcntl", _ofd, _let_go_ofd)

ALL = pytest.mark.parametrize("lock", [FLOCK, POSIX, OFD], ids=lambda lock: lock.name)
RANGES = pytest.mark.parametrize("lock", [POSIX, OFD], ids=lambda lock: lock.name)
