"""Guards what locks, ends and changes of attributes read and change."""

from __future__ import annotations

import errno
import fcntl
import os
from typing import TYPE_CHECKING

import pytest

from tests.footprint.rows import Row, check, with_open

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.processes


def flocks(*operations: int) -> Callable[[], object]:
    """Return what locks `x` in some ways, one after the other."""
    return lambda: with_open(
        "x", *(lambda n, op=op: fcntl.flock(n, op) for op in operations)
    )


def ranges(*operations: tuple[int, int, int]) -> Callable[[], object]:
    """Return what locks ranges of `x`, given operation, length and start."""
    return lambda: with_open(
        "x", *(lambda n, op=op: fcntl.lockf(n, *op) for op in operations)
    )


def against(first: int, *operations: int) -> Callable[[], object]:
    """Return what locks `x` while another open file of the actor has it locked."""

    def act() -> None:
        with_open("x", lambda n: fcntl.flock(n, first))
        flocks(*operations)()

    return act


SH, EX, UN, NB = fcntl.LOCK_SH, fcntl.LOCK_EX, fcntl.LOCK_UN, fcntl.LOCK_NB

LOCKS_AND_ATTRIBUTES = (
    Row("flock, shared", flocks(SH), "flock", 0, "", "k(x):sh"),
    Row("flock, exclusive", flocks(EX), "flock", 0, "", "k(x)"),
    Row("flock, upgraded", flocks(SH, EX), "flock", 0, "", "k(x)"),
    Row("flock, downgraded", flocks(EX, SH), "flock", 0, "", "k(x)"),
    Row("flock, as it is", flocks(EX, EX), "flock", 0, ""),
    Row("flock, let go", flocks(EX, UN), "flock", 0, "", "k(x)"),
    Row("flock, shared one let go", flocks(SH, UN), "flock", 0, "", "k(x):sh"),
    Row("flock, none let go", flocks(UN), "flock", 0, ""),
    Row("flock, refused", against(EX, SH | NB), "flock", -errno.EAGAIN, "k(x)"),
    Row(
        "flock, upgrade refused",
        against(SH, SH, EX | NB),
        "flock",
        -errno.EAGAIN,
        "k(x)",
        "k(x):sh",
    ),
    Row(
        "close with a lock",
        lambda: with_open("x", lambda n: fcntl.flock(n, EX), os.close),
        "close",
        0,
        "",
        "k(x)",
    ),
    Row(
        "close with a shared lock",
        lambda: with_open("x", lambda n: fcntl.flock(n, SH), os.close),
        "close",
        0,
        "",
        "k(x):sh",
    ),
    Row("close", lambda: with_open("x", os.close), "close", 0, ""),
    Row(
        "close of a copy",
        lambda: with_open("x", lambda n: fcntl.flock(n, EX), os.dup, os.close),
        "close",
        0,
        "",
    ),
    Row(
        "close of any descriptor with a range locked",
        lambda: with_open(
            "x", lambda n: fcntl.lockf(n, EX, 3, 2), lambda _: os.close(os.open("x", 0))
        ),
        "close",
        0,
        "",
        "k(x,2-5)",
    ),
    Row(
        "dup over a lock",
        lambda: with_open(
            "x", lambda n: fcntl.flock(n, EX), lambda n: os.dup2(os.open("y", 0), n)
        ),
        "dup2",
        3,
        "",
        "k(x)",
    ),
    Row("exit with a lock", flocks(EX), "exit_group", 0, "", "k(x)"),
    Row("exit", flocks(EX, UN), "exit_group", 0, ""),
    Row("lockf, shared", ranges((SH, 3, 1)), "fcntl", 0, "", "k(x,1-4):sh"),
    Row("lockf, exclusive", ranges((EX, 0, 1)), "fcntl", 0, "", "k(x,1-)"),
    Row(
        "lockf, part let go",
        ranges((EX, 4, 0), (UN, 9, 2)),
        "fcntl",
        0,
        "",
        "k(x,2-4)",
    ),
    Row("lockf, none let go", ranges((EX, 4, 0), (UN, 9, 4)), "fcntl", 0, ""),
    Row(
        "chmod",
        lambda: os.chmod("x", 0o600),
        "chmod",
        0,
        "e(.,x)",
        "a(x):600",
    ),
    Row(
        "fchmod",
        lambda: with_open("x", lambda n: os.fchmod(n, 0o600)),
        "fchmod",
        0,
        "",
        "a(x):600",
    ),
    Row(
        "chown",
        lambda: os.chown("x", -1, os.getgid()),
        "chown",
        0,
        "e(.,x)",
        f"a(x):-1:{os.getgid()}",
    ),
    Row(
        "utime",
        lambda: os.utime("x", (1, 2)),
        "utimensat",
        0,
        "e(.,x) a(x)",
        "t(x)",
    ),
)


@pytest.mark.parametrize(
    "row", LOCKS_AND_ATTRIBUTES, ids=lambda row: row.name.replace(" ", "-")
)
def test_a_step_reads_and_changes_what_the_table_says(row: Row) -> None:
    check(row)
