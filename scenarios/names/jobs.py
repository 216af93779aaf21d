"""A job that only one process may do at a time, and two ways to see to that.

A lock file stays behind if its holder dies. So it says until when it counts, and who
comes later may take it over. It is a link, which is made and filled in one call.
"""

import fcntl
import os
import time
from contextlib import suppress
from pathlib import Path

from scenarios.names.files import create

LOCK = "lock"
GUARD = "guard"
MARK = "at-work"

_LEASE_S = 60


def run_with_lock_file(folder: Path) -> bool:
    """Do the job if nobody holds the lock file, or its holder must be dead by now.

    Returns:
        Whether the job was done.

    Raises:
        FileExistsError: Somebody else is at work.
    """
    lock = folder / LOCK
    if not _take(lock):
        return False
    _work(folder / MARK)
    with suppress(FileNotFoundError):
        os.unlink(lock)
    return True


def run_with_flock(folder: Path) -> bool:
    """Do the job if nobody holds a lock, which ends with its holder by itself.

    Returns:
        Whether the job was done.
    """
    fd = os.open(folder / GUARD, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        _work(folder / MARK)
    except BlockingIOError:
        return False
    finally:
        os.close(fd)
    return True


def _take(lock: Path) -> bool:
    with suppress(FileNotFoundError):
        _, _, until = os.readlink(lock).partition(" until ")
        if time.time() > int(until):
            # This may be somebody's new lock by now, who found the old one stale too.
            os.unlink(lock)
    try:
        os.symlink(f"{os.getpid()} until {int(time.time()) + _LEASE_S}", lock)
    except FileExistsError:
        return False
    return True


def _work(mark: Path) -> None:
    """Leave a mark for as long as it takes, which cannot be there already."""
    create(mark)
    os.unlink(mark)
