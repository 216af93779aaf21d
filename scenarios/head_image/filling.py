"""How a temp file is opened, filled and cleaned up."""

import itertools
import os
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple


class Opened(NamedTuple):
    """A temp file under the name that it got."""

    temp: Path
    fd: int


def open_truncated(temp: Path) -> Opened:
    """Open a file for writing and empty it, whoever else has it open."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    return Opened(temp, os.open(temp, flags, 0o666))


def open_exclusive(temp: Path) -> Opened:
    """Make a file that is not there yet.

    Raises:
        FileExistsError: The name is taken.
    """
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
    return Opened(temp, os.open(temp, flags, 0o666))


def open_unused(temp: Path) -> Opened:
    """Make a file, under another name for as long as the name is taken."""
    for number in itertools.count():
        name = Path(f"{temp}.{number}") if number else temp
        with suppress(FileExistsError):
            return open_exclusive(name)
    raise AssertionError("there are no more numbers")


def open_random(temp: Path) -> Opened:
    """Make a file under a random name, as mkstemp does, for everybody to read."""
    fd, name = tempfile.mkstemp(prefix=f"{temp.name}.", dir=temp.parent)
    # mkstemp lets nobody but the owner in, and an image is for all.
    mask = os.umask(0)
    os.umask(mask)
    os.fchmod(fd, 0o666 & ~mask)
    return Opened(Path(name), fd)


def write_all(fd: int, sections: Sequence[bytes]) -> None:
    """Write the sections one after the other.

    Raises:
        OSError: A write fails.
    """
    for section in sections:
        rest = memoryview(section)
        while rest:
            rest = rest[os.write(fd, rest) :]


def fill(fd: int, sections: Sequence[bytes]) -> None:
    """Write the sections, and close `fd` in any case.

    Raises:
        OSError: If a write fails or the close does. Some file systems tell only then
            that there was no room.
    """
    try:
        write_all(fd, sections)
    finally:
        os.close(fd)


def fill_unchecked(fd: int, sections: Sequence[bytes]) -> None:
    """Write the sections, and take no notice of what the close says.

    Raises:
        OSError: A write fails.
    """
    try:
        write_all(fd, sections)
    finally:
        with suppress(OSError):
            os.close(fd)


def fill_once(fd: int, sections: Sequence[bytes]) -> None:
    """Write each section with one call, and take it for written.

    Raises:
        OSError: If a write fails or the close does.
    """
    try:
        for section in sections:
            os.write(fd, section)
    finally:
        os.close(fd)


def fill_and_keep(fd: int, sections: Sequence[bytes]) -> None:
    """Write the sections and forget to close.

    Raises:
        OSError: A write fails.
    """
    write_all(fd, sections)


def remove(temp: Path) -> None:
    """Remove a file if that can be done."""
    with suppress(OSError):
        temp.unlink()


def keep(temp: Path) -> None:
    """Leave a file where it is."""
