"""Reading what a call gave back through memory.

Structures are those of the kernel's `asm/stat.h`, `linux/stat.h`, `linux/dirent.h` and
`asm-generic/fcntl.h`.
"""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

from racecheck.kernel import rows
from racecheck.kernel.call import (
    Call,
    Memory,
    buffer_of,
    pieces_of,
    read_exactly,
    unpack,
)
from racecheck.kernel.decode import octal, read_lock, show_lock
from racecheck.kernel.symbols import ARM, choices
from racecheck.model.kind import Kind

if TYPE_CHECKING:
    from collections.abc import Callable

    from racecheck.model.step import Value


def outputs(call: Call, result: int, memory: Memory) -> dict[str, Value]:
    """Read what a call that returned `result` has left in memory."""
    collect = _OUTPUTS.get(call.row.kind)
    if collect is None or result < 0:
        return {}
    try:
        return collect(call, result, memory)
    except OSError:
        return {}


# What calls give back.


def _destination(call: Call) -> int:
    if "xattr" in call.row.args:
        return call.number("buffer")
    return call.raw[call.row.args.index("buffer")]


def _bytes_read(call: Call, result: int, memory: Memory) -> dict[str, Value]:
    if "iov" in call.row.args:
        index = call.row.args.index("iov")
        pieces = pieces_of(call.raw[index], call.raw[index + 1], memory, result)
    else:
        pieces = [(_destination(call), result)]
    return {"data": buffer_of(memory, pieces)}


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def _link(call: Call, result: int, memory: Memory) -> dict[str, Value]:
    return {"target": _text(read_exactly(memory, _destination(call), result))}


def _working_directory(call: Call, result: int, memory: Memory) -> dict[str, Value]:
    # The length that getcwd gives includes the zero at the end.
    return {"path": _text(read_exactly(memory, _destination(call), result - 1))}


def _names(call: Call, result: int, memory: Memory) -> dict[str, Value]:
    data = read_exactly(memory, _destination(call), result)
    start = 18 if call.row.name == "getdents" else 19
    found = []
    position = 0
    while position < result:
        size = int.from_bytes(data[position + 16 : position + 18], "little")
        end = data.index(b"\0", position + start)
        found.append(data[position + start : end])
        position += size
    # Every directory has these two, at places of no meaning.
    return {"names": _text(b"\n".join(n for n in found if n not in {b".", b".."}))}


def _attribute(call: Call, result: int, memory: Memory) -> dict[str, Value]:
    # With no room the call gives only the length; an ioctl fills a structure.
    if "count" not in {*call.row.args, *call.read} or not call.number("count"):
        return {}
    if call.row.name.startswith(("list", "llist", "flist")):
        data = read_exactly(memory, _destination(call), result)
        return {"names": _text(data.rstrip(b"\0").replace(b"\0", b"\n"))}
    return {"data": buffer_of(memory, [(_destination(call), result)])}


def _status(call: Call, _: int, memory: Memory) -> dict[str, Value]:
    # Free space is the file system's affair, not the box's.
    if "buffer" not in call.row.args:
        return {}
    if call.row.name == "statx":
        nlink, uid, gid, mode, size = unpack("=16x3IH10xQ", _destination(call), memory)
    elif ARM:
        mode, nlink, uid, gid, size = unpack("=16x4I16xQ", _destination(call), memory)
    else:
        nlink, mode, uid, gid, size = unpack("=16xQ3I12xQ", _destination(call), memory)
    fields: dict[str, Value] = {
        "type": _TYPES[stat.S_IFMT(mode)],
        "permissions": octal(stat.S_IMODE(mode)),
    }
    # A directory's size and links differ between file systems, and recording them would
    # make each change of a directory's entries one of its status too.
    if stat.S_ISREG(mode):
        fields |= {"size": size, "nlink": nlink}
    # Whoever runs it owns what is made. Recording his number, the same execution would
    # be another one for each user.
    owner = {"uid": (uid, os.geteuid()), "gid": (gid, os.getegid())}
    return fields | {name: a for name, (a, ours) in owner.items() if a != ours}


def _found_lock(call: Call, _: int, memory: Memory) -> dict[str, Value]:
    if call.number("command") not in {rows.F_GETLK, rows.F_OFD_GETLK}:
        return {}
    return show_lock(read_lock(call.raw[2], memory))


_TYPES = choices(
    "",
    file=stat.S_IFREG,
    directory=stat.S_IFDIR,
    symlink=stat.S_IFLNK,
    fifo=stat.S_IFIFO,
    socket=stat.S_IFSOCK,
    character=stat.S_IFCHR,
    block=stat.S_IFBLK,
)

_OUTPUTS: dict[Kind, Callable[[Call, int, Memory], dict[str, Value]]] = {
    Kind.READ: _bytes_read,
    Kind.READLINK: _link,
    Kind.LISTING: _names,
    Kind.STAT: _status,
    Kind.GETCWD: _working_directory,
    Kind.GETXATTR: _attribute,
    Kind.LOCK: _found_lock,
}
