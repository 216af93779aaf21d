"""Ways by which an actor may try to change something outside its sandbox.

Each takes the box and a folder outside, made by `canary.hatch`. None of them checks
anything: whether it was refused is for the test to see.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import signal
import subprocess
import tempfile
import threading
from typing import TYPE_CHECKING

from racecheck.kernel.numbers import numbers
from racecheck.kernel.rows import FS_IOC_SETFLAGS

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Escape = Callable[[Path, Path], object]

_AT_FDCWD = -100
_AT_EMPTY_PATH = 0x1000
_AT_SYMLINK_FOLLOW = 0x400
_RENAME_EXCHANGE = 2
_WHITEOUT = 4
_SET_VERSION = 0x40087602
_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_TRUNC


def _call(name: str, *args: int | bytes | Path) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    typed = [
        ctypes.c_long(arg) if isinstance(arg, int) else os.fsencode(arg) for arg in args
    ]
    if libc.syscall(ctypes.c_long(numbers()[name]), *typed) == -1:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))


def _open(path: str | Path) -> None:
    os.write(os.open(path, _FLAGS), b"changed")


# --- paths ----------------------------------------------------------------------------


def absolute(_box: Path, outside: Path) -> None:
    _open(outside / "file")


def upwards(box: Path, outside: Path) -> None:
    os.chdir(box)
    _open("../" * len(box.parts) + str(outside / "file"))


def upwards_and_back(box: Path, outside: Path) -> None:
    (box / "folder").mkdir()
    _open(f"{box}/folder/../../../../..{'/..' * len(box.parts)}{outside}/file")


def with_slashes(_box: Path, outside: Path) -> None:
    _open(f"//{outside}/./folder/..//file")


def through_own_root(_box: Path, outside: Path) -> None:
    _open(f"/proc/self/root{outside}/file")


def through_thread_root(_box: Path, outside: Path) -> None:
    _open(f"/proc/thread-self/root{outside}/file")


def through_another_root(_box: Path, outside: Path) -> None:
    _open(f"/proc/1/root{outside}/file")


def through_own_folder(box: Path, outside: Path) -> None:
    os.chdir(outside)
    _open("/proc/self/cwd/file")
    os.chdir(box)


def through_own_folder_upwards(box: Path, outside: Path) -> None:
    os.chdir(box)
    _open(f"/proc/self/cwd{'/..' * len(box.parts)}{outside}/file")


def from_an_open_folder(_box: Path, outside: Path) -> None:
    folder = os.open(outside, os.O_RDONLY | os.O_DIRECTORY)
    os.open("file", _FLAGS, dir_fd=folder)


def from_above_an_open_folder(box: Path, outside: Path) -> None:
    folder = os.open(box, os.O_PATH)
    path = f"{'../' * len(box.parts)}{outside}/file"
    os.open(path, _FLAGS, dir_fd=folder)


def by_way_of_a_descriptor(_box: Path, outside: Path) -> None:
    _open(f"/proc/self/fd/{os.open(outside / 'file', os.O_RDONLY)}")


def by_way_of_a_device(_box: Path, outside: Path) -> None:
    _open(f"/dev/fd/{os.open(outside / 'file', os.O_RDONLY)}")


def by_way_of_a_folder(_box: Path, outside: Path) -> None:
    _open(f"/proc/self/fd/{os.open(outside, os.O_PATH)}/file")


def after_chdir(_box: Path, outside: Path) -> None:
    os.chdir(outside)
    _open("file")


def after_fchdir(_box: Path, outside: Path) -> None:
    os.fchdir(os.open(outside / "folder", os.O_RDONLY))
    _open("../file")


def without_a_name(_box: Path, outside: Path) -> None:
    os.open(outside, os.O_TMPFILE | os.O_RDWR)


def under_a_name_made_up(_box: Path, outside: Path) -> None:
    tempfile.mkstemp(dir=outside)


# --- links ----------------------------------------------------------------------------


def through_a_link(box: Path, outside: Path) -> None:
    (box / "link").symlink_to(outside / "file")
    _open(box / "link")


def through_a_link_to_nothing(box: Path, outside: Path) -> None:
    (box / "link").symlink_to(outside / "new")
    _open(box / "link")


def through_links_of_links(box: Path, outside: Path) -> None:
    (box / "third").symlink_to(outside)
    (box / "second").symlink_to("third/folder")
    (box / "first").symlink_to("second/../file")
    _open(box / "first")


def through_a_linked_folder(box: Path, outside: Path) -> None:
    (box / "link").symlink_to(outside)
    (box / "link" / "new").mkdir()


def through_a_link_of_proc(box: Path, outside: Path) -> None:
    (box / "link").symlink_to(f"/proc/self/root{outside}")
    (box / "link" / "file").unlink()


def hard_link_in(box: Path, outside: Path) -> None:
    (box / "name").hardlink_to(outside / "file")


def hard_link_of_a_descriptor(box: Path, outside: Path) -> None:
    file = os.open(outside / "file", os.O_PATH)
    _call("linkat", file, b"", _AT_FDCWD, box / "name", _AT_EMPTY_PATH)


def hard_link_through_proc(box: Path, outside: Path) -> None:
    path = os.fsencode(f"/proc/self/fd/{os.open(outside / 'file', os.O_RDONLY)}")
    _call("linkat", _AT_FDCWD, path, _AT_FDCWD, box / "name", _AT_SYMLINK_FOLLOW)


def hard_link_out(box: Path, outside: Path) -> None:
    (box / "own").touch()
    (outside / "name").hardlink_to(box / "own")


def rename_in(box: Path, outside: Path) -> None:
    (outside / "file").rename(box / "taken")


def rename_out(box: Path, outside: Path) -> None:
    (box / "own").touch()
    (box / "own").rename(outside / "file")


def rename_a_folder_out(box: Path, outside: Path) -> None:
    (box / "own").mkdir()
    (box / "own").rename(outside / "empty")


def rename_the_box_away(box: Path, outside: Path) -> None:
    box.rename(outside / "box")


def exchange(box: Path, outside: Path) -> None:
    (box / "own").touch()
    args = (_AT_FDCWD, box / "own", _AT_FDCWD, outside / "file", _RENAME_EXCHANGE)
    _call("renameat2", *args)


def rename_and_leave_a_whiteout(box: Path, outside: Path) -> None:
    args = (_AT_FDCWD, outside / "file", _AT_FDCWD, box / "taken", _WHITEOUT)
    _call("renameat2", *args)


# --- what is not data -----------------------------------------------------------------


def change_mode(_box: Path, outside: Path) -> None:
    (outside / "file").chmod(0o777)


def change_mode_through_a_link(box: Path, outside: Path) -> None:
    (box / "link").symlink_to(outside / "program")
    (box / "link").chmod(0)


def change_mode_through_proc(_box: Path, outside: Path) -> None:
    os.chmod(f"/proc/self/fd/{os.open(outside / 'file', os.O_PATH)}", 0o640)


def change_mode_of_a_descriptor(_box: Path, outside: Path) -> None:
    os.fchmod(os.open(outside / "folder", os.O_RDONLY), 0o777)


def change_owner_of_a_link(_box: Path, outside: Path) -> None:
    os.lchown(outside / "link", os.getuid(), os.getgid())


def change_owner_of_an_open_folder(_box: Path, outside: Path) -> None:
    folder = os.open(outside, os.O_RDONLY)
    _call("fchownat", folder, b"", os.getuid(), os.getgid(), _AT_EMPTY_PATH)


def change_times(_box: Path, outside: Path) -> None:
    os.utime(outside / "folder", (1, 1))


def change_times_of_a_link(_box: Path, outside: Path) -> None:
    os.utime(outside / "link", (1, 1), follow_symlinks=False)


def change_times_through_a_link(box: Path, outside: Path) -> None:
    (box / "link").symlink_to(outside / "file")
    os.utime(box / "link")


def change_attributes(_box: Path, outside: Path) -> None:
    os.setxattr(os.open(outside / "file", os.O_RDONLY), "user.name", b"value")


def change_flags(_box: Path, outside: Path) -> None:
    file = os.open(outside / "file", os.O_RDONLY)
    fcntl.ioctl(file, FS_IOC_SETFLAGS, (0x80).to_bytes(8, "little"))


def change_version(_box: Path, outside: Path) -> None:
    file = os.open(outside / "file", os.O_RDONLY)
    fcntl.ioctl(file, _SET_VERSION, (7).to_bytes(8, "little"))


# --- by somebody else -----------------------------------------------------------------


def by_a_child(_box: Path, outside: Path) -> None:
    if (child := os.fork()) == 0:
        try:
            _open(outside / "file")
        finally:
            os._exit(0)
    os.waitpid(child, 0)


def by_a_thread(_box: Path, outside: Path) -> None:
    def act() -> None:
        with open(outside / "file", "w"):
            pass

    thread = threading.Thread(target=act)
    thread.start()
    thread.join()


def by_a_handler(_box: Path, outside: Path) -> None:
    signal.signal(signal.SIGUSR1, lambda *_: _open(outside / "file"))
    os.kill(os.getpid(), signal.SIGUSR1)


def by_a_shell(_box: Path, outside: Path) -> None:
    script = 'cd "$1" && echo changed > file; rm -rf "$1"; touch "$1/new"'
    subprocess.run(["sh", "-c", script, "sh", str(outside)], check=False)


def by_a_daemon(_box: Path, outside: Path) -> None:
    if (child := os.fork()) == 0:
        os.setsid()
        if os.fork() == 0:
            try:
                _open(outside / "file")
            finally:
                os._exit(0)
        os._exit(0)
    os.waitpid(child, 0)


ESCAPES: dict[str, Escape] = {
    name: value
    for name, value in list(vars().items())
    if callable(value)
    and getattr(value, "__module__", "") == __name__
    and not name.startswith("_")
}
"""All of them by name."""
