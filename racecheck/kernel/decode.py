"""Reading what a stopped call was given.

Values are plain and have names; addresses never appear, because they mean nothing in
another execution. Structures are those of the kernel's `linux/fs.h`,
`linux/openat2.h`, `linux/xattr.h` and `asm-generic/fcntl.h`.
"""

from __future__ import annotations

import os
import stat
from functools import lru_cache, partial
from typing import TYPE_CHECKING

from racecheck.kernel import rows
from racecheck.kernel.call import (
    AT_FDCWD,
    LONGEST_TRANSFER,
    LOOKED_UP,
    NUMBERS,
    Call,
    Memory,
    buffer_of,
    pieces_of,
    signed_word,
    unpack,
    word,
)
from racecheck.kernel.symbols import (
    ACCESS,
    AT_FLAGS,
    FLAGS,
    FLOCK,
    LOCK_TYPES,
    NAMED,
    OPEN,
    RESOLVE,
    Symbols,
)
from racecheck.model.kind import Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from racecheck.kernel.rows import Row
    from racecheck.model.step import Value


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
            yield name, partial(_number, name, index, NUMBERS[name], _show(row, name))


def _show(row: Row, name: str) -> Callable[[int], Value] | None:
    """Return how to show a number, or None to keep it as it is."""
    if name == "flags":
        return FLAGS.get(row.name, AT_FLAGS).__getitem__
    if name == "mode":
        return ACCESS.__getitem__ if row.kind is Kind.ACCESS else octal
    if name == "command" and row.kind is Kind.FLOCK:
        return FLOCK.__getitem__
    if name in LOOKED_UP:
        return _directory
    return NAMED[name].__getitem__ if name in NAMED else None


@lru_cache(maxsize=1024)
def octal(mode: int) -> str:
    """Return a mode as people write it."""
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
        call.args["mode"] = octal(call.number("mode"))


def _device(name: str, index: int, call: Call, _: Memory) -> None:
    mode = call.number("mode")
    if stat.S_ISCHR(mode) or stat.S_ISBLK(mode):
        call.args[name] = word(call.raw[index])


def _argument(name: str, index: int, call: Call, _: Memory) -> None:
    command = call.number("command")
    value = signed_word(call.raw[index])
    if command == rows.F_SETFL:
        call.args[name] = OPEN[word(value)]
    elif command == rows.F_SETFD:
        call.args[name] = _CLOSE_ON_EXEC[word(value)]
    else:
        call.args[name] = value


def _data(name: str, index: int, call: Call, memory: Memory) -> None:
    count = min(call.number("count"), LONGEST_TRANSFER)
    call.args[name] = buffer_of(memory, [(call.raw[index], count)])


def _vectors(_: str, index: int, call: Call, memory: Memory) -> None:
    pieces = pieces_of(call.raw[index], call.raw[index + 1], memory)
    count = call.read["count"] = sum(length for _, length in pieces)
    if call.row.kind is Kind.WRITE:
        call.args["data"] = buffer_of(memory, pieces)
    else:
        call.args["count"] = count


def _position(name: str, index: int, call: Call, memory: Memory) -> None:
    # No address means that the descriptor's own position is used and moved.
    if call.raw[index]:
        (value,) = unpack("=q", call.raw[index], memory)
        call.args[name] = call.read[name] = value


def _how(_: str, index: int, call: Call, memory: Memory) -> None:
    flags, mode, resolve = unpack("=3Q", call.raw[index], memory)
    call.read.update(flags=flags, mode=mode, resolve=resolve)
    call.args["flags"] = OPEN[flags]
    _creation_mode(call, memory)
    if resolve:
        call.args["resolve"] = RESOLVE[resolve]


def _lock(_: str, index: int, call: Call, memory: Memory) -> None:
    lock = read_lock(call.raw[index], memory)
    call.read.update(zip(_LOCK_FIELDS, lock, strict=True))
    call.args.update(show_lock(lock))


def _range(_: str, index: int, call: Call, memory: Memory) -> None:
    fields = unpack("=q3Q", call.raw[index], memory)
    named = dict(zip(("infd", "inoffset", "count", "outoffset"), fields, strict=True))
    call.read.update(named)
    call.args.update(named)


def _times(name: str, index: int, call: Call, memory: Memory) -> None:
    address = call.raw[index]
    if not address:
        call.args[name] = "now"
    elif call.row.name == "utime":
        call.args[name] = "{} {}".format(*unpack("=2q", address, memory))
    else:
        digits = 9 if call.row.name == "utimensat" else 6
        fields = unpack("=4q", address, memory)
        call.args[name] = " ".join(
            _UTIME.get(fraction, f"{seconds}.{fraction:0{digits}}")
            for seconds, fraction in zip(fields[::2], fields[1::2], strict=True)
        )


def _xattr(_: str, index: int, call: Call, memory: Memory) -> None:
    address, count, option = unpack("=Q2I", call.raw[index], memory)
    call.read.update(buffer=address, count=count, option=option)
    if call.row.kind is Kind.SETXATTR:
        call.args["value"] = buffer_of(memory, [(address, count)])
        call.args["option"] = NAMED["option"][option]
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
_CLOSE_ON_EXEC = Symbols("FD_", "CLOEXEC:1")
_UTIME = {0x3FFFFFFF: "now", 0x3FFFFFFE: "omit"}

_plans: dict[Row, tuple[tuple[str, Callable[[Call, Memory], None]], ...]] = {}


def read_lock(address: int, memory: Memory) -> tuple[int, ...]:
    """Return the fields of a `struct flock`."""
    # The process id behind these fields is not the one that programs are shown.
    return unpack("=2h4x2q", address, memory)


def show_lock(lock: tuple[int, ...]) -> dict[str, Value]:
    """Return such fields as a step records them."""
    kind, whence, start, length = lock
    return {
        "type": LOCK_TYPES[kind],
        "whence": NAMED["whence"][whence],
        "start": start,
        "length": length,
    }
