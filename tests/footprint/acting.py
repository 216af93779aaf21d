"""The actor that runs a random program; see `programs`."""

from __future__ import annotations

import ctypes
import fcntl
import os
import stat
import struct
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


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


def _wait_for_lock(slots: dict[str, int], slot: str, what: str) -> None:
    fcntl.flock(_fd(slots, slot), getattr(fcntl, f"LOCK_{what}"))


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
    "wait": _wait_for_lock,
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
