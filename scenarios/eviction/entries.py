"""Entries of a cache folder: what there is, how old, and what is only a temp file."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple


class Entry(NamedTuple):
    """A file of the cache as it was when it was looked at.

    Attributes:
        age: Time of its last change, in nanoseconds since 1970; older ones are less.
        name: Its name.
        inode: Which file it is.
        nbytes: Its size.
    """

    age: int
    name: str
    inode: int
    nbytes: int


def by_age(folder: Path) -> list[Entry]:
    """Return what is in a folder, the oldest first; what goes meanwhile is left out."""
    found = []
    for name in sorted(os.listdir(folder)):
        entry = look(folder / name)
        if entry is not None:
            found.append(entry)
    return sorted(found)


def look(path: Path) -> Entry | None:
    """Look at one file, if it is there."""
    try:
        status = os.stat(path, follow_symlinks=False)
    except FileNotFoundError:
        return None
    return Entry(status.st_mtime_ns, path.name, status.st_ino, status.st_size)


def is_temp(name: str) -> bool:
    """Say whether a name is that of a temp file."""
    return ".tmp" in name


def remove(path: Path) -> bool:
    """Remove a file, and say whether it was still there."""
    try:
        os.unlink(path)
    except FileNotFoundError:
        return False
    return True


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold the lock of a folder, which lies beside it."""
    fd = os.open(f"{folder}.lock", os.O_RDWR | os.O_CREAT, 0o666)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)
