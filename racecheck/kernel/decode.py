"""Reading what a stopped call was given, and what it gave back.

`decode` is called where the call is entered and `outputs` where it has returned. Both
give plain values by name; addresses never appear, because they mean nothing in another
execution. Structures are those of the kernel's `asm/stat.h`, `linux/stat.h`,
`linux/fs.h`, `linux/openat2.h`, `linux/xattr.h` and `asm-generic/fcntl.h`.
"""

from __future__ import annotations

import errno
import mmap
import os
import platform
import stat
import struct
from functools import partial
from hashlib import blake2b
from typing import TYPE_CHECKING, Protocol

import msgspec

from racecheck.kernel import rows
from racecheck.kernel.rows import Row
from racecheck.model.kind import Kind
from racecheck.model.step import Buffer, Value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

AT_FDCWD = -100
AT_SYMLINK_NOFOLLOW = 0x100

# The kernel moves no more than this in one call, see read(2), and takes no more than
# this many pieces, see readv(2).
_LONGEST_TRANSFER = 0x7FFFFFFF & -mmap.PAGESIZE
_MOST_VECTORS = 1024

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
            return _NUMBERS.get(name, _unsigned)(self.raw[args.index(name)])
        if _LOOKED_UP.get(name) in args:
            return AT_FDCWD
        if name == "flags" and "how" not in args:
            return _IMPLIED.get(self.row.name, 0)
        raise KeyError(name)


def decode(row: Row, raw: tuple[int, ...], memory: Memory) -> Call:
    """Read the arguments of a call that is stopped at its entry."""
    plan = _plans.get(row)
    if plan is None:
        plan = _plans[row] = tuple(_plan(row))
    args: dict[str, Value] = {}
    call = Call(row, raw, args, {})
    bad = False
    for name, fill in plan:
        try:
            fill(call, memory)
        except OSError:
            args[name] = None
            bad = True
    return Call(row, raw, args, call.read, bad_address=True) if bad else call


def outputs(call: Call, result: int, memory: Memory) -> dict[str, Value]:
    """Read what a call that returned `result` has left in memory."""
    collect = _OUTPUTS.get(call.row.kind)
    if collect is None or result < 0:
        return {}
    try:
        return collect(call, result, memory)
    except OSError:
        return {}


def transfer(call: Call) -> int:
    """Return how many bytes a call that writes or copies wants to move at most."""
    if call.row.kind not in {Kind.WRITE, Kind.COPY}:
        return 0
    try:
        return min(call.number("count"), _LONGEST_TRANSFER)
    except KeyError:
        return 0


# Numbers: registers have 64 bits, but of most arguments the kernel takes 32.


def _word(raw: int) -> int:
    return raw & 0xFFFFFFFF


def _signed_word(raw: int) -> int:
    return ((raw & 0xFFFFFFFF) ^ 0x80000000) - 0x80000000


def _unsigned(raw: int) -> int:
    return raw & 0xFFFFFFFFFFFFFFFF


def _signed(raw: int) -> int:
    return ((raw & 0xFFFFFFFFFFFFFFFF) ^ (1 << 63)) - (1 << 63)


def _each(convert: Callable[[int], int], names: str) -> dict[str, Callable[[int], int]]:
    return dict.fromkeys(names.split(), convert)


_NUMBERS = {
    **_each(_signed_word, "fd oldfd newfd infd outfd dirfd olddirfd newdirfd"),
    **_each(_signed_word, "uid gid status argument"),
    **_each(_signed, "offset length"),
    **_each(_unsigned, "count"),
    **_each(_word, "flags mode option whence command request protection device last"),
}

_LOOKED_UP = {"dirfd": "path", "olddirfd": "oldpath", "newdirfd": "newpath"}

_IMPLIED = {
    "creat": os.O_CREAT | os.O_WRONLY | os.O_TRUNC,
    "rmdir": rows.AT_REMOVEDIR,
    **dict.fromkeys(
        ("lstat", "lchown", "lgetxattr", "llistxattr", "lsetxattr", "lremovexattr"),
        AT_SYMLINK_NOFOLLOW,
    ),
}


