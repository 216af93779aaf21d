"""The numbers that stand for kinds in a token.

They are written down, and not counted, because tokens in old issues must keep their
meaning however the enumerations are ordered or spelt. To add a kind, give it the next
free number below 256; never change a number, nor use that of a kind that is gone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from racecheck.model import FaultKind, Kind

if TYPE_CHECKING:
    from collections.abc import Mapping

KIND_CODES: Mapping[Kind, int] = {
    Kind.OTHER: 0,
    Kind.OPEN: 1,
    Kind.READ: 2,
    Kind.WRITE: 3,
    Kind.CLOSE: 4,
    Kind.SEEK: 5,
    Kind.DUP: 6,
    Kind.RENAME: 7,
    Kind.LINK: 8,
    Kind.SYMLINK: 9,
    Kind.UNLINK: 10,
    Kind.RMDIR: 11,
    Kind.MKDIR: 12,
    Kind.MKNOD: 13,
    Kind.STAT: 14,
    Kind.ACCESS: 15,
    Kind.READLINK: 16,
    Kind.LISTING: 17,
    Kind.TRUNCATE: 18,
    Kind.ALLOCATE: 19,
    Kind.SYNC: 20,
    Kind.CHMOD: 21,
    Kind.CHOWN: 22,
    Kind.UTIMES: 23,
    Kind.GETXATTR: 24,
    Kind.SETXATTR: 25,
    Kind.COPY: 26,
    Kind.FLOCK: 27,
    Kind.LOCK: 28,
    Kind.CHDIR: 29,
    Kind.GETCWD: 30,
    Kind.EXEC: 31,
    Kind.MAP: 32,
    Kind.RETURN: 33,
    Kind.EXIT: 34,
    Kind.CRASH: 35,
    Kind.START: 36,
    Kind.WAKE: 37,
    Kind.STALL: 38,
}

FAULT_CODES: Mapping[FaultKind, int] = {
    FaultKind.CRASH: 0,
    FaultKind.TEAR: 1,
    FaultKind.ERRNO: 2,
    FaultKind.SHORT: 3,
    FaultKind.STALL: 4,
}
