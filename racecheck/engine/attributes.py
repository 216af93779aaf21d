"""What a folder has beside its names, so that one that stays can be as it was again."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import stat
from typing import TYPE_CHECKING, Final, NamedTuple, Self

from racecheck.kernel.rows import FS_IOC_GETFLAGS, FS_IOC_SETFLAGS

if TYPE_CHECKING:
    from collections.abc import Mapping

_ABSENT: Final = frozenset({errno.ENOTTY, errno.EOPNOTSUPP, errno.ENOSYS, errno.EPERM})
_SIZE: Final = 8


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
