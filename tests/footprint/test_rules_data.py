"""Guards what reading, writing and listing reads and changes."""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import resource
from typing import TYPE_CHECKING

import pytest

from tests.footprint.rows import GETDENTS, RW, Row, check, libc, with_open

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.processes


def limited(*does: Callable[[int], object], flags: int = RW) -> None:
    """Do something with the open `x` where files may have no more than 3 bytes."""
    hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
    resource.setrlimit(resource.RLIMIT_FSIZE, (3, hard))
    try:
        with_open("x", *does, flags=flags)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))


DATA = (
    Row("read", lambda: with_open("x", lambda n: os.read(n, 3)), "read", 3, "b(x,0-3)"),
    Row(
        "read on, past the end",
        lambda: with_open("x", lambda n: os.read(n, 4), lambda n: os.read(n, 4)),
        "read",
        2,
        "b(x,4-6) s(x)",
    ),
    Row(
        "read at the end",
        lambda: with_open("y", lambda n: os.read(n, 4)),
        "read",
        0,
        "s(y)",
    ),
    Row("read nothing", lambda: with_open("x", lambda n: os.read(n, 0)), "read", 0, ""),
    Row(
        "read a folder",
        lambda: with_open("d", lambda n: os.read(n, 4), flags=os.O_RDONLY),
        "read",
        -errno.EISDIR,
        "",
    ),
    Row(
        "pread",
        lambda: with_open("x", lambda n: os.pread(n, 2, 1)),
        "pread64",
        2,
        "b(x,1-3)",
    ),
    Row(
        "preadv2",
        lambda: with_open("x", lambda n: os.preadv(n, [bytearray(1)] * 3, 2)),
        "preadv2",
        3,
        "b(x,2-5)",
    ),
    Row(
        "write inside",
        lambda: with_open("x", lambda n: os.write(n, b"12")),
        "write",
        2,
        "",
        "b(x,0-2)",
    ),
    Row(
        "write across the end",
        lambda: with_open("x", lambda n: os.pwrite(n, b"1234", 4)),
        "pwrite64",
        4,
        "",
        "s(x) b(x,4-8)",
    ),
    Row(
        "write past the end",
        lambda: with_open("x", lambda n: os.pwrite(n, b"12", 9)),
        "pwrite64",
        2,
        "",
        "s(x) b(x,6-11)",
    ),
    Row(
        "append",
        lambda: with_open("x", lambda n: os.write(n, b"1"), flags=RW | os.O_APPEND),
        "write",
        1,
        "",
        "s(x) b(x,6-7)",
    ),
    Row(
        "append with an offset",
        lambda: with_open("x", lambda n: os.pwrite(n, b"1", 0), flags=RW | os.O_APPEND),
        "pwrite64",
        1,
        "",
        "s(x) b(x,6-7)",
    ),
    Row(
        "append because of a later flag",
        lambda: with_open(
            "x",
            lambda n: fcntl.fcntl(n, fcntl.F_SETFL, os.O_APPEND),
            lambda n: os.write(n, b"1"),
        ),
        "write",
        1,
        "",
        "s(x) b(x,6-7)",
    ),
    Row(
        "append past the limit",
        lambda: limited(lambda n: os.write(n, b"1"), flags=RW | os.O_APPEND),
        "write",
        -errno.EFBIG,
        "s(x)",
    ),
    Row(
        "write past the limit",
        lambda: limited(lambda n: os.pwrite(n, b"1", 4)),
        "pwrite64",
        -errno.EFBIG,
        "",
    ),
    Row(
        "ftruncate past the limit",
        lambda: limited(lambda n: os.ftruncate(n, 9)),
        "ftruncate",
        -errno.EFBIG,
        "s(x)",
    ),
    Row(
        "fallocate past the limit",
        lambda: limited(lambda n: os.posix_fallocate(n, 4, 6)),
        "fallocate",
        -errno.EFBIG,
        "s(x)",
    ),
    Row(
        "write nothing",
        lambda: with_open("x", lambda n: os.write(n, b"")),
        "write",
        0,
        "",
    ),
    Row(
        "write, not open for it",
        lambda: with_open("x", lambda n: os.write(n, b"1"), flags=os.O_RDONLY),
        "write",
        -errno.EBADF,
        "",
    ),
    Row(
        "ftruncate, shorter",
        lambda: with_open("x", lambda n: os.ftruncate(n, 4)),
        "ftruncate",
        0,
        "a(x)",
        "s(x) b(x,4-6)",
    ),
    Row(
        "ftruncate, longer",
        lambda: with_open("x", lambda n: os.ftruncate(n, 9)),
        "ftruncate",
        0,
        "a(x)",
        "s(x) b(x,6-9)",
    ),
    Row(
        "ftruncate, as it is",
        lambda: with_open("x", lambda n: os.ftruncate(n, 6)),
        "ftruncate",
        0,
        "a(x) s(x)",
    ),
    Row(
        "ftruncate, empty",
        lambda: with_open("x", lambda n: os.ftruncate(n, 0)),
        "ftruncate",
        0,
        "a(x)",
        "s(x):t0 b(x,0-):t0",
    ),
    Row(
        "truncate",
        lambda: os.truncate("w", 5),
        "truncate",
        0,
        "e(.,w) e(.,x) a(x)",
        "s(x) b(x,5-6)",
    ),
    Row(
        "fallocate",
        lambda: with_open("x", lambda n: os.posix_fallocate(n, 4, 6)),
        "fallocate",
        0,
        "a(x)",
        "s(x) b(x,6-10)",
    ),
    Row(
        "fallocate inside",
        lambda: with_open("x", lambda n: os.posix_fallocate(n, 1, 3)),
        "fallocate",
        0,
        "a(x) s(x)",
    ),
    Row(
        "seek",
        lambda: with_open("x", lambda n: os.lseek(n, 3, os.SEEK_SET)),
        "lseek",
        3,
        "",
    ),
    Row(
        "seek from the end",
        lambda: with_open("x", lambda n: os.lseek(n, -1, os.SEEK_END)),
        "lseek",
        5,
        "s(x)",
    ),
    Row(
        "seek data",
        lambda: with_open("x", lambda n: os.lseek(n, 1, os.SEEK_DATA)),
        "lseek",
        1,
        "s(x) b(x,0-)",
    ),
    Row(
        "copy to where it is",
        lambda: with_open("x", lambda n: os.copy_file_range(n, n, 4, 0, 0)),
        "copy_file_range",
        -errno.EINVAL,
        "s(x)",
    ),
    Row(
        "copy",
        lambda: with_open("x", lambda n: os.copy_file_range(n, os.open("y", RW), 9, 2)),
        "copy_file_range",
        4,
        "b(x,2-6) s(x)",
        "s(y) b(y,0-4)",
    ),
    Row(
        "sendfile",
        lambda: with_open("x", lambda n: os.sendfile(os.open("y", RW), n, 0, 3)),
        "sendfile",
        3,
        "b(x,0-3)",
        "s(y) b(y,0-3)",
    ),
    Row("fsync", lambda: with_open("x", os.fsync), "fsync", 0, ""),
    Row("list", lambda: os.listdir("d"), "getdents64", 0, "v(d) m(d)"),
    Row(
        "list a folder that is gone",
        lambda: with_open("n", lambda _: os.rmdir("n"), os.listdir, flags=os.O_RDONLY),
        "getdents64",
        -errno.ENOENT,
        "v(n)",
    ),
    Row(
        "list at once",
        lambda: with_open(
            "d",
            lambda n: libc.syscall(GETDENTS, n, ctypes.create_string_buffer(999), 999),
            flags=os.O_RDONLY,
        ),
        "getdents64",
        96,
        "v(d) m(d) n(d) p(d)",
    ),
    Row(
        "list a part",
        lambda: with_open(
            "d",
            lambda n: libc.syscall(GETDENTS, n, ctypes.create_string_buffer(60), 60),
            flags=os.O_RDONLY,
        ),
        "getdents64",
        48,
        "v(d) m(d) n(d) p(d)",
    ),
)


@pytest.mark.parametrize("row", DATA, ids=lambda row: row.name.replace(" ", "-"))
def test_a_step_reads_and_changes_what_the_table_says(row: Row) -> None:
    check(row)
