"""Whole files in as few calls as it takes."""

import os
from pathlib import Path

_BLOCK_NBYTES = 4096


def create(path: Path, data: bytes = b"") -> None:
    """Make a file that is not there yet.

    Raises:
        FileExistsError: The name is taken.
    """
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    try:
        if data:
            os.write(fd, data)
    finally:
        os.close(fd)


def read(path: Path) -> bytes:
    """Return what is in a file of up to one block.

    Raises:
        FileNotFoundError: There is none.
    """
    fd = os.open(path, os.O_RDONLY)
    try:
        return os.read(fd, _BLOCK_NBYTES)
    finally:
        os.close(fd)


def own_temp(path: Path) -> Path:
    """Return a name beside a path that no other process of this host uses."""
    return Path(f"{path}.{os.getpid()}")
