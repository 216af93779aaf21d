"""Small random programs of file-system calls, and the actor that runs them.

A program is plain data: a list of operations, each a name with its arguments. Names of
files are few, so that two programs often mean the same thing by different ways: through
links, `..`, working directories, and descriptors of what has lost its name.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import stat
import struct
import time
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Sequence

Op = tuple[str, ...]
Program = tuple[Op, ...]

_FILES = ("x", "x", "y", "d/x", "d/x", "d/s/x", "z/x", "w", "../box/x", "d/../y", "e/x")
_FOLDERS = ("d", "d", "d/s", "d/s", "e", "z", "d/s/..", ".", "e/s")
_OTHERS = ("v", "d/x/", "z/", "o/x", "../x", "q")
_ANY = (*_FILES, *_FOLDERS, *_FOLDERS, *_OTHERS)
_BASES = ("", "", "", "d", "z", "e")
_SLOTS = ("0", "0", "1")
_OPEN = (
    "RDONLY",
    "RDONLY",
    "RDWR",
    "WRONLY|CREAT",
    "RDWR|CREAT",
    "RDWR|CREAT|EXCL",
    "RDWR|TRUNC",
    "RDWR|CREAT|TRUNC",
    "RDWR|APPEND",
    "RDONLY|NOFOLLOW",
    "RDONLY|DIRECTORY",
)


def make_box(generator: random.Random) -> Program:
    """Return what makes a box: some of the names that programs use."""
    whole: list[Op] = [
        ("mkdir", "d"),
        ("mkdir", "d/s"),
        ("mkdir", "e"),
        ("fill", "x", "abcdef"),
        ("fill", "y", ""),
        ("fill", "d/x", "0123456789"),
        ("symlink", "d", "z"),
        ("symlink", "x", "w"),
        ("symlink", "d/s/x", "v"),
        ("symlink", "o", "o"),
    ]
    chosen = [op for op in whole if generator.random() < 0.75]
    # What lies in a folder needs the folder.
    made = {op[-1] for op in chosen}
    return tuple(
        op for op in chosen if op[0] == "symlink" or "/" not in op[1] or "d" in made
    )


class Maker:
    """Makes the programs of one execution, which are about the same few things."""

    def __init__(self, generator: random.Random) -> None:
        self._generator = generator
        theme = generator.choice(_THEMES)
        self._names = theme.names or generator.sample(_NAMES, 12)
        self._files = theme.files or generator.sample(_FILES, 3)
        self._folders = theme.folders or generator.sample(_FOLDERS, 2)
        others = () if theme.files else generator.sample(_ANY, 2)
        self._paths = [*self._files, *self._folders, *self._folders, *others]

    def program(self, length: int) -> Program:
        """Return a program of some operations, with something open from the start."""
        pick = self._generator.choice
        start = ("open", pick(self._files), pick(("RDONLY", "RDWR", "RDWR|CREAT")), "0")
        return start, *(self._operation() for _ in range(length))

    def _operation(self) -> Op:
        pick = self._generator.choice
        name, path, file = pick(self._names), pick(self._paths), pick(self._files)
        folder, slot = pick(self._folders), pick(_SLOTS)
        size = str(pick((0, 1, 2, 4, 8, 20)))
        offset = str(pick((0, 0, 1, 3, 5, 9, 12)))
        values: dict[str, Op] = {
            "open": (file, pick(_OPEN), slot),
            "folder": (folder, "RDONLY|DIRECTORY", slot),
            "read": (slot, size),
            "pread": (slot, size, offset),
            "write": (slot, size),
            "pwrite": (slot, size, offset),
            "seek": (slot, offset, pick(("0", "1", "2", "3", "4"))),
            "ftruncate": (slot, pick(("0", "0", "3", "6", "12"))),
            "truncate": (file, pick(("0", "0", "3", "6", "12"))),
            "fallocate": (slot, pick(("0", "1", "3", "16")), offset, pick(("2", "8"))),
            "copy": (slot, pick(_SLOTS), size),
            "fstat": (slot,),
            "flock": (slot, pick(("SH", "EX", "EX", "UN"))),
            "lockf": (slot, pick(("SH", "EX", "EX", "UN")), size, offset),
            "ofd": (slot, pick(("SH", "EX", "UN")), size, offset),
            "getlk": (slot, size, offset),
            "close": (slot,),
            "dup": (slot, pick(_SLOTS)),
            "fchmod": (slot, pick(("644", "755"))),
            "rename": (path, pick(self._paths)),
            "exchange": (path, pick(self._paths)),
            "noreplace": (path, pick(self._paths)),
            "link": (file, pick(self._paths)),
            "linkfd": (slot, pick(self._paths)),
            "symlink": (pick(("x", "d", "../x", "/nowhere", "e")), path),
            "utime": (path, pick(("now", "7", "8"))),
            "sleep": (),
            "chmod": (path, pick(("644", "755"))),
            "mkfifo": (path,),
            "openat": (pick(_BASES), file, pick(_OPEN), slot),
            "listfd": (slot, pick(("64", "4096"))),
            "chdir": (folder,),
            "getcwd": (),
            "fchdir": (slot,),
            "readfd": (slot,),
        }
        return (name, *values.get(name, (path,)))


_WEIGHTS = {
    "open": 10,
    "folder": 4,
    "openat": 3,
    "read": 3,
    "pread": 4,
    "write": 4,
    "pwrite": 5,
    "seek": 2,
    "ftruncate": 3,
    "truncate": 3,
    "fallocate": 2,
    "copy": 1,
    "fstat": 3,
    "stat": 4,
    "lstat": 3,
    "access": 2,
    "readlink": 2,
    "flock": 3,
    "lockf": 2,
    "ofd": 1,
    "getlk": 1,
    "close": 3,
    "dup": 1,
    "fchmod": 1,
    "chmod": 2,
    "rename": 10,
    "exchange": 3,
    "noreplace": 2,
    "link": 5,
    "linkfd": 2,
    "symlink": 3,
    "unlink": 6,
    "utime": 2,
    "sleep": 1,
    "mkdir": 5,
    "rmdir": 6,
    "mkfifo": 1,
    "list": 3,
    "listfd": 2,
    "chdir": 4,
    "fchdir": 1,
    "getcwd": 3,
    "readfd": 1,
}
_NAMES = tuple(name for name, weight in _WEIGHTS.items() for _ in range(weight))


class _Theme(NamedTuple):
    """What the programs of one execution are about; empty is anything.

    Attributes:
        names: Operations.
        files: Paths for what is about files.
        folders: Paths for what is about folders.
    """

    names: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()


_DATA = "read pread write pwrite ftruncate truncate fallocate seek open fstat stat copy"
_LOCKS = "flock flock flock lockf lockf ofd getlk close dup open write"
_MOVES = (
    "chdir chdir rename rename exchange getcwd stat mkdir rmdir symlink list listfd"
)
_LINKS = "link linkfd unlink rename exchange fstat stat open readfd lstat noreplace"
_TREES = "mkdir rmdir rename open folder listfd list unlink stat openat fchdir symlink"
_TIMES = "utime utime sleep stat lstat write chmod unlink mkdir open rename fstat link"
_THEMES = (
    _Theme(),
    _Theme(tuple(_TIMES.split()), ("x", "d/x"), ("d",)),
    _Theme(tuple(_DATA.split()), ("x", "x", "w")),
    _Theme(tuple(_LOCKS.split()), ("x",)),
    _Theme(tuple(_MOVES.split()), ("../x", "x"), ("d", "e", "d/s", "e/s", "../e", "s")),
    _Theme(tuple(_LINKS.split()), ("x", "y", "x", "d/x"), ("d",)),
    _Theme(tuple(_TREES.split()), ("d/x", "d/s/x"), ("d", "d/s", "d/s", "e")),
)


def act(program: Sequence[Sequence[str]]) -> list[object]:
    """Run a program; what goes wrong is a result like any other."""
    slots: dict[str, int] = {}
    found: list[object] = []
    for name, *args in program:
        try:
            found.append(_DO[name](slots, *args))
        except OSError as error:
            found.append(f"errno {error.errno}")
    return found


_libc = ctypes.CDLL(None, use_errno=True)
_AT_FDCWD = -100
_AT_EMPTY_PATH = 0x1000
_F_OFD_SETLK = 37
_NOREPLACE, _EXCHANGE = 1, 2
_TYPES = {"SH": fcntl.F_RDLCK, "EX": fcntl.F_WRLCK, "UN": fcntl.F_UNLCK}


def _check(result: int) -> None:
    if result < 0:
        raise OSError(ctypes.get_errno(), "failed")


def _fd(slots: dict[str, int], slot: str) -> int:
    if slot not in slots:
        raise OSError(9, "not open")
    return slots[slot]


def _flags(names: str) -> int:
    flags = os.O_NONBLOCK
    for name in names.split("|"):
        flags |= getattr(os, f"O_{name}")
    return flags


def _keep(slots: dict[str, int], slot: str, number: int) -> None:
    if slot in slots:
        os.close(slots[slot])
    slots[slot] = number


def _open(slots: dict[str, int], path: str, flags: str, slot: str) -> None:
    _keep(slots, slot, os.open(path, _flags(flags), 0o644))


def _open_at(
    slots: dict[str, int], base: str, path: str, flags: str, slot: str
) -> None:
    folder = os.open(base or ".", os.O_PATH)
    try:
        number = os.open(path, _flags(flags), 0o644, dir_fd=folder)
    finally:
        os.close(folder)
    _keep(slots, slot, number)


def _close(slots: dict[str, int], slot: str) -> None:
    number = _fd(slots, slot)
    del slots[slot]
    os.close(number)


def _duplicate(slots: dict[str, int], source: str, target: str) -> None:
    if source != target:
        _keep(slots, target, os.dup(_fd(slots, source)))


def _status(status: os.stat_result) -> tuple[object, ...]:
    shown: tuple[object, ...] = (status.st_mode, status.st_mtime, status.st_ctime)
    if not stat.S_ISDIR(status.st_mode):
        shown += (status.st_size, status.st_nlink)
    return shown


def _fill(slots: dict[str, int], path: str, text: str) -> None:
    del slots
    number = os.open(path, os.O_WRONLY | os.O_CREAT, 0o644)
    os.write(number, text.encode())
    os.close(number)


def _letters(count: str) -> bytes:
    return (b"%d" % os.getpid())[-1:] * int(count)


def _list_open(slots: dict[str, int], slot: str, size: str) -> list[bytes]:
    buffer = ctypes.create_string_buffer(int(size))
    number = _fd(slots, slot)
    found = []
    for _ in range(6):
        length = _libc.syscall(_GETDENTS, number, buffer, len(buffer))
        _check(length)
        found.append(_record_names(buffer.raw[:length]))
        if not length:
            break
    return [name for names in found for name in names]


_GETDENTS = 217 if os.uname().machine == "x86_64" else 61


def _record_names(data: bytes) -> list[bytes]:
    found = []
    position = 0
    while position < len(data):
        (length,) = struct.unpack_from("=H", data, position + 16)
        found.append(data[position + 19 : position + length].split(b"\0", 1)[0])
        position += length
    return found


def _rename_by(flags: int) -> Callable[[dict[str, int], str, str], None]:
    def rename(slots: dict[str, int], old: str, new: str) -> None:
        del slots
        _check(_libc.renameat2(_AT_FDCWD, old.encode(), _AT_FDCWD, new.encode(), flags))

    return rename


def _lock(slots: dict[str, int], slot: str, what: str) -> None:
    fcntl.flock(_fd(slots, slot), getattr(fcntl, f"LOCK_{what}") | fcntl.LOCK_NB)


def _lock_range(
    slots: dict[str, int], slot: str, what: str, size: str, offset: str
) -> None:
    command = getattr(fcntl, f"LOCK_{what}")
    if what != "UN":
        command |= fcntl.LOCK_NB
    fcntl.lockf(_fd(slots, slot), command, int(size), int(offset))


def _lock_open(
    slots: dict[str, int], slot: str, what: str, size: str, offset: str
) -> None:
    lock = struct.pack("=2h4x2qi4x", _TYPES[what], 0, int(offset), int(size), 0)
    fcntl.fcntl(_fd(slots, slot), _F_OFD_SETLK, lock)


def _ask_lock(
    slots: dict[str, int], slot: str, size: str, offset: str
) -> tuple[int, ...]:
    lock = struct.pack("=2h4x2qi4x", fcntl.F_WRLCK, 0, int(offset), int(size), 0)
    found = fcntl.fcntl(_fd(slots, slot), fcntl.F_GETLK, lock)
    # The last field is the process id of the holder.
    return struct.unpack("=2h4x2qi4x", found)[:-1]


def _allocate(
    slots: dict[str, int], slot: str, mode: str, offset: str, length: str
) -> None:
    number = _fd(slots, slot)
    _check(
        _libc.fallocate(
            number,
            int(mode),
            ctypes.c_long(int(offset)),
            ctypes.c_long(int(length)),
        )
    )


def _link_open(slots: dict[str, int], slot: str, path: str) -> None:
    _check(
        _libc.linkat(_fd(slots, slot), b"", _AT_FDCWD, path.encode(), _AT_EMPTY_PATH)
    )


def _read_again(slots: dict[str, int], slot: str) -> bytes:
    number = os.open(f"/proc/self/fd/{_fd(slots, slot)}", os.O_RDONLY | os.O_NONBLOCK)
    try:
        return os.read(number, 100)
    finally:
        os.close(number)


def _set_times(slots: dict[str, int], path: str, what: str) -> None:
    del slots
    os.utime(path, None if what == "now" else (int(what), int(what)))


_DO: dict[str, Callable[..., object]] = {
    "open": _open,
    "folder": _open,
    "openat": _open_at,
    "read": lambda slots, slot, n: os.read(_fd(slots, slot), int(n)),
    "pread": lambda slots, slot, n, at: os.pread(_fd(slots, slot), int(n), int(at)),
    "write": lambda slots, slot, n: os.write(_fd(slots, slot), _letters(n)),
    "pwrite": lambda slots, slot, n, at: os.pwrite(
        _fd(slots, slot), _letters(n), int(at)
    ),
    "seek": lambda slots, slot, at, how: os.lseek(_fd(slots, slot), int(at), int(how)),
    "ftruncate": lambda slots, slot, n: os.ftruncate(_fd(slots, slot), int(n)),
    "truncate": lambda _, path, n: os.truncate(path, int(n)),
    "fallocate": _allocate,
    "copy": lambda slots, one, other, n: os.copy_file_range(
        _fd(slots, one), _fd(slots, other), int(n)
    ),
    "fstat": lambda slots, slot: _status(os.fstat(_fd(slots, slot))),
    "stat": lambda _, path: _status(os.stat(path)),
    "lstat": lambda _, path: _status(os.lstat(path)),
    "access": lambda _, path: os.access(path, os.R_OK),
    "readlink": lambda _, path: os.readlink(path),
    "flock": _lock,
    "lockf": _lock_range,
    "ofd": _lock_open,
    "getlk": _ask_lock,
    "close": _close,
    "dup": _duplicate,
    "fchmod": lambda slots, slot, mode: os.fchmod(_fd(slots, slot), int(mode, 8)),
    "chmod": lambda _, path, mode: os.chmod(path, int(mode, 8)),
    "rename": lambda _, old, new: os.rename(old, new),
    "exchange": _rename_by(_EXCHANGE),
    "noreplace": _rename_by(_NOREPLACE),
    "link": lambda _, old, new: os.link(old, new),
    "linkfd": _link_open,
    "symlink": lambda _, text, path: os.symlink(text, path),
    "unlink": lambda _, path: os.unlink(path),
    "mkdir": lambda _, path: os.mkdir(path),
    "rmdir": lambda _, path: os.rmdir(path),
    "mkfifo": lambda _, path: os.mkfifo(path),
    "list": lambda _, path: sorted(os.listdir(path)),
    "listfd": _list_open,
    "chdir": lambda _, path: os.chdir(path),
    "fchdir": lambda slots, slot: os.fchdir(_fd(slots, slot)),
    "getcwd": lambda _: os.getcwd(),
    "readfd": _read_again,
    "utime": _set_times,
    "sleep": lambda _: time.sleep(3),
    "fill": _fill,
}
