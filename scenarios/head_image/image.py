"""The head image: one file that can tell by itself whether it is whole.

Everything is little-endian: a header of 128 bytes, the codes, zeros up to the next
multiple of 64, the scales, and nothing after them. `seal` makes the three sections,
`validate` judges bytes and `read_head_image` judges a file.
"""

import enum
import hashlib
import json
import os
import struct
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from scenarios.head_image.geometry import HEADER_NBYTES, SMALL, Geometry

# The first byte is not zero: when a truncated file is written on from an old offset,
# the hole at its front reads as zeros and must not pass for a start.
MAGIC = b"\x89RCHIMG\n"
FORMAT_VERSION = 1

_HEADER = struct.Struct("<8sHHI64s16s16s12sI")
_CRC_NBYTES = 4


class Refusal(enum.StrEnum):
    """Why a file is no usable image, in the order in which it is checked."""

    MISSING = "missing"
    SHORT = "shorter than a header"
    MAGIC = "magic number differs"
    VERSION = "of another version"
    HEADER_CRC = "header checksum differs"
    GEOMETRY = "of another geometry"
    KEY = "of another key"
    SIZE = "not of the size that its header says"
    HASH = "payload hash differs"


@dataclass(frozen=True)
class Key:
    """Everything that changes the bytes of an image besides its geometry.

    Attributes:
        pack: Identity of the weights that were packed.
        kernels: Kernel set that the image is laid out for.
        layout: Order of the tiles.
        options: Names and values of the packing options, in any order.
    """

    pack: str
    kernels: str = "generic"
    layout: str = "tile-major"
    options: tuple[tuple[str, str], ...] = ()

    def digest(self) -> bytes:
        """Return the 16 bytes that stand for this key in a header."""
        # JSON and not joined text: ("ab", "c") and ("a", "bc") must differ.
        parts = [self.pack, self.kernels, self.layout, sorted(self.options)]
        return _digest(json.dumps(parts).encode())


class Sections(NamedTuple):
    """An image in the pieces in which it is written; `codes` holds the padding."""

    header: bytes
    codes: bytes
    scales: bytes


class _Header(NamedTuple):
    magic: bytes
    version: int
    header_nbytes: int
    builder: int
    layout: bytes
    key: bytes
    payload_hash: bytes
    reserved: bytes
    crc: int


def seal(
    codes: bytes, scales: bytes, key: Key, geometry: Geometry = SMALL, builder: int = 1
) -> Sections:
    """Put padding behind `codes` and a header in front.

    Args:
        codes: Quantised weights.
        scales: Their scales.
        key: What the image was made from.
        geometry: Shape that both sections must have.
        builder: Version of the program that made the image.

    Raises:
        ValueError: If a section has not the size that the geometry gives it.
    """
    found = (len(codes), len(scales))
    expected = (geometry.codes_nbytes, geometry.scales_nbytes)
    if found != expected:
        raise ValueError(f"codes and scales must take {expected} bytes, found {found}")
    padded = codes.ljust(geometry.scales_offset - HEADER_NBYTES, b"\0")
    header = _HEADER.pack(
        *(MAGIC, FORMAT_VERSION, HEADER_NBYTES, builder, geometry.layout()),
        *(key.digest(), _digest(padded, scales), bytes(12), 0),
    )[:-_CRC_NBYTES]
    return Sections(header + struct.pack("<I", zlib.crc32(header)), padded, scales)


def validate(
    data: bytes, key: Key | None = None, geometry: Geometry | None = None
) -> Refusal | None:
    """Judge the bytes of a whole file.

    Args:
        data: All of its bytes.
        key: What it must have been made from; None takes any.
        geometry: Shape it must have; None takes the one that it states.

    Returns:
        The first reason to refuse it, or None for a whole image.
    """
    refusal = _check_header(data[:HEADER_NBYTES], len(data), key, geometry)
    return refusal or _check_payload(data)


def builder_of(image: bytes) -> int:
    """Return the version of the program that made a valid image."""
    return _Header._make(_HEADER.unpack_from(image)).builder


def read_head_image(
    path: Path, key: Key, geometry: Geometry = SMALL
) -> bytes | Refusal:
    """Read the image at `path`, or say why it must be packed again.

    The file is opened once. A second opening could meet another file, because a
    writer may rename a new image to the path in between.

    Raises:
        OSError: If there is something at the path that cannot be read.
    """
    try:
        fd = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        return Refusal.MISSING
    try:
        size = os.fstat(fd).st_size
        header = _read(fd, HEADER_NBYTES)
        refusal = _check_header(header, size, key, geometry)
        if refusal:
            return refusal
        data = header + _read(fd, size - len(header))
    finally:
        os.close(fd)
    return _check_payload(data) or data


def _check_header(
    header: bytes, size: int, key: Key | None, geometry: Geometry | None
) -> Refusal | None:
    if len(header) < HEADER_NBYTES:
        return Refusal.SHORT
    found = _Header._make(_HEADER.unpack(header))
    own = geometry or Geometry.from_layout(found.layout)
    form = (found.version, found.header_nbytes)
    # The checksum comes before whatever depends on fields that it covers, but after
    # the version: another version may keep its checksum elsewhere.
    checks = {
        Refusal.MAGIC: found.magic == MAGIC,
        Refusal.VERSION: form == (FORMAT_VERSION, HEADER_NBYTES),
        Refusal.HEADER_CRC: found.crc == zlib.crc32(header[:-_CRC_NBYTES]),
        Refusal.GEOMETRY: own is not None
        and found.layout == own.layout()
        and not any(found.reserved),
        Refusal.KEY: key is None or found.key == key.digest(),
        Refusal.SIZE: own is not None and size == own.file_nbytes,
    }
    return next((refusal for refusal, good in checks.items() if not good), None)


def _check_payload(data: bytes) -> Refusal | None:
    found = _Header._make(_HEADER.unpack_from(data))
    good = found.payload_hash == _digest(memoryview(data)[HEADER_NBYTES:])
    return None if good else Refusal.HASH


def _digest(*parts: bytes | memoryview) -> bytes:
    state = hashlib.blake2b(digest_size=16)
    for part in parts:
        state.update(part)
    return state.digest()


def _read(fd: int, count: int) -> bytes:
    """Read `count` bytes, or as many as there are."""
    pieces = []
    while count > 0 and (piece := os.read(fd, count)):
        pieces.append(piece)
        count -= len(piece)
    return b"".join(pieces)
