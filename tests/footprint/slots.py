"""Open files of a random program by the names of their slots, and calls by their name.

Python and the C library choose among the spellings of a call. Here it is the program
that chooses; a spelling that this machine lacks fails with ENOSYS.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct
import threading

from racecheck.kernel.numbers import numbers

CWD = -100

NAMES = threading.local()
"""Where actors are threads, each has its process id as `number`."""

_libc = ctypes.CDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long
_NUMBERS = numbers()


def fd(slots: dict[str, int], slot: str) -> int:
    """Return the descriptor in a slot."""
    if slot not in slots:
        raise OSError(errno.EBADF, "not open")
    return slots[slot]


def keep(slots: dict[str, int], slot: str, number: int) -> None:
    """Put a descriptor into a slot, and close what was there."""
    if slot in slots:
        os.close(slots[slot])
    slots[slot] = number


def flags_of(names: str) -> int:
    """Return flags of `open` that are given as `RDWR|CREAT`."""
    flags = os.O_NONBLOCK
    for name in names.split("|"):
        flags |= getattr(os, f"O_{name}")
    return flags


def call(name: str, *args: int | bytes | ctypes.Array[ctypes.c_char]) -> int:
    """Make a system call of which the C library may know nothing."""
    if name not in _NUMBERS:
        raise OSError(errno.ENOSYS, "not a call of this machine")
    wide = (ctypes.c_long(arg) if isinstance(arg, int) else arg for arg in args)
    result = int(_libc.syscall(ctypes.c_long(_NUMBERS[name]), *wide))
    if result < 0:
        raise OSError(ctypes.get_errno(), name)
    return result


def letters(count: str) -> bytes:
    """Return some bytes that tell who wrote them."""
    number = getattr(NAMES, "number", None) or os.getpid()
    return (b"%d" % number)[-1:] * int(count)


def status(found: os.stat_result) -> tuple[object, ...]:
    """Return what is shown of a file; of a folder, not its size nor all its links."""
    folder = found.st_mode & 0o170000 == 0o040000
    shown = (found.st_mode, found.st_uid, found.st_gid, found.st_mtime, found.st_ctime)
    if folder:
        return *shown, found.st_nlink > 0
    return *shown, found.st_size, found.st_nlink


def names_in(folder: int, name: str, size: str) -> list[bytes]:
    """List a folder by one call of that name; the names come as they do."""
    # The type of a file comes before its name or, in the older form, at the end.
    start = 19 if name == "getdents64" else 18
    buffer = ctypes.create_string_buffer(int(size))
    length = call(name, folder, buffer, len(buffer))
    data, position = buffer.raw[:length], 0
    found = []
    while position < length:
        (record,) = struct.unpack_from("=H", data, position + 16)
        found.append(data[position + start : position + record].split(b"\0", 1)[0])
        position += record
    return found
