"""Further things that the actor of a random program can do, and further spellings.

`SPELLINGS` says for an operation of `acting` which others do the same by another call;
they take the same arguments. Files have few attributes in common, with few values, so
that programs meet in them.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import mmap
import os
import struct
from typing import TYPE_CHECKING

from tests.footprint.slots import (
    CWD,
    call,
    fd,
    flags_of,
    keep,
    letters,
    names_in,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    Slots = dict[str, int]

_BUFFER = 256
_NAME = "user.a"
_EMPTY_PATH = 0x1000
_REMOVE_FOLDER = 0x200
_IN_ROOT = 0x10
_RWF_APPEND = 0x10
_GET_FLAGS, _SET_FLAGS = 0x80086601, 0x40086602
_CLONE, _CLONE_RANGE, _DEDUPE = 0x40049409, 0x4020940D, 0xC0189436
_F_OFD_GETLK, _F_OFD_SETLKW = 36, 38
_TYPES = {"SH": fcntl.F_RDLCK, "EX": fcntl.F_WRLCK, "UN": fcntl.F_UNLCK}
_REGULAR = 0o100644


def _bytes(size: int = _BUFFER) -> ctypes.Array[ctypes.c_char]:
    return ctypes.create_string_buffer(size)


def _packed(layout: str, *values: int) -> ctypes.Array[ctypes.c_char]:
    data = struct.pack(layout, *values)
    return ctypes.create_string_buffer(data, len(data))


# --- opening, closing -----------------------------------------------------------------


def _open(slots: Slots, path: str, flags: str, slot: str) -> None:
    keep(slots, slot, call("open", path.encode(), flags_of(flags), 0o644))


def _open_how(slots: Slots, path: str, flags: str, slot: str) -> None:
    bits = flags_of(flags)
    how = _packed("=3Q", bits, 0o644 if bits & os.O_CREAT else 0, 0)
    keep(slots, slot, call("openat2", CWD, path.encode(), how, len(how)))


def _open_in_root(slots: Slots, base: str, path: str, flags: str, slot: str) -> None:
    """Open what a path leads to where the folder that it starts from is the root."""
    bits = flags_of(flags)
    how = _packed("=3Q", bits, 0o644 if bits & os.O_CREAT else 0, _IN_ROOT)
    folder = os.open(base or ".", os.O_PATH)
    try:
        number = call("openat2", folder, f"/../{path}".encode(), how, len(how))
    finally:
        os.close(folder)
    keep(slots, slot, number)


def _create(slots: Slots, path: str, flags: str, slot: str) -> None:
    del flags
    keep(slots, slot, call("creat", path.encode(), 0o644))


def _open_nameless(slots: Slots, folder: str, slot: str) -> None:
    keep(slots, slot, os.open(folder, os.O_TMPFILE | os.O_RDWR, 0o644))


def _close_range(slots: Slots, slot: str) -> None:
    number = fd(slots, slot)
    del slots[slot]
    call("close_range", number, number, 0)


def _duplicate_by(
    duplicate: Callable[[int, int], int],
) -> Callable[[Slots, str, str], None]:
    def do(slots: Slots, source: str, target: str) -> None:
        if source != target:
            number = fd(slots, source)
            # Of those that choose their number, which need not be a free one.
            slots[target] = duplicate(number, slots.get(target, 40 + int(target)))

    return do


def _duplicate_free(number: int, old: int) -> int:
    with contextlib.suppress(OSError):
        os.close(old)
    return fcntl.fcntl(number, fcntl.F_DUPFD_CLOEXEC, 3)


# --- bytes ----------------------------------------------------------------------------


def _read_pieces(slots: Slots, slot: str, n: str) -> bytes:
    pieces = [bytearray((int(n) + 1) // 2), bytearray(int(n) // 2)]
    length = os.readv(fd(slots, slot), pieces)
    return b"".join(pieces)[:length]


def _read_at(
    flags: int | None, *, here: bool = False
) -> Callable[[Slots, str, str, str], bytes]:
    def do(slots: Slots, slot: str, n: str, at: str) -> bytes:
        into = bytearray(int(n))
        offset = -1 if here else int(at)
        number = fd(slots, slot)
        if flags is None:
            return bytes(into[: os.preadv(number, [into], offset)])
        return bytes(into[: os.preadv(number, [into], offset, flags)])

    return do


def _write_pieces(slots: Slots, slot: str, n: str) -> int:
    data = letters(n)
    half = len(data) // 2
    return os.writev(fd(slots, slot), [data[:half], data[half:]])


def _write_at(
    flags: int | None, *, here: bool = False
) -> Callable[[Slots, str, str, str], int]:
    def do(slots: Slots, slot: str, n: str, at: str) -> int:
        offset = -1 if here else int(at)
        number, data = fd(slots, slot), [letters(n)]
        if flags is None:
            return os.pwritev(number, data, offset)
        return os.pwritev(number, data, offset, flags)

    return do


def _send(slots: Slots, one: str, other: str, n: str) -> int:
    return os.sendfile(fd(slots, other), fd(slots, one), None, int(n))


def _send_start(slots: Slots, one: str, other: str, n: str) -> int:
    return os.sendfile(fd(slots, other), fd(slots, one), 1, int(n))


def _copy_at(slots: Slots, one: str, other: str, n: str) -> int:
    source, target = fd(slots, one), fd(slots, other)
    return os.copy_file_range(source, target, int(n), 1, 2)


def _splice(slots: Slots, one: str, other: str, n: str) -> int:
    """Copy by way of a pipe."""
    source, target = fd(slots, one), fd(slots, other)
    out, into = os.pipe()
    try:
        moved = os.splice(source, into, int(n), flags=2)
        return os.splice(out, target, moved, flags=2) if moved else 0
    finally:
        os.close(out)
        os.close(into)


def _clone(slots: Slots, one: str, other: str, n: str) -> None:
    del n
    fcntl.ioctl(fd(slots, other), _CLONE, fd(slots, one))


def _clone_range(slots: Slots, one: str, other: str, n: str) -> None:
    given = struct.pack("=q3Q", fd(slots, one), 0, int(n), 0)
    fcntl.ioctl(fd(slots, other), _CLONE_RANGE, given)


def _dedupe(slots: Slots, one: str, other: str, n: str) -> None:
    given = struct.pack("=2Q2H4xqQQiI", 0, int(n), 1, 0, fd(slots, other), 0, 0, 0, 0)
    fcntl.ioctl(fd(slots, one), _DEDUPE, given)


def _map(slots: Slots, slot: str) -> None:
    # What it shows is read when somebody looks at it, which is no call.
    place = call("mmap", 0, 1, mmap.PROT_READ, mmap.MAP_PRIVATE, fd(slots, slot), 0)
    call("munmap", place, 1)


def _list_old(slots: Slots, slot: str, size: str) -> list[bytes]:
    found: list[bytes] = []
    for _ in range(6):
        names = names_in(fd(slots, slot), "getdents", size)
        found += names
        if not names:
            break
    return found


def _list_once(name: str) -> Callable[[Slots, str, str], list[bytes]]:
    """List by one call, which gives all names of a small folder."""

    def do(slots: Slots, slot: str, size: str) -> list[bytes]:
        del size
        return sorted(names_in(fd(slots, slot), name, "4096"))

    return do


# --- attributes -----------------------------------------------------------------------


def _statx(flags: int) -> Callable[[Slots, str], tuple[int, ...]]:
    def do(slots: Slots, path: str) -> tuple[int, ...]:
        del slots
        return _shown_by_statx(CWD, path, flags)

    return do


def _statx_open(slots: Slots, slot: str) -> tuple[int, ...]:
    return _shown_by_statx(fd(slots, slot), "", _EMPTY_PATH)


def _shown_by_statx(folder: int, path: str, flags: int) -> tuple[int, ...]:
    buffer = _bytes()
    call("statx", folder, path.encode(), flags, 0x7FF, buffer)
    links, owner, group, mode = struct.unpack_from("=3IH", buffer.raw, 16)
    (size,) = struct.unpack_from("=Q", buffer.raw, 40)
    shown = (mode, owner, group)
    folder = mode & 0o170000 == 0o040000
    return (*shown, links > 0) if folder else (*shown, links, size)


def _stat_by(name: str) -> Callable[[Slots, str], tuple[int, ...]]:
    def do(slots: Slots, what: str) -> tuple[int, ...]:
        buffer = _bytes()
        call(name, fd(slots, what) if name[0] == "f" else what.encode(), buffer)
        if os.uname().machine != "x86_64":
            return ()
        # Device and inode are not those of another execution.
        links, mode, owner, group = struct.unpack_from("=Q3I", buffer.raw, 16)
        (size,) = struct.unpack_from("=Q", buffer.raw, 48)
        shown = (mode, owner, group)
        folder = mode & 0o170000 == 0o040000
        return (*shown, links > 0) if folder else (*shown, links, size)

    return do


def _system(slots: Slots, what: str) -> int:
    del slots
    return os.statvfs(what).f_namemax


def _system_open(slots: Slots, slot: str) -> int:
    return os.fstatvfs(fd(slots, slot)).f_namemax


def _get_flags(slots: Slots, slot: str) -> int:
    found = fcntl.ioctl(fd(slots, slot), _GET_FLAGS, bytes(8))
    return int.from_bytes(found[:4], "little")


def _set_flags(slots: Slots, slot: str, value: str) -> None:
    fcntl.ioctl(fd(slots, slot), _SET_FLAGS, int(value).to_bytes(8, "little"))


def _allowed(name: str, *more: int) -> Callable[[Slots, str], int]:
    def do(slots: Slots, path: str) -> int:
        del slots
        at = () if name == "access" else (CWD,)
        return call(name, *at, path.encode(), os.R_OK, *more)

    return do


def _link_text(*at: int) -> Callable[[Slots, str], bytes]:
    def do(slots: Slots, path: str) -> bytes:
        del slots
        buffer = _bytes()
        name = "readlinkat" if at else "readlink"
        length = call(name, *at, path.encode(), buffer, len(buffer))
        return buffer.raw[:length]

    return do


def _chown(name: str, *more: int, at: bool = False) -> Callable[[Slots, str, str], int]:
    def do(slots: Slots, what: str, group: str) -> int:
        named = fd(slots, what) if name == "fchown" else what.encode()
        return call(name, *((CWD,) if at else ()), named, -1, int(group), *more)

    return do


def _chmod_at(name: str, *more: int) -> Callable[[Slots, str, str], int]:
    def do(slots: Slots, path: str, mode: str) -> int:
        del slots
        return call(name, CWD, path.encode(), int(mode, 8), *more)

    return do


def _utime(slots: Slots, path: str, what: str) -> int:
    del slots
    times = 0 if what == "now" else _packed("=2q", int(what), int(what))
    return call("utime", path.encode(), times)


def _utimes(*at: int) -> Callable[[Slots, str, str], int]:
    def do(slots: Slots, path: str, what: str) -> int:
        del slots
        times = 0 if what == "now" else _packed("=4q", int(what), 0, int(what), 0)
        return call("futimesat" if at else "utimes", *at, path.encode(), times)

    return do


def _set_attribute(slots: Slots, path: str, value: str) -> None:
    del slots
    os.setxattr(path, _NAME, value.encode(), follow_symlinks=False)


def _attribute_at(slots: Slots, path: str) -> int:
    del slots
    buffer = _bytes(16)
    given = _packed("=QII", ctypes.addressof(buffer), len(buffer), 0)
    name = f"{_NAME}\0".encode()
    return call("getxattrat", CWD, path.encode(), 0, name, given, len(given))


def _attributes_at(slots: Slots, path: str) -> int:
    del slots
    buffer = _bytes()
    return call("listxattrat", CWD, path.encode(), 0, buffer, len(buffer))


def _set_attribute_at(slots: Slots, path: str, value: str) -> int:
    del slots
    data = _bytes(16)
    data.value = value.encode()
    given = _packed("=QII", ctypes.addressof(data), len(value), 0)
    name = f"{_NAME}\0".encode()
    return call("setxattrat", CWD, path.encode(), 0, name, given, len(given))


def _remove_attribute_at(slots: Slots, path: str) -> int:
    del slots
    return call("removexattrat", CWD, path.encode(), 0, f"{_NAME}\0".encode())


def _new_attributes(name: str) -> Callable[[Slots, str], int]:
    def do(slots: Slots, path: str) -> int:
        del slots
        size = 24
        return call(name, CWD, path.encode(), _bytes(size), size, 0)

    return do


# --- names ----------------------------------------------------------------------------


def _two_names(name: str, *more: int) -> Callable[[Slots, str, str], int]:
    def do(slots: Slots, old: str, new: str) -> int:
        del slots
        return call(name, CWD, old.encode(), CWD, new.encode(), *more)

    return do


def _one_name(name: str, *more: int) -> Callable[[Slots, str], int]:
    def do(slots: Slots, path: str) -> int:
        del slots
        at = (CWD,) if name.endswith("at") else ()
        return call(name, *at, path.encode(), *more)

    return do


def _symlink_at(slots: Slots, text: str, path: str) -> int:
    del slots
    return call("symlinkat", text.encode(), CWD, path.encode())


def _execute(slots: Slots, path: str) -> None:
    del slots
    # No file of the box holds a program, so this fails, one way or the other.
    os.execv(path, [path])  # noqa: S606  a call, and no program


def _execute_open(slots: Slots, slot: str) -> int:
    return call("execveat", fd(slots, slot), b"", 0, 0, _EMPTY_PATH)


# --- locks ----------------------------------------------------------------------------


def _wait_for_range(slots: Slots, slot: str, what: str, size: str, offset: str) -> None:
    command = getattr(fcntl, f"LOCK_{what}")
    fcntl.lockf(fd(slots, slot), command, int(size), int(offset))


def _wait_for_open(slots: Slots, slot: str, what: str, size: str, offset: str) -> None:
    lock = struct.pack("=2h4x2qi4x", _TYPES[what], 0, int(offset), int(size), 0)
    fcntl.fcntl(fd(slots, slot), _F_OFD_SETLKW, lock)


def _ask_open(slots: Slots, slot: str, size: str, offset: str) -> tuple[int, ...]:
    lock = struct.pack("=2h4x2qi4x", fcntl.F_WRLCK, 0, int(offset), int(size), 0)
    found = fcntl.fcntl(fd(slots, slot), _F_OFD_GETLK, lock)
    return struct.unpack("=2h4x2qi4x", found)[:-1]


def _whether(name: str) -> Callable[[Slots, str, str, str], bool]:
    """Ask whether a range is free, and not which of several locks is in the way."""

    def do(slots: Slots, slot: str, size: str, offset: str) -> bool:
        return is_free(slots, (name, slot, "EX", size, offset))

    return do


def is_free(slots: Slots, op: Sequence[str]) -> bool:
    """Say whether a range can be locked; `op` waits for it."""
    name, slot, what, size, offset = op
    command = fcntl.F_GETLK if name == "lockf.wait" else _F_OFD_GETLK
    lock = struct.pack("=2h4x2qi4x", _TYPES[what], 0, int(offset), int(size), 0)
    found = fcntl.fcntl(fd(slots, slot), command, lock)
    (kind,) = struct.unpack_from("=h", found)
    return bool(kind == fcntl.F_UNLCK)


FURTHER: Mapping[str, Callable[..., object]] = {
    "open.open": _open,
    "open.how": _open_how,
    "open.creat": _create,
    "openat.in_root": _open_in_root,
    "nameless": _open_nameless,
    "close.range": _close_range,
    "dup.dup2": _duplicate_by(lambda one, other: call("dup2", one, other)),
    "dup.dup3": _duplicate_by(lambda one, other: call("dup3", one, other, 0)),
    "dup.fcntl": _duplicate_by(_duplicate_free),
    "read.pieces": _read_pieces,
    "pread.pieces": _read_at(None),
    "pread.flags": _read_at(0),
    "pread.here": _read_at(0, here=True),
    "write.pieces": _write_pieces,
    "pwrite.pieces": _write_at(None),
    "pwrite.flags": _write_at(0),
    "pwrite.here": _write_at(0, here=True),
    "pwrite.append": _write_at(_RWF_APPEND),
    "copy.send": _send,
    "copy.send_at": _send_start,
    "copy.at": _copy_at,
    "copy.splice": _splice,
    "copy.clone": _clone,
    "copy.clone_range": _clone_range,
    "copy.dedupe": _dedupe,
    "map": _map,
    "sync": lambda slots, slot: os.fsync(fd(slots, slot)),
    "sync.data": lambda slots, slot: os.fdatasync(fd(slots, slot)),
    "sync.range": lambda slots, slot: call("sync_file_range", fd(slots, slot), 0, 0, 0),
    "sync.system": lambda slots, slot: call("syncfs", fd(slots, slot)),
    "listfd.old": _list_old,
    "listfd.once": _list_once("getdents64"),
    "listfd.old_once": _list_once("getdents"),
    "stat.stat": _stat_by("stat"),
    "stat.x": _statx(0),
    "stat.system": _system,
    "lstat.lstat": _stat_by("lstat"),
    "lstat.x": _statx(0x100),
    "fstat.fstat": _stat_by("fstat"),
    "fstat.x": _statx_open,
    "fstat.system": _system_open,
    "access.access": _allowed("access"),
    "access.at": _allowed("faccessat"),
    "access.at2": _allowed("faccessat2", 0),
    "readlink.readlink": _link_text(),
    "readlink.at": _link_text(CWD),
    "getcwd.link": lambda _: os.readlink("/proc/thread-self/cwd"),
    "getflags": _get_flags,
    "setflags": _set_flags,
    "chown": _chown("chown"),
    "chown.link": _chown("lchown"),
    "chown.at": _chown("fchownat", 0, at=True),
    "fchown": _chown("fchown"),
    "chmod.at": _chmod_at("fchmodat"),
    "chmod.at2": _chmod_at("fchmodat2", 0),
    "utime.utime": _utime,
    "utime.utimes": _utimes(),
    "utime.at": _utimes(CWD),
    "setxattr": lambda _, path, value: os.setxattr(path, _NAME, value.encode()),
    "setxattr.link": _set_attribute,
    "setxattr.at": _set_attribute_at,
    "fsetxattr": lambda slots, slot, value: os.setxattr(
        fd(slots, slot), _NAME, value.encode()
    ),
    "getxattr": lambda _, path: os.getxattr(path, _NAME),
    "getxattr.link": lambda _, path: os.getxattr(path, _NAME, follow_symlinks=False),
    "getxattr.at": _attribute_at,
    "getxattr.file": _new_attributes("file_getattr"),
    "fgetxattr": lambda slots, slot: os.getxattr(fd(slots, slot), _NAME),
    "listxattr": lambda _, path: os.listxattr(path),
    "listxattr.link": lambda _, path: os.listxattr(path, follow_symlinks=False),
    "listxattr.at": _attributes_at,
    "flistxattr": lambda slots, slot: os.listxattr(fd(slots, slot)),
    "removexattr": lambda _, path: os.removexattr(path, _NAME),
    "removexattr.link": lambda _, path: os.removexattr(
        path, _NAME, follow_symlinks=False
    ),
    "removexattr.at": _remove_attribute_at,
    "removexattr.file": _new_attributes("file_setattr"),
    "fremovexattr": lambda slots, slot: os.removexattr(fd(slots, slot), _NAME),
    "rename.rename": lambda _, old, new: call("rename", old.encode(), new.encode()),
    "rename.at": _two_names("renameat"),
    "rename.at2": _two_names("renameat2", 0),
    "link.link": lambda _, old, new: call("link", old.encode(), new.encode()),
    "link.at": _two_names("linkat", 0),
    "symlink.at": _symlink_at,
    "unlink.at": _one_name("unlinkat", 0),
    "rmdir.at": _one_name("unlinkat", _REMOVE_FOLDER),
    "mkdir.at": _one_name("mkdirat", 0o755),
    "mkfifo.file": _one_name("mknod", _REGULAR, 0),
    "mkfifo.at": _one_name("mknodat", _REGULAR, 0),
    "truncate.truncate": lambda _, path, n: call("truncate", path.encode(), int(n)),
    "execute": _execute,
    "fexecute": _execute_open,
    "lockf.wait": _wait_for_range,
    "ofd.wait": _wait_for_open,
    "getlk.open": _ask_open,
    "getlk.whether": _whether("lockf.wait"),
    "getlk.open_whether": _whether("ofd.wait"),
}
"""Operations by name; what comes before a dot is the one that it spells differently."""

_ASIDE = frozenset({"lockf.wait", "ofd.wait", "getlk.whether", "getlk.open_whether"})
"""What is no other way to do the same."""

SPELLINGS: Mapping[str, tuple[str, ...]] = {
    base: tuple(
        name for name in FURTHER if name.startswith(f"{base}.") and name not in _ASIDE
    )
    for base in dict.fromkeys(name.partition(".")[0] for name in FURTHER)
}
"""Other ways to do what an operation does, with the same arguments."""
