"""An index that leads to the newest blob, whose publisher removes the one before.

The index is a link. Between the call that reads it and the one that opens the blob
there are no others, and both processes do much else: the moment is hard to hit.
"""

import os
from pathlib import Path

from scenarios.names.files import create, own_temp, read

INDEX = "index"
CHORES = 30


def publish(folder: Path, blob: str, data: bytes, log: Path) -> None:
    """Put a new blob there, lead the index to it, and remove the old blob."""
    index = folder / INDEX
    create(folder / blob, data)
    old = os.readlink(index)
    temp = own_temp(index)
    os.symlink(blob, temp)
    os.replace(temp, index)
    os.unlink(folder / old)
    do_chores(log)


def load_once(folder: Path, log: Path) -> bytes:
    """Read the blob that the index leads to.

    Raises:
        FileNotFoundError: The blob was removed since the index was read.
    """
    do_chores(log)
    return read(folder / os.readlink(folder / INDEX))


def load(folder: Path, log: Path) -> bytes:
    """Read the blob that the index leads to, and look again if it is gone.

    Raises:
        FileNotFoundError: The index leads to nothing.
    """
    do_chores(log)
    blob = os.readlink(folder / INDEX)
    while True:
        try:
            return read(folder / blob)
        except FileNotFoundError:
            newer = os.readlink(folder / INDEX)
            if newer == blob:
                raise
            blob = newer


def do_chores(log: Path) -> None:
    """Make thirty calls that are nobody else's business."""
    fd = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
    for _ in range(CHORES - 2):
        os.write(fd, b".")
    os.close(fd)
