"""A counter in a file, which anybody may raise by one."""

import fcntl
import os
from pathlib import Path

from scenarios.names.files import create, own_temp, read


def increment(path: Path) -> None:
    """Read the counter and publish the next number through a temp file.

    Nobody ever sees half a number. Two that read the same one publish the same one.
    """
    count = int(read(path)) + 1
    temp = own_temp(path)
    create(temp, b"%d" % count)
    os.replace(temp, path)


def increment_locked(path: Path) -> None:
    """Do the same while holding a lock.

    The lock is on a file of its own: the counter is another file after each increment.
    """
    fd = os.open(f"{path}.lock", os.O_RDWR | os.O_CREAT, 0o666)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        increment(path)
    finally:
        os.close(fd)
