"""Pairs of actors whose last calls conflict, and pairs whose last calls do not."""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import os
from typing import TYPE_CHECKING, NamedTuple

from tests.footprint.rows import EXCHANGE, GETDENTS, RW, in_turn, libc, rename

if TYPE_CHECKING:
    from collections.abc import Callable


class Pair(NamedTuple):
    """Two actors whose last calls are compared.

    Attributes:
        name: What is tested.
        first: What one does.
        call: The last call of this name is the one that counts.
        second: What the other does.
        other: As `call`.
        kinds: Kinds of resources that they conflict on, whichever goes first; none if
            they are independent.
        prepare: What is done in the box besides `fill`.
    """

    name: str
    first: Callable[[], object]
    call: str
    second: Callable[[], object]
    other: str
    kinds: str = ""
    prepare: Callable[[], object] = lambda: None


def quiet(*acts: Callable[[], object]) -> None:
    """Do things one after the other; any of them may fail."""
    for act in acts:
        with contextlib.suppress(OSError):
            act()


def opened(path: str, do: Callable[[int], object], flags: int = RW) -> None:
    """Do something with a file that was opened before."""
    number = os.open(path, flags, 0o644)
    quiet(lambda: do(number))


def within(folder: str, *acts: Callable[[], object]) -> None:
    """Do things with a folder as working directory."""
    os.chdir(folder)
    quiet(*acts)


def create(path: str) -> int:
    return os.open(path, RW | os.O_CREAT, 0o644)


def write(path: str, text: bytes) -> None:
    number = create(path)
    os.write(number, text)
    os.close(number)


def list_part(folder: str) -> None:
    """List a folder with a buffer that holds a few names only."""
    number = os.open(folder, os.O_RDONLY)
    buffer = ctypes.create_string_buffer(60)
    libc.syscall(GETDENTS, number, buffer, 60)


def upgrade(number: int) -> None:
    fcntl.flock(number, fcntl.LOCK_SH)
    fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)


def lock_and_close(number: int) -> None:
    fcntl.flock(number, fcntl.LOCK_EX)
    os.close(number)


def quiet_mkdir(path: str) -> None:
    quiet(lambda: os.mkdir(path))


