"""What files and folders have beside names and bytes, and how it is undone.

A folder that stays gets back what it had. What is to be removed loses the flags that
keep it from being so.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import stat
import struct
from typing import TYPE_CHECKING, Final, NamedTuple, Self

from racecheck.kernel.rows import FS_IOC_GETFLAGS, FS_IOC_SETFLAGS

if TYPE_CHECKING:
    from collections.abc import Mapping

_ABSENT: Final = frozenset({errno.ENOTTY, errno.EOPNOTSUPP, errno.ENOSYS, errno.EPERM})
_SIZE: Final = 8
_FLAGS: Final = struct.Struct("=l")
# FS_IMMUTABLE_FL and FS_APPEND_FL: nothing at all may be changed, or only added.
_FIXED: Final = 0x10 | 0x20


class Attributes(NamedTuple):
    """Owner, mode, extended attributes and flags of a folder.

    Attributes:
        inode: Its device and its number.
        owner: Its user and its group.
        mode: Who may do what.
        extended: Values of its extended attributes.
        flags: Those that chattr(1) sets; empty if its file system has none.
    """

    inode: tuple[int, int]
    owner: tuple[int, int]
    mode: int
    extended: Mapping[str, bytes]
    flags: bytes

    @classmethod
    def of(cls, path: str) -> Self:
        """Return what a folder has."""
        status = os.lstat(path)
        return cls(
            (status.st_dev, status.st_ino),
            (status.st_uid, status.st_gid),
            stat.S_IMODE(status.st_mode),
            _extended(path),
            _flags(path),
        )

    def are_those_of(self, status: os.stat_result) -> bool:
        """Say whether it is the same folder, and its owner and its mode are these."""
        return (
            (status.st_dev, status.st_ino) == self.inode
            and stat.S_IMODE(status.st_mode) == self.mode
            and (status.st_uid, status.st_gid) == self.owner
        )

    def restore(self, path: str) -> None:
        """Give a folder what it had, if it has something else."""
        # With some flags, nothing else of it can be changed.
        unfix(path)
        os.chmod(path, self.mode)
        if self.flags and _flags(path) != self.flags:
            _flags(path, self.flags)
        status = os.lstat(path)
        if (status.st_uid, status.st_gid) != self.owner:
            os.chown(path, *self.owner)
            os.chmod(path, self.mode)
        extended = _extended(path)
        if extended != self.extended:
            for name in extended:
                os.removexattr(path, name)
            for name, value in self.extended.items():
                os.setxattr(path, name, value)


def unfix(path: str) -> None:
    """Let a file or a folder be changed again that an actor has given flags."""
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
    # What cannot be opened or has no flags has not been given any.
    with contextlib.suppress(OSError):
        descriptor = os.open(path, flags)
        try:
            found = fcntl.ioctl(descriptor, FS_IOC_GETFLAGS, bytes(_SIZE))
            (value,) = _FLAGS.unpack_from(found)
            if value & _FIXED:
                given = _FLAGS.pack(value & ~_FIXED).ljust(_SIZE, b"\0")
                fcntl.ioctl(descriptor, FS_IOC_SETFLAGS, given)
        finally:
            os.close(descriptor)


def _extended(path: str) -> dict[str, bytes]:
    try:
        return {name: os.getxattr(path, name) for name in os.listxattr(path)}
    except OSError as error:
        if error.errno in _ABSENT:
            return {}
        raise


def _flags(path: str, value: bytes = b"") -> bytes:
    """Return the flags of a folder, after they were set to a value that is given."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        if value:
            fcntl.ioctl(descriptor, FS_IOC_SETFLAGS, value)
        return fcntl.ioctl(descriptor, FS_IOC_GETFLAGS, bytes(_SIZE))
    except OSError as error:
        if error.errno in _ABSENT:
            return b""
        raise
    finally:
        with contextlib.suppress(OSError):
            os.close(descriptor)
