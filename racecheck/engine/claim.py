"""Having a folder to oneself among runs that know nothing of each other.

A lock marks a folder as in use for as long as its owner lives, so that a later run can
tell what a killed one left behind.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import shutil
import socket
import stat
from functools import partial
from typing import TYPE_CHECKING, Final

from racecheck.engine.attributes import unfix
from racecheck.errors import EngineError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

_PREFIX: Final = "racecheck-"
_DIGITS: Final = 4
_MOST_FOLDERS: Final = 10**_DIGITS
_LOCK: Final = "lock"
_FRESH_LOCK: Final = "lock.new"
_MODE: Final = 0o700
FOLDERS: Final = ("sandbox", "output")
"""What a run makes in its folder, beside the lock."""
_NO_LINKS: Final = frozenset({errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS})
"""What file systems say that have no hard links."""
_DEEPEST: Final = 8
"""Folders in folders that are gone through. Their paths are short enough for calls."""
_ANSWER: Final = 8
"""Length of what the child says: always the same."""


def claim(parent: Path) -> tuple[Path, int]:
    """Make a folder, and remove what dead runs left beside it.

    What there is beside it is looked at by a child: actors are forks of this process,
    and all that it does before moves the objects that they make. Their addresses are
    not to depend on who else runs, or has run.

    Returns:
        The folder, and the descriptor that keeps it locked.

    Raises:
        OSError: It cannot be made.
    """
    ours, theirs = socket.socketpair()
    pid = os.fork()
    if pid == 0:
        try:
            ours.close()
            _answer(parent, theirs)
        finally:
            os._exit(0)
    theirs.close()
    data, descriptors, _, _ = socket.recv_fds(ours, _ANSWER, 1)
    ours.close()
    os.waitpid(pid, 0)
    if not data:
        raise EngineError("the process that makes the sandbox has died")
    number = int(data)
    if not descriptors:
        raise OSError(number, os.strerror(number))
    os.set_inheritable(descriptors[0], False)  # noqa: FBT003  its only form
    return parent / _name(number), descriptors[0]


def _answer(parent: Path, channel: socket.socket) -> None:
    """Be the child: tell the number of the folder, with its lock, or of the error."""
    try:
        remove_left_over(parent)
        number, lock = _make_folder(parent)
    except OSError as error:
        channel.sendall(b"%0*d" % (_ANSWER, error.errno or errno.EIO))
    else:
        socket.send_fds(channel, [b"%0*d" % (_ANSWER, number)], [lock])


def remove_left_over(parent: Path) -> None:
    """Remove the folders of runs that were killed before they could do so."""
    with contextlib.suppress(OSError):
        for folder in parent.glob(f"{_PREFIX}{'[0-9]' * _DIGITS}"):
            with contextlib.suppress(OSError):
                if _is_a_sandbox(folder):
                    _remove_if_abandoned(folder)


def _is_a_sandbox(folder: Path) -> bool:
    """Say whether a folder can be one of this user's that a run has made.

    Who calls a folder of his own like that has other things in it; and if it is empty,
    it has other modes.
    """
    status = folder.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid():
        return False
    entries = list(os.scandir(folder))
    if not entries:
        return status.st_mode & 0o777 == _MODE
    return all(
        entry.is_dir(follow_symlinks=False)
        if entry.name in FOLDERS
        else entry.name in (_LOCK, _FRESH_LOCK) and _is_a_lock(entry)
        for entry in entries
    )


def _is_a_lock(entry: os.DirEntry[str]) -> bool:
    regular = entry.is_file(follow_symlinks=False)
    return regular and entry.stat(follow_symlinks=False).st_size == 0


def _make_folder(parent: Path) -> tuple[int, int]:
    """Make a folder with the first name that is free; return its number and its lock.

    Paths end up in the actors' memory and in the files they write. So their length is
    fixed, and unless runs overlap they are the same each time.
    """
    for number in range(_MOST_FOLDERS):
        lock = _claim(parent / _name(number))
        if lock is not None:
            return number, lock
    raise FileExistsError(errno.EEXIST, f"{_MOST_FOLDERS} sandboxes are in use")


def _claim(folder: Path) -> int | None:
    """Make a folder and lock it; return None if it is somebody else's."""
    while True:
        try:
            folder.mkdir(mode=_MODE)
            return _lock(folder)
        except FileExistsError:
            return None
        except FileNotFoundError:
            # Without a lock it was taken for one that was left.
            if not folder.parent.is_dir():
                raise
        except OSError:
            shutil.rmtree(folder, ignore_errors=True)
            raise