DEPENDENT = (
    Pair(
        "a folder on the way is made",
        lambda: os.mkdir("d/t"),
        "mkdir",
        lambda: create("d/t/x"),
        "openat",
        "entry",
    ),
    Pair(
        "the folder that .. starts from is moved",
        lambda: within("d/s", lambda: os.stat("../x")),
        "newfstatat",
        lambda: os.rename("d/s", "e/s"),
        "rename",
        "parent",
    ),
    Pair(
        "two folders are moved into each other",
        lambda: within("d", lambda: os.rename("../e", "q")),
        "rename",
        lambda: within("e", lambda: os.rename("../d", "q")),
        "rename",
        "parent",
    ),
    Pair(
        "a hard link is removed while links are counted",
        lambda: os.stat("x"),
        "newfstatat",
        lambda: os.unlink("l"),
        "unlink",
        "links",
        lambda: os.link("x", "l"),
    ),
    Pair(
        "an open file is replaced while its links are counted",
        lambda: opened("y", os.fstat),
        "newfstatat",
        lambda: os.rename("x", "y"),
        "rename",
        "links",
    ),
    Pair(
        "a folder gets a file and is removed",
        lambda: create("n/x"),
        "openat",
        lambda: os.rmdir("n"),
        "rmdir",
        "entry membership",
    ),
    Pair(
        "a folder gets a file and is replaced",
        lambda: create("n/x"),
        "openat",
        lambda: os.rename("e", "n"),
        "rename",
        "entry membership",
    ),
    Pair(
        "a working directory is removed before a name is made in it",
        lambda: within("n", lambda: os.symlink("t", "k")),
        "symlink",
        lambda: os.rmdir("n"),
        "rmdir",
        "alive membership",
    ),
    Pair(
        "a read comes to the end of a file that grows",
        lambda: opened("y", lambda n: os.pwrite(n, b"1", 0)),
        "pwrite64",
        lambda: opened("y", lambda n: os.read(n, 2)),
        "read",
        "data size",
    ),
    Pair(
        "a gap that a write leaves is read",
        lambda: opened("x", lambda n: os.pwrite(n, b"1", 20)),
        "pwrite64",
        lambda: opened("x", lambda n: os.pread(n, 4, 10)),
        "pread64",
        "data size",
    ),
    Pair(
        "a working directory is moved and asked for",
        lambda: within("d", os.getcwd),
        "getcwd",
        lambda: os.rename("d", "e/q"),
        "rename",
        "entry parent",
    ),
    Pair(
        "a folder above the working directory gets another name",
        lambda: within("d/s", os.getcwd),
        "getcwd",
        lambda: os.rename("d", "q"),
        "rename",
        "entry",
    ),
    Pair(
        "two locks that fail to be upgraded are lost",
        lambda: opened("x", upgrade),
        "flock",
        lambda: opened("x", upgrade),
        "flock",
        "lock",
    ),
    Pair(
        "a rename into a folder that is removed",
        lambda: within("n", lambda: os.rename("../d", "q")),
        "rename",
        lambda: os.rmdir("n"),
        "rmdir",
        "alive membership",
    ),
    Pair(
        "a name changes places in a listing of several calls",
        lambda: list_part("d"),
        "getdents64",
        lambda: os.rename("x", "d/x"),
        "rename",
        "order",
    ),
    Pair(
        "two names change places in a listing of several calls",
        lambda: list_part("d"),
        "getdents64",
        lambda: rename("d/x", "d/l", EXCHANGE),
        "renameat2",
        "order",
        lambda: os.link("x", "d/l"),
    ),
    Pair(
        "a link leads through a folder that is moved",
        lambda: opened("z/x", os.fstat),
        "openat",
        lambda: os.rename("d", "q"),
        "rename",
        "entry",
    ),
    Pair(
        "one file under two names",
        lambda: opened("l", lambda n: os.pwrite(n, b"123456789", 0)),
        "pwrite64",
        lambda: opened("x", os.fstat),
        "newfstatat",
        "size",
        lambda: os.link("x", "l"),
    ),
    Pair(
        "a file that is open loses its name",
        lambda: os.unlink("x"),
        "unlink",
        lambda: opened("x", os.fstat),
        "newfstatat",
        "links",
    ),
    Pair(
        "a folder that is open is removed",
        lambda: os.rmdir("n"),
        "rmdir",
        lambda: opened("n", os.listdir, os.O_RDONLY),
        "getdents64",
        "alive",
    ),
    Pair(
        "a file is written through its new name",
        lambda: in_turn(lambda: os.rename("x", "q"), lambda: write("q", b"12")),
        "write",
        lambda: opened("x", lambda n: os.pread(n, 2, 0)),
        "pread64",
        "data",
    ),
    Pair(
        "relative and absolute names",
        lambda: within("d", lambda: os.unlink("x")),
        "unlink",
        lambda: os.stat(f"{os.getcwd()}/d/x"),
        "newfstatat",
        "entry links named",
    ),
    *(
        Pair(f"nothing is found until {name}", act, call, look, "newfstatat", kinds)
        for look in [lambda: os.stat("n/q")]
        for name, act, call, kinds in (
            ("a file is made", lambda: create("n/q"), "openat", "way entry"),
            ("a folder is made", lambda: os.mkdir("n/q"), "mkdir", "missing entry"),
            ("a file is moved", lambda: os.rename("x", "n/q"), "rename", "way entry"),
            (
                "a folder is replaced",
                lambda: in_turn(lambda: create("e/q"), lambda: os.rename("e", "n")),
                "rename",
                "way entry",
            ),
            (
                "a file is made from within",
                lambda: within("n", lambda: create("q")),
                "openat",
                "named entry",
            ),
            (
                "a file is made through a link",
                lambda: in_turn(lambda: os.symlink("n", "l"), lambda: create("l/q")),
                "openat",
                "named entry",
            ),
            ("a folder goes", lambda: os.rmdir("n"), "rmdir", "way"),
            ("others may look", lambda: os.chmod("n", 0o700), "chmod", "way"),
        )
    ),
    *(
        Pair(f"nothing is found where {name}", act, call, look, "newfstatat", kinds)
        for look in [lambda: quiet(lambda: os.stat("q/r"))]
        for name, act, call, kinds in (
            ("a link is made", lambda: os.symlink("e", "q"), "symlink", "way entry"),
            (
                "a file was",
                lambda: in_turn(lambda: create("q"), lambda: os.unlink("q")),
                "unlink",
                "way entry",
            ),
            ("a folder is made for nobody", lambda: os.mkdir("q", 0), "mkdir", "way"),
        )
    ),
    Pair(
        "a file is emptied while it is written to",
        lambda: os.truncate("x", 0),
        "truncate",
        lambda: opened("x", lambda n: os.pwrite(n, b"1", 0)),
        "pwrite64",
        "data size",
    ),
    Pair(
        "modes that differ",
        lambda: os.chmod("x", 0o600),
        "chmod",
        lambda: os.chmod("x", 0o640),
        "chmod",
        "attributes",
    ),
    Pair(
        "a lock that fails and one that is let go",
        lambda: opened("x", lambda n: fcntl.flock(n, fcntl.LOCK_EX | fcntl.LOCK_NB)),
        "flock",
        lambda: opened("x", lock_and_close),
        "close",
        "lock",
    ),
    Pair(
        "ranges of locks that overlap",
        lambda: opened("x", lambda n: fcntl.lockf(n, fcntl.LOCK_EX, 4, 0)),
        "fcntl",
        lambda: opened("x", lambda n: fcntl.lockf(n, fcntl.LOCK_SH, 4, 3)),
        "fcntl",
        "lock",
    ),
)