class _Symbols(dict[int, str]):
    """Numbers with their text: the names of their bits, and unknown bits as hex."""

    def __init__(self, prefix: str, names: str, low: tuple[str, ...] = ()) -> None:
        """Prepare.

        Args:
            prefix: Start of all names.
            names: `NAME:bits` in hex; names of several bits before those of one.
            low: Names of the four values that the low two bits have together.
        """
        super().__init__()
        pairs = (word.split(":") for word in names.split())
        self._bits = [(prefix + name, int(bits, 16)) for name, bits in pairs]
        self._low = low

    def __missing__(self, value: int) -> str:
        rest = value
        found = []
        if self._low:
            found.append(self._low[value & 3])
            rest &= ~3
        for name, bits in self._bits:
            if rest & bits == bits:
                found.append(name)
                rest &= ~bits
        if rest or not found:
            found.append(hex(rest) if rest else "0")
        self[value] = "|".join(found)
        return self[value]


def _choices(text: str, **more: int) -> _Symbols:
    """Return symbols for numbers that are no bits: 0, 1 and so on, and more."""
    symbols = _Symbols("", "")
    symbols.update(enumerate(text.split()))
    symbols.update((value, name) for name, value in more.items())
    return symbols


# The values of these four differ between the machines. `os` has them for the one that
# this runs on, except that O_LARGEFILE is 0 to a 64-bit C library; others set the bit.
_ARM = platform.machine() == "aarch64"
_OPEN = _Symbols(
    "O_",
    f"TMPFILE:{os.O_TMPFILE:x} SYNC:101000 DSYNC:1000 CREAT:40 EXCL:80 NOCTTY:100 "
    "TRUNC:200 APPEND:400 NONBLOCK:800 ASYNC:2000 NOATIME:40000 CLOEXEC:80000 "
    f"PATH:200000 DIRECT:{os.O_DIRECT:x} DIRECTORY:{os.O_DIRECTORY:x} "
    f"NOFOLLOW:{os.O_NOFOLLOW:x} LARGEFILE:{0o400000 if _ARM else 0o100000:x}",
    low=("O_RDONLY", "O_WRONLY", "O_RDWR", "O_ACCMODE"),
)
_AT = (
    "SYMLINK_NOFOLLOW:100 {}:200 SYMLINK_FOLLOW:400 NO_AUTOMOUNT:800 EMPTY_PATH:1000 "
    "STATX_FORCE_SYNC:2000 STATX_DONT_SYNC:4000 RECURSIVE:8000"
)
_RWF = _Symbols(
    "RWF_",
    "HIPRI:1 DSYNC:2 SYNC:4 NOWAIT:8 APPEND:10 NOAPPEND:20 ATOMIC:40 DONTCACHE:80",
)
_SPLICE = _Symbols("SPLICE_F_", "MOVE:1 NONBLOCK:2 MORE:4 GIFT:8")
_AT_FLAGS = _Symbols("AT_", _AT.format("REMOVEDIR"))
_FLAGS = {
    **dict.fromkeys(("open", "openat", "openat2"), _OPEN),
    **dict.fromkeys(("preadv2", "pwritev2"), _RWF),
    **dict.fromkeys(("splice", "tee", "vmsplice"), _SPLICE),
    "copy_file_range": _Symbols("", ""),
    "dup3": _Symbols("O_", "CLOEXEC:80000"),
    "faccessat2": _Symbols("AT_", _AT.format("EACCESS")),
    "renameat2": _Symbols("RENAME_", "NOREPLACE:1 EXCHANGE:2 WHITEOUT:4"),
    "close_range": _Symbols("CLOSE_RANGE_", "UNSHARE:2 CLOEXEC:4"),
    "fallocate": _Symbols(
        "FALLOC_FL_",
        "KEEP_SIZE:1 PUNCH_HOLE:2 COLLAPSE_RANGE:8 ZERO_RANGE:10 INSERT_RANGE:20 "
        "UNSHARE_RANGE:40 WRITE_ZEROES:80",
    ),
    "sync_file_range": _Symbols(
        "SYNC_FILE_RANGE_", "WAIT_BEFORE:1 WRITE:2 WAIT_AFTER:4"
    ),
    "mmap": _Symbols(
        "MAP_",
        "FIXED:10 ANONYMOUS:20 GROWSDOWN:100 DENYWRITE:800 EXECUTABLE:1000 LOCKED:2000 "
        "NORESERVE:4000 POPULATE:8000 NONBLOCK:10000 STACK:20000 HUGETLB:40000 "
        "SYNC:80000 FIXED_NOREPLACE:100000",
        low=("MAP_FILE", "MAP_SHARED", "MAP_PRIVATE", "MAP_SHARED_VALIDATE"),
    ),
}
_ACCESS = _choices("F_OK X_OK W_OK W_OK|X_OK R_OK R_OK|X_OK R_OK|W_OK R_OK|W_OK|X_OK")
_LOCK_TYPES = _choices("F_RDLCK F_WRLCK F_UNLCK")
_RESOLVE = _Symbols(
    "RESOLVE_",
    "NO_XDEV:1 NO_MAGICLINKS:2 NO_SYMLINKS:4 BENEATH:8 IN_ROOT:10 CACHED:20",
)
_CONSTANTS = {
    name: getattr(rows, name)
    for name in dir(rows)
    if name.startswith(("F_", "FI", "FS_"))
}
_NAMED = {
    "command": _choices(
        "", **{name: n for name, n in _CONSTANTS.items() if name.startswith("F_")}
    ),
    "request": _choices(
        "", **{name: n for name, n in _CONSTANTS.items() if not name.startswith("F_")}
    ),
    "whence": _choices("SEEK_SET SEEK_CUR SEEK_END SEEK_DATA SEEK_HOLE"),
    "protection": _Symbols("PROT_", "READ:1 WRITE:2 EXEC:4"),
    "option": _Symbols("XATTR_", "CREATE:1 REPLACE:2"),
}
_FLOCK = _Symbols("LOCK_", "SH:1 EX:2 NB:4 UN:8")