def _remove_if_abandoned(folder: Path) -> None:
    lock = folder / _LOCK
    try:
        descriptor = os.open(lock, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    except FileNotFoundError:
        _remove_unlocked(folder)
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # Names are used again, so that this can be the lock of a folder that is gone,
        # while the one there now is in use. Held, it keeps others away meanwhile.
        if is_lock_of(descriptor, folder):
            remove_folder(folder)
    finally:
        os.close(descriptor)


def is_lock_of(descriptor: int, folder: Path) -> bool:
    """Say whether an open file is the lock of the folder that is there now."""
    try:
        there = (folder / _LOCK).stat()
    except FileNotFoundError:
        return False
    return os.path.samestat(os.fstat(descriptor), there)


def _remove_unlocked(folder: Path) -> None:
    """Remove a folder that is not locked; who was about to do so makes it anew."""
    with contextlib.suppress(FileNotFoundError):
        fresh = folder / _FRESH_LOCK
        descriptor = os.open(fresh, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
        try:
            # Its owner, if it lives, waits for this, and then finds it gone.
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            fresh.unlink()
        finally:
            os.close(descriptor)
    # Only if it is empty: by now it can be locked.
    folder.rmdir()


def remove_folder(folder: Path) -> None:
    """Remove a folder that one has locked, the lock last.

    So what is left if this is interrupted is either locked or empty, and no question.

    Raises:
        OSError: Something cannot be removed.
    """
    for entry in list(os.scandir(folder)):
        if entry.is_dir(follow_symlinks=False):
            empty(entry.path)
            remove(os.rmdir, str(folder), entry.path)
        elif entry.name != _LOCK:
            remove(os.unlink, str(folder), entry.path)
    (folder / _LOCK).unlink(missing_ok=True)
    folder.rmdir()


def _lock(folder: Path) -> int:
    """Mark a folder as in use until the returned descriptor is closed.

    Raises:
        FileExistsError: Somebody else has done so, or is about to.
        FileNotFoundError: The folder was removed meanwhile.
    """
    fresh = folder / _FRESH_LOCK
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    descriptor = os.open(fresh, flags, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        # Under its final name it has never been seen unlocked.
        _give_name(fresh, folder / _LOCK)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _give_name(fresh: Path, lock: Path) -> None:
    try:
        # A rename would replace the lock of somebody who has made the folder anew after
        # it was removed.
        os.link(fresh, lock)
    except FileExistsError:
        fresh.unlink()
        raise
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        fresh.rename(lock)
    else:
        fresh.unlink()


def _name(number: int) -> str:
    return f"{_PREFIX}{number:0{_DIGITS}}"


def empty(folder: str) -> None:
    """Remove all that is in a folder, whatever modes and flags an actor left on it.

    However deep it is, too: paths can be far longer than calls take them. So what lies
    deep is moved up first, until nothing does.
    """
    while raised := _empty(folder, 0):
        unfix(folder)
        for number, path in enumerate(raised):
            unfix(path)
            os.chmod(path, 0o700)
            call = partial(os.replace, dst=_free(folder, number))
            remove(call, os.path.dirname(path), path)


def _empty(folder: str, depth: int) -> list[str]:
    """Remove what is in a folder; return the folders that lie too deep for that."""
    if not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
        # Else nothing below it can be reached, not even to change the modes of that.
        with contextlib.suppress(FileNotFoundError):
            unfix(folder)
            os.chmod(folder, 0o700)
    try:
        entries = list(os.scandir(folder))
    except FileNotFoundError:
        return []
    deep = []
    for entry in entries:
        if not entry.is_dir(follow_symlinks=False):
            remove(os.unlink, folder, entry.path)
        elif depth == _DEEPEST:
            deep.append(entry.path)
        elif below := _empty(entry.path, depth + 1):
            deep += below
        else:
            remove(os.rmdir, folder, entry.path)
    return deep


def _free(folder: str, number: int) -> str:
    """Return a path in a folder that nothing has."""
    path = f"{folder}/{number}"
    while os.path.lexists(path):
        path += "-"
    return path


def remove(call: Callable[[str], None], folder: str, path: str) -> None:
    """Remove an entry with a call, after making that possible if need be."""
    try:
        call(path)
    except PermissionError:
        unfix(folder)
        unfix(path)
        os.chmod(folder, 0o700)
        call(path)
