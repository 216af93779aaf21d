"""What stands around a write: a lock of one kind or another, or a sweep before it.

Each function gives a context for one write of the image at `path`. A lock lies beside
the image and is called after it.
"""

import fcntl
import os
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path

Guard = Callable[[Path], AbstractContextManager[object]]

_PAUSE_S = 0.05


@contextmanager
def unguarded(path: Path) -> Iterator[None]:
    """Do nothing."""
    del path
    yield


@contextmanager
def flocked(path: Path) -> Iterator[None]:
    """Wait for a lock of the kernel's, which ends with whoever has it."""
    fd = os.open(lock_of(path), os.O_RDWR | os.O_CREAT, 0o666)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)


@contextmanager
def flocked_and_removed(path: Path) -> Iterator[None]:
    """Do the same, and tidy the lock file away in the end.

    Who waits for the lock has the removed file open, and gets the lock of that, while
    the next one makes a file of its own.
    """
    with flocked(path):
        yield
        lock_of(path).unlink(missing_ok=True)


@contextmanager
def lock_file(path: Path) -> Iterator[None]:
    """Wait until a file can be made that is there while somebody has the lock."""
    lock = lock_of(path)
    while not _made(lock):
        time.sleep(_PAUSE_S)
    try:
        yield
    finally:
        lock.unlink()


@contextmanager
def folder_locked(path: Path) -> Iterator[None]:
    """Wait for the lock of the whole folder, which whoever evicts takes as well."""
    with flocked(path.parent):
        yield


def sweeping(age_s: float) -> Guard:
    """Return what removes temp files of the image so old, before each write."""

    @contextmanager
    def swept(path: Path) -> Iterator[None]:
        oldest = time.time() - age_s
        for temp in sorted(path.parent.glob(f"{path.name}.tmp.*")):
            with suppress(FileNotFoundError):
                if temp.stat().st_mtime < oldest:
                    temp.unlink()
        yield

    return swept


def lock_of(path: Path) -> Path:
    """Return where the lock of an image is."""
    return path.with_name(f"{path.name}.lock")


def _made(path: Path) -> bool:
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
    except FileExistsError:
        return False
    return True