INDEPENDENT = (
    *(
        Pair(
            f"nothing is found {where} of a folder that is made",
            lambda: os.mkdir("q"),
            "mkdir",
            look,
            call,
        )
        for where, look, call in (
            ("inside", lambda: os.stat("q/r"), "newfstatat"),
            ("deep inside", lambda: os.access("q/r/t", os.R_OK), "access"),
            (
                "by its whole path inside",
                lambda: os.stat(os.getcwd() + "/q/r"),
                "newfstatat",
            ),
            ("to be removed inside", lambda: os.unlink("q/r"), "unlink"),
        )
    ),
    Pair(
        "nothing is found beside a file that is made",
        lambda: create("n/q"),
        "openat",
        lambda: os.stat("n/r"),
        "newfstatat",
    ),
    Pair(
        "two names in a folder",
        lambda: create("d/q"),
        "openat",
        lambda: os.mkdir("d/r"),
        "mkdir",
    ),
    Pair(
        "a name comes, one goes",
        lambda: create("d/q"),
        "openat",
        lambda: os.unlink("d/x"),
        "unlink",
    ),
    Pair(
        "two that are there",
        lambda: quiet_mkdir("d"),
        "mkdir",
        lambda: quiet_mkdir("d"),
        "mkdir",
    ),
    Pair(
        "bytes side by side",
        lambda: opened("x", lambda n: os.pwrite(n, b"12", 0)),
        "pwrite64",
        lambda: opened("x", lambda n: os.pwrite(n, b"34", 2)),
        "pwrite64",
    ),
    Pair(
        "emptied twice",
        lambda: os.truncate("x", 0),
        "truncate",
        lambda: os.truncate("x", 0),
        "truncate",
    ),
    Pair(
        "modes alike",
        lambda: os.chmod("x", 0o600),
        "chmod",
        lambda: os.chmod("x", 0o600),
        "chmod",
    ),
    Pair(
        "shared locks",
        lambda: opened("x", lambda n: fcntl.flock(n, fcntl.LOCK_SH)),
        "flock",
        lambda: opened("x", lambda n: fcntl.flock(n, fcntl.LOCK_SH)),
        "flock",
    ),
    Pair(
        "ranges of locks side by side",
        lambda: opened("x", lambda n: fcntl.lockf(n, fcntl.LOCK_EX, 4, 0)),
        "fcntl",
        lambda: opened("x", lambda n: fcntl.lockf(n, fcntl.LOCK_EX, 4, 4)),
        "fcntl",
    ),
    Pair(
        "an open file and the loss of its name",
        lambda: opened("x", lambda n: os.pwrite(n, b"12", 0)),
        "pwrite64",
        lambda: os.unlink("x"),
        "unlink",
    ),
    Pair(
        "a folder's status and a name in it",
        lambda: os.stat("d"),
        "newfstatat",
        lambda: create("d/q"),
        "openat",
    ),
    Pair(
        "two links",
        lambda: os.link("x", "q"),
        "link",
        lambda: os.link("x", "r"),
        "link",
    ),
    Pair(
        "files replaced side by side",
        lambda: os.rename("x", "d/x"),
        "rename",
        lambda: os.rename("y", "d/y"),
        "rename",
        "",
        lambda: os.link("x", "d/y"),
    ),
    Pair(
        "a listing in one call and a name in it replaced",
        lambda: os.listdir("d"),
        "getdents64",
        lambda: os.rename("x", "d/x"),
        "rename",
    ),
)
