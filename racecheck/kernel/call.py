"""A system call as it was entered, and reading what its arguments point to."""

from __future__ import annotations

import errno
import mmap
import os
import struct
from hashlib import blake2b
from typing import TYPE_CHECKING, Protocol

import msgspec

from racecheck.kernel import rows
from racecheck.kernel.rows import Row
from racecheck.model.kind import Kind
from racecheck.model.step import Buffer, Value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

AT_FDCWD = -100
AT_SYMLINK_NOFOLLOW = 0x100

# The kernel moves no more than this in one call, see read(2), and takes no more than
# this many pieces, see readv(2).
LONGEST_TRANSFER = 0x7FFFFFFF & -mmap.PAGESIZE
_MOST_VECTORS = 1024

_TRANSFERS = frozenset({Kind.WRITE, Kind.COPY})

# Written data is read in as few pieces as memory allows.
_CHUNK = 1 << 24
_HEAD = 64


class Memory(Protocol):
    """The memory of the process that makes the call."""

    def read(self, address: int, length: int, /) -> bytes:
        """Return up to `length` bytes, or raise OSError if there are none."""
        ...

    def string(self, address: int, /) -> str:
        """Return the C string at an address, or raise OSError."""
        ...


class Call(msgspec.Struct, frozen=True):
    """A call as it was entered.

    Attributes:
        row: Its row of the call table.
        raw: The six arguments as they were in the registers.
        args: The arguments by name, as a step records them; None is what could not be
            read. `dirfd` and its like are `cwd` where they are `AT_FDCWD`.
        read: Numbers that were not in a register but in a structure.
        bad_address: Whether something could not be read. The call need not fail for
            that reason, since it may fail for another one first.
    """

    row: Row
    raw: tuple[int, ...]
    args: dict[str, Value]
    read: dict[str, int]
    bad_address: bool = False

    def number(self, name: str) -> int:
        """Return an argument as the kernel takes it.

        What only younger relatives of a call are told is given as they would be told
        it: `dirfd` of `open`, `flags` of `creat`, `lstat` and `rmdir`.

        Raises:
            KeyError: The call has no such argument, or it could not be read.
        """
        if name in self.read:
            return self.read[name]
        args = self.row.args
        if name in args:
            return NUMBERS.get(name, _unsigned)(self.raw[args.index(name)])
        if LOOKED_UP.get(name) in args:
            return AT_FDCWD
        if name == "flags" and "how" not in args:
            return _IMPLIED.get(self.row.name, 0)
        raise KeyError(name)


def transfer(call: Call) -> int:
    """Return how many bytes a call that writes or copies wants to move at most."""
    if call.row.kind not in _TRANSFERS:
        return 0
    # A clone takes its range from a structure, and is made whole or not at all.
    if call.row.kind is Kind.COPY and "count" not in call.row.args:
        return 0
    try:
        return min(call.number("count"), LONGEST_TRANSFER)
    except KeyError:
        return 0


# Numbers: registers have 64 bits, but of most arguments the kernel takes 32.


def word(raw: int) -> int:
    """Return an argument of which the kernel takes 32 bits."""
    return raw & 0xFFFFFFFF


def signed_word(raw: int) -> int:
    """Return such an argument that has a sign."""
    return ((raw & 0xFFFFFFFF) ^ 0x80000000) - 0x80000000


def _unsigned(raw: int) -> int:
    return raw & 0xFFFFFFFFFFFFFFFF


def _signed(raw: int) -> int:
    return ((raw & 0xFFFFFFFFFFFFFFFF) ^ (1 << 63)) - (1 << 63)


def _each(convert: Callable[[int], int], names: str) -> dict[str, Callable[[int], int]]:
    return dict.fromkeys(names.split(), convert)


NUMBERS = {
    **_each(signed_word, "fd oldfd newfd infd outfd dirfd olddirfd newdirfd"),
    **_each(signed_word, "uid gid status argument"),
    **_each(_signed, "offset length"),
    **_each(_unsigned, "count"),
    **_each(word, "flags mode option whence command request protection device last"),
}

LOOKED_UP = {"dirfd": "path", "olddirfd": "oldpath", "newdirfd": "newpath"}

_IMPLIED = {
    "creat": os.O_CREAT | os.O_WRONLY | os.O_TRUNC,
    "rmdir": rows.AT_REMOVEDIR,
    **dict.fromkeys(
        ("lstat", "lchown", "lgetxattr", "llistxattr", "lsetxattr", "lremovexattr"),
        AT_SYMLINK_NOFOLLOW,
    ),
}


# What arguments point to.


def read_exactly(memory: Memory, address: int, length: int) -> bytes:
    """Return so many bytes, or raise OSError if there are not as many."""
    data = memory.read(address, length)
    if len(data) < length:
        raise OSError(errno.EFAULT, os.strerror(errno.EFAULT))
    return data


def unpack(layout: str, address: int, memory: Memory) -> tuple[int, ...]:
    """Return the fields of a structure."""
    return struct.unpack(layout, read_exactly(memory, address, struct.calcsize(layout)))


def buffer_of(memory: Memory, pieces: Iterable[tuple[int, int]]) -> Buffer:
    """Return what identifies the bytes in some places, taken together."""
    digest = blake2b(digest_size=8)
    head = b""
    total = 0
    for start, length in pieces:
        for offset in range(0, length, _CHUNK):
            data = read_exactly(memory, start + offset, min(_CHUNK, length - offset))
            digest.update(data)
            if len(head) < _HEAD:
                head += data[: _HEAD - len(head)]
        total += length
    return Buffer(total, digest.hexdigest(), head)


def pieces_of(
    address: int, count: int, memory: Memory, most: int = LONGEST_TRANSFER
) -> list[tuple[int, int]]:
    """Return the places of a vector, as far as `most` bytes reach."""
    if not 0 < count <= _MOST_VECTORS:
        return []
    pieces = []
    for start, length in struct.iter_unpack(
        "=2Q", read_exactly(memory, address, 16 * count)
    ):
        pieces.append((start, min(length, most)))
        most -= pieces[-1][1]
    return pieces
