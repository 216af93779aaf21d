"""Other ways to read a head image than `read_head_image`, most of them worse."""

import mmap
import os
from collections.abc import Callable
from pathlib import Path

from scenarios.head_image.geometry import HEADER_NBYTES, SMALL
from scenarios.head_image.image import Key, Refusal, validate

Reader = Callable[[Path, Key], bytes | Refusal]


def read_by_two_opens(path: Path, key: Key) -> bytes | Refusal:
    """Judge the header, and open the file again for the rest."""
    header = _read(path, 0, HEADER_NBYTES)
    if header is None:
        return Refusal.MISSING
    rest = _read(path, HEADER_NBYTES, SMALL.file_nbytes)
    data = header + (rest or b"")
    # The payload is taken for what its header promises.
    refusal = validate(data, key, SMALL)
    return data if refusal in {None, Refusal.HASH} else refusal


def read_if_there(path: Path, key: Key) -> bytes | Refusal:
    """Look whether there is a file before it is opened.

    Raises:
        FileNotFoundError: It went away in between.
    """
    if not path.exists():
        return Refusal.MISSING
    data = _open_and_read(path)
    return validate(data, key, SMALL) or data


def read_mapped(path: Path, key: Key) -> bytes | Refusal:
    """Map the file, as programs do that hand an image on to a device."""
    try:
        fd = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        return Refusal.MISSING
    try:
        size = os.fstat(fd).st_size
        if not size:
            return Refusal.SHORT
        with mmap.mmap(fd, size, access=mmap.ACCESS_READ) as mapped:
            data = mapped[:]
    finally:
        os.close(fd)
    return validate(data, key, SMALL) or data


def read_raw(path: Path, key: Key) -> bytes | Refusal:
    """Take whatever is there for an image."""
    del key
    data = _read(path, 0, SMALL.file_nbytes)
    return Refusal.MISSING if data is None else data


def read_of_any_key(path: Path, key: Key) -> bytes | Refusal:
    """Take any whole image, whatever it was made from."""
    del key
    data = _read(path, 0, 2 * SMALL.file_nbytes)
    return Refusal.MISSING if data is None else validate(data) or data


def _read(path: Path, start: int, count: int) -> bytes | None:
    try:
        fd = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        return None
    try:
        return os.pread(fd, count, start)
    finally:
        os.close(fd)


def _open_and_read(path: Path) -> bytes:
    fd = os.open(path, os.O_RDONLY)
    try:
        return os.read(fd, 2 * SMALL.file_nbytes)
    finally:
        os.close(fd)
