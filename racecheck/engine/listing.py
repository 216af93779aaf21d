"""Directory listings in one order, whichever order the names were made in.

tmpfs lists the newest name first. An actor would see by it in which order independent
steps were taken, and equal schedules of them would no longer give equal executions.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

# How records begin (getdents(2)): inode, offset, length, and in the later form the
# type, which in the earlier one is the last byte. Then comes the name.
_HEADS = {"getdents": struct.Struct("=QqH"), "getdents64": struct.Struct("=QqHB")}


def in_order(data: bytes, call: str, number: Callable[[bytes], int]) -> bytes:
    """Return the records of a listing sorted by name.

    Each place keeps its offset, since a later call goes on from the last one.

    Args:
        data: The records.
        call: Name of the call that gave them.
        number: Gives the inode number to show for a name.
    """
    head = _HEADS[call]
    records = []
    offsets = []
    position = 0
    while position < len(data):
        _, offset, length, *kind = head.unpack_from(data, position)
        body = data[position + head.size : position + length]
        name = body.split(b"\0", 1)[0]
        records.append((name, number(name), length, kind, body))
        offsets.append(offset)
        position += length
    records.sort(key=lambda record: record[0])
    return b"".join(
        head.pack(inode, offset, length, *kind) + body
        for offset, (_, inode, length, kind, body) in zip(offsets, records, strict=True)
    )