# How each argument is read, in the order in which a call of a row has them.


def _plan(row: Row) -> Iterator[tuple[str, Callable[[Call, Memory], None]]]:
    """Return how to read each argument that is worth recording."""
    for index, name in enumerate(row.args):
        if name in {"_", "buffer", "vectors"}:
            continue
        # The size of what is read or shown anyway.
        if name == "count" and not {"data", "value", "how"}.isdisjoint(row.args):
            continue
        fill: Callable[..., None] | None = _STRUCTURES.get(name)
        if fill is not None:
            yield name, partial(fill, name, index)
        elif name == "mode" and row.kind is Kind.OPEN:
            yield name, _creation_mode
        elif name in {"path", "oldpath", "newpath", "target", "name"}:
            yield name, partial(_string, name, index)
        else:
            yield name, partial(_number, name, index, _NUMBERS[name], _show(row, name))


def _show(row: Row, name: str) -> Callable[[int], Value] | None:
    """Return how to show a number, or None to keep it as it is."""
    if name == "flags":
        return _FLAGS.get(row.name, _AT_FLAGS).__getitem__
    if name == "mode":
        return _ACCESS.__getitem__ if row.kind is Kind.ACCESS else _octal
    if name == "command" and row.kind is Kind.FLOCK:
        return _FLOCK.__getitem__
    if name in _LOOKED_UP:
        return _directory
    return _NAMED[name].__getitem__ if name in _NAMED else None


def _octal(mode: int) -> str:
    return f"0{mode & 0o177777:03o}"


def _directory(fd: int) -> Value:
    return "cwd" if fd == AT_FDCWD else fd


def _number(
    name: str,
    index: int,
    convert: Callable[[int], int],
    show: Callable[[int], Value] | None,
    call: Call,
    _: Memory,
) -> None:
    value = convert(call.raw[index])
    call.args[name] = value if show is None else show(value)


def _string(name: str, index: int, call: Call, memory: Memory) -> None:
    address = call.raw[index]
    if address or call.row.name not in _WITHOUT_PATH:
        call.args[name] = memory.string(address)
    else:
        call.args[name] = None


def _creation_mode(call: Call, _: Memory) -> None:
    # Without these the kernel does not look at the mode, and open(2) leaves in its
    # register whatever was there.
    if call.number("flags") & (os.O_CREAT | os.O_TMPFILE & ~os.O_DIRECTORY):
        call.args["mode"] = _octal(call.number("mode"))


