"""Guards what making, moving and removing names reads and changes."""

from __future__ import annotations

import errno
import os

import pytest

from tests.footprint.rows import (
    CWD,
    EMPTY_PATH,
    EXCHANGE,
    NOREPLACE,
    Row,
    check,
    in_removed,
    in_turn,
    libc,
    rename,
    with_open,
)

pytestmark = pytest.mark.processes

NAMES = (
    Row("mkdir", lambda: os.mkdir("q"), "mkdir", 0, "v(.)", "e(.,q) m(.):m l(.):l"),
    Row("mkdir, there", lambda: os.mkdir("x"), "mkdir", -errno.EEXIST, "e(.,x)"),
    Row(
        "mkdir in a folder that is gone",
        lambda: in_removed(lambda: os.mkdir("q")),
        "mkdir",
        -errno.ENOENT,
        "a(n) e(n,q) v(n)",
    ),
    Row(
        "symlink",
        lambda: os.symlink("t", "q"),
        "symlink",
        0,
        "v(.)",
        "e(.,q) m(.):m",
    ),
    Row(
        "symlink, there",
        lambda: os.symlink("t", "k"),
        "symlink",
        -errno.EEXIST,
        "e(.,k)",
    ),
    Row("mkfifo", lambda: os.mkfifo("q"), "mknodat", 0, "v(.)", "e(.,q) m(.):m"),
    Row(
        "link",
        lambda: os.link("x", "d/q"),
        "link",
        0,
        "e(.,x) a(x) e(.,d) a(d) v(d)",
        "e(d,q) m(d):m l(x):l",
    ),
    Row("link, missing", lambda: os.link("q", "d/x"), "link", -errno.ENOENT, "e(.,q)"),
    Row(
        "link, there",
        lambda: os.link("x", "y"),
        "link",
        -errno.EEXIST,
        "e(.,x) e(.,y)",
    ),
    Row(
        "link of a folder",
        lambda: os.link("d", "q"),
        "link",
        -errno.EPERM,
        "e(.,d) e(.,q) v(.) a(d)",
    ),
    Row(
        "link of a descriptor",
        lambda: with_open("x", lambda n: libc.linkat(n, b"", CWD, b"q", EMPTY_PATH)),
        "linkat",
        0,
        "v(.) l(x) a(x)",
        "e(.,q) m(.):m l(x):l",
    ),
    Row(
        "link of a descriptor without a name",
        lambda: with_open(
            "x",
            lambda _: os.unlink("x"),
            lambda n: libc.linkat(n, b"", CWD, b"q", EMPTY_PATH),
        ),
        "linkat",
        -errno.ENOENT,
        "e(.,q) v(.) l(x)",
    ),
    Row("unlink", lambda: os.unlink("x"), "unlink", 0, "a(x)", "e(.,x) m(.):m l(x):l"),
    Row("unlink, missing", lambda: os.unlink("q"), "unlink", -errno.ENOENT, "e(.,q)"),
    Row(
        "unlink of a folder",
        lambda: os.unlink("d"),
        "unlink",
        -errno.EISDIR,
        "e(.,d) a(d)",
    ),
    Row(
        "rmdir",
        lambda: os.rmdir("n"),
        "rmdir",
        0,
        "m(n) a(n)",
        "e(.,n) m(.):m l(.):l v(n) l(n)",
    ),
    Row(
        "rmdir, not empty",
        lambda: os.rmdir("d"),
        "rmdir",
        -errno.ENOTEMPTY,
        "e(.,d) a(d) m(d)",
    ),
    Row(
        "rmdir of a file", lambda: os.rmdir("x"), "rmdir", -errno.ENOTDIR, "e(.,x) a(x)"
    ),
    Row("rmdir, missing", lambda: os.rmdir("q"), "rmdir", -errno.ENOENT, "e(.,q)"),
    Row(
        "rename",
        lambda: os.rename("x", "d/q"),
        "rename",
        0,
        "a(x) e(.,d) a(d) v(d)",
        "e(.,x) e(d,q) m(.):m m(d):m",
    ),
    Row(
        "rename, missing",
        lambda: os.rename("q", "d/x"),
        "rename",
        -errno.ENOENT,
        "e(.,d) a(d) e(.,q)",
    ),
    Row(
        "rename into a folder that is missing",
        lambda: os.rename("x", "q/x"),
        "rename",
        -errno.ENOENT,
        "e(.,q)",
    ),
    Row(
        "rename over a file",
        lambda: os.rename("x", "d/x"),
        "rename",
        0,
        "a(x) e(.,d) a(d) a(d/x)",
        "e(.,x) e(d,x) m(.):m n(d):m l(d/x):l",
    ),
    Row(
        "rename of a link over a file",
        lambda: os.rename("w", "d/x"),
        "rename",
        0,
        "a(w) e(.,d) a(d) a(d/x)",
        "e(.,w) e(d,x) m(.):m m(d):m n(d):m l(d/x):l",
    ),
    Row(
        "rename to another name of the same file",
        lambda: in_turn(lambda: os.link("x", "d/q"), lambda: os.rename("x", "d/q")),
        "rename",
        0,
        "e(.,x) a(x) e(.,d) a(d) e(d,q)",
    ),
    Row(
        "rename of a folder",
        lambda: os.rename("d", "q"),
        "rename",
        0,
        "v(.) a(d)",
        "e(.,d) e(.,q) m(.):m",
    ),
    Row(
        "rename of a folder to another parent",
        lambda: os.rename("e", "d/q"),
        "rename",
        0,
        "a(e) e(.,d) a(d) v(d) p(d) p(.) p($SANDBOX)",
        "e(.,e) e(d,q) m(.):m m(d):m p(e) l(.):l l(d):l",
    ),
    Row(
        "rename of a folder into itself",
        lambda: os.rename("d", "d/s/q"),
        "rename",
        -errno.EINVAL,
        "e(.,d) a(d) e(d,s) a(d/s) e(d/s,q) v(d/s) p(d/s) p(d) p(.) p($SANDBOX)",
    ),
    Row(
        "rename over a folder above",
        lambda: os.rename("d/x", "d"),
        "rename",
        -errno.ENOTEMPTY,
        "e(.,d) a(d) e(d,x) a(d/x) p(d) p(.) p($SANDBOX) m(d)",
    ),
    Row(
        "rename over an empty folder",
        lambda: os.rename("e", "n"),
        "rename",
        0,
        "a(e) a(n) m(n)",
        "e(.,e) e(.,n) m(.):m n(.):m v(n) l(n) l(.):l",
    ),
    Row(
        "rename over a folder that is not empty",
        lambda: os.rename("e", "d"),
        "rename",
        -errno.ENOTEMPTY,
        "e(.,e) e(.,d) a(e) a(d) m(d)",
    ),
    Row(
        "rename of a file over a folder",
        lambda: os.rename("x", "n"),
        "rename",
        -errno.EISDIR,
        "e(.,x) e(.,n) a(x) a(n)",
    ),
    Row(
        "rename of a folder over a file",
        lambda: os.rename("e", "x"),
        "rename",
        -errno.ENOTDIR,
        "e(.,e) e(.,x) a(e) a(x)",
    ),
    Row(
        "rename to where nothing may be",
        lambda: rename("x", "y", NOREPLACE),
        "renameat2",
        -errno.EEXIST,
        "e(.,x) e(.,y)",
    ),
    Row(
        "exchange",
        lambda: rename("x", "d/x", EXCHANGE),
        "renameat2",
        0,
        "a(x) e(.,d) a(d) a(d/x)",
        "e(.,x) e(d,x) n(.):m n(d):m",
    ),
    Row(
        "exchange of a file and a folder",
        lambda: rename("x", "d/s", EXCHANGE),
        "renameat2",
        0,
        "a(x) a(d/s) e(.,d) a(d) p(.) p($SANDBOX)",
        "e(.,x) e(d,s) m(.):m m(d):m n(.):m n(d):m p(d/s) l(.):l l(d):l",
    ),
    Row(
        "exchange, missing",
        lambda: rename("x", "q", EXCHANGE),
        "renameat2",
        -errno.ENOENT,
        "e(.,x) e(.,q)",
    ),
    Row(
        "rename of a folder into one that is gone",
        lambda: in_removed(lambda: os.rename("../d", "q")),
        "rename",
        -errno.ENOENT,
        "a(n) p(n) e(.,d) e(n,q) v(n)",
    ),
)


@pytest.mark.parametrize("row", NAMES, ids=lambda row: row.name.replace(" ", "-"))
def test_a_step_reads_and_changes_what_the_table_says(row: Row) -> None:
    check(row)
