"""The kinds of step: what a system call does, whatever its name and spelling."""

from __future__ import annotations

from enum import StrEnum


class Kind(StrEnum):
    """What a step does.

    `open`, `openat`, `openat2` and `creat` are four calls of one kind. From `start` on
    they are no calls on the box: a task is let go for the first time or after a wait,
    an actor is held up, an operation or an actor ends.
    """

    # That of `Enum` is a function of Python's, and kinds are looked up at every step.
    __hash__ = str.__hash__

    OPEN = "open"
    READ = "read"
    WRITE = "write"
    CLOSE = "close"
    SEEK = "seek"
    DUP = "dup"
    RENAME = "rename"
    LINK = "link"
    SYMLINK = "symlink"
    UNLINK = "unlink"
    RMDIR = "rmdir"
    MKDIR = "mkdir"
    MKNOD = "mknod"
    STAT = "stat"
    ACCESS = "access"
    READLINK = "readlink"
    LISTING = "listing"
    TRUNCATE = "truncate"
    ALLOCATE = "allocate"
    SYNC = "sync"
    CHMOD = "chmod"
    CHOWN = "chown"
    UTIMES = "utimes"
    GETXATTR = "getxattr"
    SETXATTR = "setxattr"
    COPY = "copy"
    FLOCK = "flock"
    LOCK = "lock"
    CHDIR = "chdir"
    GETCWD = "getcwd"
    EXEC = "exec"
    MAP = "map"
    START = "start"
    WAKE = "wake"
    STALL = "stall"
    RETURN = "return"
    EXIT = "exit"
    CRASH = "crash"
    OTHER = "other"


TORN = frozenset({Kind.WRITE, Kind.COPY})
"""Kinds of which a part can be done when the process is killed."""

MUTATING = frozenset(
    {
        Kind.OPEN,
        Kind.WRITE,
        Kind.RENAME,
        Kind.LINK,
        Kind.SYMLINK,
        Kind.UNLINK,
        Kind.RMDIR,
        Kind.MKDIR,
        Kind.MKNOD,
        Kind.TRUNCATE,
        Kind.ALLOCATE,
        Kind.CHMOD,
        Kind.CHOWN,
        Kind.UTIMES,
        Kind.SETXATTR,
        Kind.COPY,
        Kind.MAP,
        Kind.CRASH,
    }
)
"""Kinds that can change what a path or a descriptor gives to somebody else."""