def _device(name: str, index: int, call: Call, _: Memory) -> None:
    mode = call.number("mode")
    if stat.S_ISCHR(mode) or stat.S_ISBLK(mode):
        call.args[name] = _word(call.raw[index])


def _argument(name: str, index: int, call: Call, _: Memory) -> None:
    command = call.number("command")
    value = _signed_word(call.raw[index])
    if command == rows.F_SETFL:
        call.args[name] = _OPEN[_word(value)]
    elif command == rows.F_SETFD:
        call.args[name] = _CLOSE_ON_EXEC[_word(value)]
    else:
        call.args[name] = value


def _data(name: str, index: int, call: Call, memory: Memory) -> None:
    count = min(call.number("count"), _LONGEST_TRANSFER)
    call.args[name] = _buffer(memory, [(call.raw[index], count)])


def _vectors(_: str, index: int, call: Call, memory: Memory) -> None:
    pieces = _pieces(call.raw[index], call.raw[index + 1], memory)
    count = call.read["count"] = sum(length for _, length in pieces)
    if call.row.kind is Kind.WRITE:
        call.args["data"] = _buffer(memory, pieces)
    else:
        call.args["count"] = count


def _position(name: str, index: int, call: Call, memory: Memory) -> None:
    # No address means that the descriptor's own position is used and moved.
    if call.raw[index]:
        (value,) = _unpack("=q", call.raw[index], memory)
        call.args[name] = call.read[name] = value


def _how(_: str, index: int, call: Call, memory: Memory) -> None:
    flags, mode, resolve = _unpack("=3Q", call.raw[index], memory)
    call.read.update(flags=flags, mode=mode, resolve=resolve)
    call.args["flags"] = _OPEN[flags]
    _creation_mode(call, memory)
    if resolve:
        call.args["resolve"] = _RESOLVE[resolve]


def _lock(_: str, index: int, call: Call, memory: Memory) -> None:
    lock = _read_lock(call.raw[index], memory)
    call.read.update(zip(_LOCK_FIELDS, lock, strict=True))
    call.args.update(_show_lock(lock))


def _range(_: str, index: int, call: Call, memory: Memory) -> None:
    fields = _unpack("=q3Q", call.raw[index], memory)
    named = dict(zip(("infd", "inoffset", "count", "outoffset"), fields, strict=True))
    call.read.update(named)
    call.args.update(named)


def _times(name: str, index: int, call: Call, memory: Memory) -> None:
    address = call.raw[index]
    if not address:
        call.args[name] = "now"
    elif call.row.name == "utime":
        call.args[name] = "{} {}".format(*_unpack("=2q", address, memory))
    else:
        digits = 9 if call.row.name == "utimensat" else 6
        fields = _unpack("=4q", address, memory)
        call.args[name] = " ".join(
            _UTIME.get(fraction, f"{seconds}.{fraction:0{digits}}")
            for seconds, fraction in zip(fields[::2], fields[1::2], strict=True)
        )


def _xattr(_: str, index: int, call: Call, memory: Memory) -> None:
    address, count, option = _unpack("=Q2I", call.raw[index], memory)
    call.read.update(buffer=address, count=count, option=option)
    if call.row.kind is Kind.SETXATTR:
        call.args["value"] = _buffer(memory, [(address, count)])
        call.args["option"] = _NAMED["option"][option]
    else:
        call.args["count"] = count


_STRUCTURES: dict[str, Callable[[str, int, Call, Memory], None]] = {
    "device": _device,
    "argument": _argument,
    "data": _data,
    "value": _data,
    "iov": _vectors,
    "inoffset": _position,
    "outoffset": _position,
    "how": _how,
    "lock": _lock,
    "range": _range,
    "times": _times,
    "xattr": _xattr,
}

# With no path these work on the descriptor itself.
_WITHOUT_PATH = frozenset({"newfstatat", "statx", "utimensat", "futimesat"})
_LOCK_FIELDS = ("type", "whence", "start", "length")
_CLOSE_ON_EXEC = _Symbols("FD_", "CLOEXEC:1")
_UTIME = {0x3FFFFFFF: "now", 0x3FFFFFFE: "omit"}

_plans: dict[Row, tuple[tuple[str, Callable[[Call, Memory], None]], ...]] = {}


# Memory.


