"""Guards what looking at files and opening them reads and changes."""

from __future__ import annotations

import ctypes
import errno
import os

import pytest

from tests.footprint.rows import RW, Row, check, in_removed, in_turn, libc, with_open

pytestmark = pytest.mark.processes


def first_of(link: str) -> None:
    """Read the first byte of a link, whose text tells where the sandbox is."""
    libc.readlink(link.encode(), ctypes.create_string_buffer(1), 1)


OPENING = (
    Row("stat", lambda: os.stat("x"), "newfstatat", 0, "e(.,x) a(x) l(x) s(x)"),
    Row("lstat of a link", lambda: os.lstat("w"), "newfstatat", 0, "e(.,w) a(w) l(w)"),
    Row("stat of a folder", lambda: os.stat("d"), "newfstatat", 0, "e(.,d) a(d)"),
    Row(
        "stat through links",
        lambda: os.stat("z/x"),
        "newfstatat",
        0,
        "e(.,z) e(.,d) a(d) e(d,x) a(d/x) l(d/x) s(d/x)",
    ),
    Row(
        "stat through ..",
        lambda: os.stat("d/../x"),
        "newfstatat",
        0,
        "e(.,d) a(d) p(d) e(.,x) a(x) l(x) s(x)",
    ),
    Row("stat, missing", lambda: os.stat("q"), "newfstatat", -errno.ENOENT, "e(.,q)"),
    Row(
        "stat, missing on the way",
        lambda: os.stat("q/x/y"),
        "newfstatat",
        -errno.ENOENT,
        "f(.,q/x/y)",
    ),
    Row(
        "stat, a file on the way",
        lambda: os.stat("x/y/z"),
        "newfstatat",
        -errno.ENOTDIR,
        "e(.,x)",
    ),
    Row("stat, loop", lambda: os.stat("o"), "newfstatat", -errno.ELOOP, "e(.,o)"),
    Row(
        "stat, dangling",
        lambda: os.stat("k"),
        "newfstatat",
        -errno.ENOENT,
        "e(.,k) e(.,q)",
    ),
    Row("fstat", lambda: with_open("x", os.fstat), "newfstatat", 0, "a(x) l(x) s(x)"),
    Row(
        "fstat of a folder",
        lambda: with_open("d", os.fstat, flags=os.O_RDONLY),
        "newfstatat",
        0,
        "a(d) v(d)",
    ),
    Row(
        "stat of the working directory",
        lambda: in_turn(lambda: os.chdir("d"), lambda: os.stat(".")),
        "newfstatat",
        0,
        "a(d) v(d)",
    ),
    Row("access", lambda: os.access("x", os.R_OK), "access", 0, "e(.,x) a(x)"),
    Row(
        "access, missing",
        lambda: os.access("q", os.R_OK),
        "access",
        -errno.ENOENT,
        "e(.,q)",
    ),
    Row("readlink", lambda: os.readlink("w"), "readlink", 1, "e(.,w)"),
    Row(
        "readlink of a file",
        lambda: os.readlink("x"),
        "readlink",
        -errno.EINVAL,
        "e(.,x)",
    ),
    Row(
        "readlink of the working directory",
        lambda: in_turn(lambda: os.chdir("d/s"), lambda: first_of("/proc/self/cwd")),
        "readlink",
        1,
        "a(d/s) v(d/s) p(d/s) e(d,s) p(d) e(.,d) p(.) e($SANDBOX,box)",
    ),
    Row(
        "readlink of a working directory that is gone",
        lambda: in_removed(lambda: first_of("/proc/self/cwd")),
        "readlink",
        1,
        "a(n) v(n) p(n) e(.,n) p(.) e($SANDBOX,box)",
    ),
    Row(
        "readlink of a descriptor",
        lambda: with_open("d/x", lambda n: first_of(f"/proc/self/fd/{n}")),
        "readlink",
        1,
        "a($SANDBOX) e($SANDBOX,box) e(.,d) a(d) e(d,x)",
    ),
    Row(
        "readlink of a descriptor without a name",
        lambda: with_open(
            "x", lambda _: os.unlink("x"), lambda n: first_of(f"/proc/self/fd/{n}")
        ),
        "readlink",
        1,
        "l(x)",
    ),
    Row("open", lambda: with_open("x"), "openat", 3, "e(.,x) a(x)"),
    Row(
        "open, to be emptied",
        lambda: with_open("x", flags=RW | os.O_TRUNC),
        "openat",
        3,
        "e(.,x) a(x)",
        "s(x):t0 b(x,0-):t0",
    ),
    Row(
        "open, created",
        lambda: with_open("q", flags=RW | os.O_CREAT | os.O_TRUNC),
        "openat",
        3,
        "v(.)",
        "e(.,q) m(.):m",
    ),
    Row(
        "open, created through a dangling link",
        lambda: with_open("k", flags=RW | os.O_CREAT),
        "openat",
        3,
        "e(.,k) v(.)",
        "e(.,q) m(.):m",
    ),
    Row(
        "open, to be created and there",
        lambda: with_open("x", flags=RW | os.O_CREAT),
        "openat",
        3,
        "e(.,x) a(x)",
    ),
    Row(
        "open, to be new and there",
        lambda: with_open("w", flags=RW | os.O_CREAT | os.O_EXCL),
        "openat",
        -errno.EEXIST,
        "e(.,w)",
    ),
    Row("open, a folder", lambda: with_open("d"), "openat", -errno.EISDIR, "e(.,d)"),
    Row(
        "open, no folder",
        lambda: with_open("x", flags=os.O_DIRECTORY),
        "openat",
        -errno.ENOTDIR,
        "e(.,x)",
    ),
    Row(
        "open, a link not to be followed",
        lambda: with_open("w", flags=os.O_NOFOLLOW),
        "openat",
        -errno.ELOOP,
        "e(.,w)",
    ),
    Row(
        "open, created in a folder that is gone",
        lambda: in_removed(lambda: with_open("q", flags=RW | os.O_CREAT)),
        "openat",
        -errno.ENOENT,
        "a(n) e(n,q) v(n)",
    ),
    Row(
        "open, nameless",
        lambda: with_open("d", flags=RW | os.O_TMPFILE),
        "openat",
        3,
        "e(.,d) a(d)",
    ),
    Row(
        "open, nameless in a folder that is gone",
        lambda: in_removed(lambda: with_open(".", flags=RW | os.O_TMPFILE)),
        "openat",
        3,
        "a(n)",
    ),
    Row("chdir", lambda: os.chdir("d"), "chdir", 0, "e(.,d) a(d)"),
    Row("chdir, no folder", lambda: os.chdir("x"), "chdir", -errno.ENOTDIR, "e(.,x)"),
    Row(
        "getcwd",
        lambda: in_turn(lambda: os.chdir("d/s"), os.getcwd),
        "getcwd",
        0,
        "v(d/s) p(d/s) e(d,s) p(d) e(.,d) p(.) e($SANDBOX,box)",
    ),
    Row(
        "getcwd of a folder that is gone",
        lambda: in_removed(os.getcwd),
        "getcwd",
        -errno.ENOENT,
        "v(n)",
    ),
)


@pytest.mark.parametrize("row", OPENING, ids=lambda row: row.name.replace(" ", "-"))
def test_a_step_reads_and_changes_what_the_table_says(row: Row) -> None:
    check(row)
