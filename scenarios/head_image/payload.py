"""What goes into a head image: packed weights, or stamps that name their writer.

Packing real weights takes a minute; here the codes are a stream of bytes that the key
determines, so two processes that pack one key make equal images, as real ones do.
Stamped payloads are for finding out who wrote which part of a torn file.
"""

import hashlib
import struct
from typing import NamedTuple, Self

from scenarios.head_image.geometry import HEADER_NBYTES, SMALL, Geometry
from scenarios.head_image.image import Key, Sections, seal

BLOCK_NBYTES = 4096

_STAMP = struct.Struct("<4sIII")
_MARK = b"STMP"


class Stamp(NamedTuple):
    """The origin of one block.

    Attributes:
        writer: Number of the writer.
        seq: Number of the write among those of this writer.
        block: Number of the block, counted through the codes and then the scales.
    """

    writer: int
    seq: int
    block: int

    def fill(self, nbytes: int) -> bytes:
        """Return a block that repeats this stamp, so that any piece of it tells."""
        stamp = _STAMP.pack(_MARK, *self)
        return (stamp * -(-nbytes // len(stamp)))[:nbytes]

    @classmethod
    def from_block(cls, block: bytes) -> Self | None:
        """Read the stamp of a block, or None if it is not all from one write."""
        if len(block) < _STAMP.size:
            return None
        mark, *numbers = _STAMP.unpack_from(block)
        stamp = cls(*numbers)
        whole = mark == _MARK and block == stamp.fill(len(block))
        return stamp if whole else None


def pack_sections(key: Key, geometry: Geometry = SMALL, builder: int = 1) -> Sections:
    """Pack the image of `key`: equal arguments give equal bytes."""
    codes, scales = (
        hashlib.shake_128(part + key.digest()).digest(nbytes)
        for part, nbytes in (
            (b"codes", geometry.codes_nbytes),
            (b"scales", geometry.scales_nbytes),
        )
    )
    return seal(codes, scales, key, geometry, builder)


def build_image(key: Key, geometry: Geometry = SMALL, builder: int = 1) -> bytes:
    """Return the whole file that a single undisturbed writer of `key` would leave."""
    return b"".join(pack_sections(key, geometry, builder))


def stamped_sections(
    writer: int, seq: int, key: Key, geometry: Geometry = SMALL, builder: int = 1
) -> Sections:
    """Make a valid image in which each block says which write it came from."""
    blocks = [
        Stamp(writer, seq, number).fill(len(span))
        for number, span in enumerate(_spans(geometry))
    ]
    payload = b"".join(blocks)
    size = geometry.codes_nbytes
    return seal(payload[:size], payload[size:], key, geometry, builder)


def stamps_of(data: bytes, geometry: Geometry = SMALL) -> list[Stamp | None]:
    """Say for each block of a stamped file which write it came from.

    Args:
        data: What a file holds, whole or not.
        geometry: Shape of the image that should be there.

    Returns:
        One entry a block; None where it is cut short, never written, or mixed.
    """
    found = []
    for span in _spans(geometry):
        block = data[span.start : span.stop]
        found.append(Stamp.from_block(block) if len(block) == len(span) else None)
    return found


def _spans(geometry: Geometry) -> list[range]:
    """Return where each block lies in the file."""
    codes_end = HEADER_NBYTES + geometry.codes_nbytes
    sections = (
        range(HEADER_NBYTES, codes_end),
        range(geometry.scales_offset, geometry.file_nbytes),
    )
    # The blocks begin anew with the scales: the padding between has no stamp.
    return [
        section[start : start + BLOCK_NBYTES]
        for section in sections
        for start in range(0, len(section), BLOCK_NBYTES)
    ]