def _read(memory: Memory, address: int, length: int) -> bytes:
    data = memory.read(address, length)
    if len(data) < length:
        raise OSError(errno.EFAULT, os.strerror(errno.EFAULT))
    return data


def _unpack(layout: str, address: int, memory: Memory) -> tuple[int, ...]:
    return struct.unpack(layout, _read(memory, address, struct.calcsize(layout)))


def _buffer(memory: Memory, pieces: Iterable[tuple[int, int]]) -> Buffer:
    digest = blake2b(digest_size=8)
    head = b""
    total = 0
    for start, length in pieces:
        for offset in range(0, length, _CHUNK):
            data = _read(memory, start + offset, min(_CHUNK, length - offset))
            digest.update(data)
            if len(head) < _HEAD:
                head += data[: _HEAD - len(head)]
        total += length
    return Buffer(total, digest.hexdigest(), head)


def _pieces(
    address: int, count: int, memory: Memory, most: int = _LONGEST_TRANSFER
) -> list[tuple[int, int]]:
    """Return the places of a vector, as far as `most` bytes reach."""
    if not 0 < count <= _MOST_VECTORS:
        return []
    pieces = []
    for start, length in struct.iter_unpack("=2Q", _read(memory, address, 16 * count)):
        pieces.append((start, min(length, most)))
        most -= pieces[-1][1]
    return pieces


def _read_lock(address: int, memory: Memory) -> tuple[int, ...]:
    # The process id behind these fields is not the one that programs are shown.
    return _unpack("=2h4x2q", address, memory)


def _show_lock(lock: tuple[int, ...]) -> dict[str, Value]:
    kind, whence, start, length = lock
    return {
        "type": _LOCK_TYPES[kind],
        "whence": _NAMED["whence"][whence],
        "start": start,
        "length": length,
    }


# What calls give back.


def _destination(call: Call) -> int:
    if "xattr" in call.row.args:
        return call.number("buffer")
    return call.raw[call.row.args.index("buffer")]


def _bytes_read(call: Call, result: int, memory: Memory) -> dict[str, Value]:
    if "iov" in call.row.args:
        index = call.row.args.index("iov")
        pieces = _pieces(call.raw[index], call.raw[index + 1], memory, result)
    else:
        pieces = [(_destination(call), result)]
    return {"data": _buffer(memory, pieces)}


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def _link(call: Call, result: int, memory: Memory) -> dict[str, Value]:
    return {"target": _text(_read(memory, _destination(call), result))}


def _working_directory(call: Call, result: int, memory: Memory) -> dict[str, Value]:
    # The length that getcwd gives includes the zero at the end.
    return {"path": _text(_read(memory, _destination(call), result - 1))}


def _names(call: Call, result: int, memory: Memory) -> dict[str, Value]:
    data = _read(memory, _destination(call), result)
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
        data = _read(memory, _destination(call), result)
        return {"names": _text(data.rstrip(b"\0").replace(b"\0", b"\n"))}
    return {"data": _buffer(memory, [(_destination(call), result)])}


def _status(call: Call, _: int, memory: Memory) -> dict[str, Value]:
    # Free space is the file system's affair, not the box's.
    if "buffer" not in call.row.args:
        return {}
    if call.row.name == "statx":
        nlink, uid, gid, mode, size = _unpack("=16x3IH10xQ", _destination(call), memory)
    elif _ARM:
        mode, nlink, uid, gid, size = _unpack("=16x4I16xQ", _destination(call), memory)
    else:
        nlink, mode, uid, gid, size = _unpack("=16xQ3I12xQ", _destination(call), memory)
    fields: dict[str, Value] = {
        "type": _TYPES[stat.S_IFMT(mode)],
        "permissions": _octal(stat.S_IMODE(mode)),
    }
    # A directory's size and links differ between file systems, and recording them would
    # make each change of a directory's entries one of its status too.
    if stat.S_ISREG(mode):
        fields |= {"size": size, "nlink": nlink}
    return fields | {"uid": uid, "gid": gid}


def _found_lock(call: Call, _: int, memory: Memory) -> dict[str, Value]:
    if call.number("command") not in {rows.F_GETLK, rows.F_OFD_GETLK}:
        return {}
    return _show_lock(_read_lock(call.raw[2], memory))


_TYPES = _choices(
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
