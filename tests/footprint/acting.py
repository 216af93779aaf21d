"""The actor that runs a random program; see `programs`.

What Python's own functions make of an operation is here; other calls that do the same
are in `spellings`.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import struct
import time
from typing import TYPE_CHECKING

from tests.footprint.slots import fd, flags_of, keep, letters, names_in, status
from tests.footprint.spellings import FURTHER

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def act(program: Sequence[Sequence[str]]) -> list[object]:
    """Run a program; what goes wrong is a result like any other."""
    slots: dict[str, int] = {}
    return [perform(slots, op) for op in program]


def perform(slots: dict[str, int], op: Sequence[str]) -> object:
    """Run one operation; what goes wrong is a result like any other."""
    name, *args = op
    try:
        return _DO[name](slots, *args)
    except OSError as error:
        return f"errno {error.errno}"


_libc = ctypes.CDLL(None, use_errno=True)
_AT_FDCWD = -100
_AT_EMPTY_PATH = 0x1000
_F_OFD_SETLK = 37
_NOREPLACE, _EXCHANGE = 1, 2
_TYPES = {"SH": fcntl.F_RDLCK, "EX": fcntl.F_WRLCK, "UN": fcntl.F_UNLCK}


def _check(result: int) -> None:
    if result < 0:
        raise OSError(ctypes.get_errno(), "failed")


def _open(slots: dict[str, int], path: str, flags: str, slot: str) -> None:
    keep(slots, slot, os.open(path, flags_of(flags), 0o644))


def _open_at(
    slots: dict[str, int], base: str, path: str, flags: str, slot: str
) -> None:
    folder = os.open(base or ".", os.O_PATH)
    try:
        number = os.open(path, flags_of(flags), 0o644, dir_fd=folder)
    finally:
        os.close(folder)
    keep(slots, slot, number)


def _close(slots: dict[str, int], slot: str) -> None:
    number = fd(slots, slot)
    del slots[slot]
    os.close(number)


def _duplicate(slots: dict[str, int], source: str, target: str) -> None:
    if source != target:
        keep(slots, target, os.dup(fd(slots, source)))


def _fill(slots: dict[str, int], path: str, text: str) -> None:
    del slots
    number = os.open(path, os.O_WRONLY | os.O_CREAT, 0o644)
    os.write(number, text.encode())
    os.close(number)


def _list_open(slots: dict[str, int], slot: str, size: str) -> list[bytes]:
    found: list[bytes] = []
    for _ in range(6):
        names = names_in(fd(slots, slot), "getdents64", size)
        found += names
        if not names:
            break
    return found


def _rename_by(flags: int) -> Callable[[dict[str, int], str, str], None]:
    def rename(slots: dict[str, int], old: str, new: str) -> None:
        del slots
        _check(_libc.renameat2(_AT_FDCWD, old.encode(), _AT_FDCWD, new.encode(), flags))

    return rename


def _lock(slots: dict[str, int], slot: str, what: str) -> None:
    fcntl.flock(fd(slots, slot), getattr(fcntl, f"LOCK_{what}") | fcntl.LOCK_NB)


def _wait_for_lock(slots: dict[str, int], slot: str, what: str) -> None:
    fcntl.flock(fd(slots, slot), getattr(fcntl, f"LOCK_{what}"))


def _lock_range(
    slots: dict[str, int], slot: str, what: str, size: str, offset: str
) -> None:
    command = getattr(fcntl, f"LOCK_{what}")
    if what != "UN":
        command |= fcntl.LOCK_NB
    fcntl.lockf(fd(slots, slot), command, int(size), int(offset))


def _lock_open(
    slots: dict[str, int], slot: str, what: str, size: str, offset: str
) -> None:
    lock = struct.pack("=2h4x2qi4x", _TYPES[what], 0, int(offset), int(size), 0)
    fcntl.fcntl(fd(slots, slot), _F_OFD_SETLK, lock)


def _ask_lock(
    slots: dict[str, int], slot: str, size: str, offset: str
) -> tuple[int, ...]:
    lock = struct.pack("=2h4x2qi4x", fcntl.F_WRLCK, 0, int(offset), int(size), 0)
    found = fcntl.fcntl(fd(slots, slot), fcntl.F_GETLK, lock)
    # The last field is the process id of the holder.
    return struct.unpack("=2h4x2qi4x", found)[:-1]


def _allocate(
    slots: dict[str, int], slot: str, mode: str, offset: str, length: str
) -> None:
    number = fd(slots, slot)
    _check(
        _libc.fallocate(
            number,
            int(mode),
            ctypes.c_long(int(offset)),
            ctypes.c_long(int(length)),
        )
    )


def _link_open(slots: dict[str, int], slot: str, path: str) -> None:
    _check(_libc.linkat(fd(slots, slot), b"", _AT_FDCWD, path.encode(), _AT_EMPTY_PATH))


def _read_again(slots: dict[str, int], slot: str) -> bytes:
    number = os.open(f"/proc/self/fd/{fd(slots, slot)}", os.O_RDONLY | os.O_NONBLOCK)
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
    "read": lambda slots, slot, n: os.read(fd(slots, slot), int(n)),
    "pread": lambda slots, slot, n, at: os.pread(fd(slots, slot), int(n), int(at)),
    "write": lambda slots, slot, n: os.write(fd(slots, slot), letters(n)),
    "pwrite": lambda slots, slot, n, at: os.pwrite(
        fd(slots, slot), letters(n), int(at)
    ),
    "seek": lambda slots, slot, at, how: os.lseek(fd(slots, slot), int(at), int(how)),
    "ftruncate": lambda slots, slot, n: os.ftruncate(fd(slots, slot), int(n)),
    "truncate": lambda _, path, n: os.truncate(path, int(n)),
    "fallocate": _allocate,
    "copy": lambda slots, one, other, n: os.copy_file_range(
        fd(slots, one), fd(slots, other), int(n)
    ),
    "fstat": lambda slots, slot: status(os.fstat(fd(slots, slot))),
    "stat": lambda _, path: status(os.stat(path)),
    "lstat": lambda _, path: status(os.lstat(path)),
    "access": lambda _, path: os.access(path, os.R_OK),
    "readlink": lambda _, path: os.readlink(path),
    "flock": _lock,
    "wait": _wait_for_lock,
    "lockf": _lock_range,
    "ofd": _lock_open,
    "getlk": _ask_lock,
    "close": _close,
    "dup": _duplicate,
    "fchmod": lambda slots, slot, mode: os.fchmod(fd(slots, slot), int(mode, 8)),
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
    "fchdir": lambda slots, slot: os.fchdir(fd(slots, slot)),
    "getcwd": lambda _: os.getcwd(),
    "readfd": _read_again,
    "utime": _set_times,
    "sleep": lambda _: time.sleep(3),
    "fill": _fill,
    **FURTHER,
}
