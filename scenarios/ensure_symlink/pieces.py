"""Further ways to make sure of a link, each made of a few pieces and told in a line.

The pieces are a lock around another way, and how a link made under a temp name comes
to its place.
"""

import ctypes
import fcntl
import os
import secrets
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from types import MappingProxyType

from scenarios.ensure_symlink.links import (
    LOCK_PATIENCE_S,
    Ensure,
    ensure_eexist,
    ensure_faulty,
    ensure_filelock,
    ensure_missing_ok,
    ensure_relfix,
    is_right,
)

Publish = Callable[[Path, Path], None]
"""Takes a temp link and the name that it shall have."""

_PAUSE_S = 0.05
_AT_FDCWD = -100
_RENAME_EXCHANGE = 2


def discard(temp: Path) -> None:
    """Remove a temp link if that can be done."""
    with suppress(OSError):
        temp.unlink()


def keep(temp: Path) -> None:
    """Leave a temp link to somebody else."""
    del temp


def temp_of(link: Path) -> Path:
    """Name a temp link that no other call uses, on whatever host it runs."""
    return link.with_name(f"{link.name}.tmp.{secrets.token_hex(8)}")


def temp_by_pid(link: Path) -> Path:
    """Name a temp link that no other process of this host uses."""
    return link.with_name(f"{link.name}.tmp.{os.getpid()}")


def replaced(
    publish: Publish,
    clean_up: Callable[[Path], None] = discard,
    name: Callable[[Path], Path] = temp_of,
) -> Ensure:
    """Make the link under a temp name, and publish that."""

    def ensure(link: Path, target: Path) -> None:
        if is_right(link, target):
            return
        link.parent.mkdir(parents=True, exist_ok=True)
        temp = name(link)
        try:
            temp.symlink_to(target)
            publish(temp, link)
        except BaseException:
            clean_up(temp)
            raise

    return ensure


def locked(lock: Callable[[Path], AbstractContextManager[None]], way: Ensure) -> Ensure:
    """Let one process at a time go a way."""

    def ensure(link: Path, target: Path) -> None:
        link.parent.mkdir(parents=True, exist_ok=True)
        with lock(link.with_name(f"{link.name}.lock")):
            way(link, target)

    return ensure


def exchange(temp: Path, link: Path) -> None:
    """Put a link in the place of anything, a folder included, at one stroke.

    Raises:
        OSError: The file system cannot exchange two names.
    """
    try:
        temp.replace(link)
    except IsADirectoryError:
        _swap(temp, link)
        # Another process may have been first, and then this is its link.
        _remove(temp)


def move_aside(temp: Path, link: Path) -> None:
    """Put a link in the place of anything; for a moment there is neither."""
    try:
        temp.replace(link)
    except IsADirectoryError:
        aside = temp_of(link)
        link.rename(aside)
        temp.replace(link)
        _remove(aside)


@contextmanager
def flock(path: Path) -> Iterator[None]:
    """Hold a lock that ends with the process, on a file that stays."""
    with _locked_file(path):
        yield


@contextmanager
def lock_file(path: Path) -> Iterator[None]:
    """Hold a lock that is there as long as its file, whoever made that.

    Raises:
        TimeoutError: The file was there for a minute.
    """
    deadline = time.monotonic() + LOCK_PATIENCE_S
    while not _made(path):
        if time.monotonic() > deadline:
            raise TimeoutError(f"{path.name} is there and stays there")
        time.sleep(_PAUSE_S)
    try:
        yield
    finally:
        path.unlink()


def ensure_blind(link: Path, target: Path) -> None:
    """Work as `ensure_faulty`, and take whatever another process made for right."""
    with suppress(FileExistsError):
        ensure_faulty(link, target)


ensure_atomic = replaced(os.replace)
ensure_by_pid = replaced(os.replace, name=temp_by_pid)
ensure_unclean = replaced(os.replace, keep)
ensure_exchange = replaced(exchange)
ensure_flock = locked(flock, ensure_faulty)
ensure_flock_aside = locked(flock, replaced(move_aside))
ensure_flock_relfix = locked(flock, ensure_relfix)
ensure_lock_file = locked(lock_file, ensure_faulty)

WAYS: Mapping[str, Ensure] = MappingProxyType(
    {
        "faulty": ensure_faulty,
        "eexist": ensure_eexist,
        "missing_ok": ensure_missing_ok,
        "relfix": ensure_relfix,
        "filelock": ensure_filelock,
        "atomic": ensure_atomic,
        "by_pid": ensure_by_pid,
        "unclean": ensure_unclean,
        "exchange": ensure_exchange,
        "flock": ensure_flock,
        "flock_aside": ensure_flock_aside,
        "flock_relfix": ensure_flock_relfix,
        "lock_file": ensure_lock_file,
        "blind": ensure_blind,
    }
)


@contextmanager
def _locked_file(path: Path) -> Iterator[None]:
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)


def _made(path: Path) -> bool:
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC))
    except FileExistsError:
        return False
    return True


def _remove(path: Path) -> None:
    if path.is_symlink():
        path.unlink(missing_ok=True)
    else:
        shutil.rmtree(path)


def _swap(one: Path, other: Path) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    failed = libc.renameat2(
        *(_AT_FDCWD, os.fsencode(one)),
        *(_AT_FDCWD, os.fsencode(other)),
        _RENAME_EXCHANGE,
    )
    if failed:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), str(one), None, str(other))
