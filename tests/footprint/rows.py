"""What a single step reads and changes, as tables for the tests of its footprint.

The box holds folders `d` with file `x` and folder `s`, `e` and the empty `n`; files `x`
(6 bytes) and `y` (none); links `z` to `d`, `w` to `x`, `k` to the missing `q`, and `o`
to itself. Attributes of the box are left out, since every path that goes through it
reads them, and so are times.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
from typing import TYPE_CHECKING, NamedTuple

from racecheck.engine import Machine
from tests.engine.calls import usual
from tests.engine.lab import in_child
from tests.footprint.brief import brief
from tests.footprint.stage import Stage

if TYPE_CHECKING:
    from collections.abc import Callable

    from racecheck.model import Step

RW = os.O_RDWR
CWD = -100
EMPTY_PATH = 0x1000
NOREPLACE, EXCHANGE = 1, 2
GETDENTS = 217 if os.uname().machine == "x86_64" else 61
libc = ctypes.CDLL(None, use_errno=True)


class Row(NamedTuple):
    """A call and what it is expected to read and change.

    Attributes:
        name: What is tested.
        act: What the actor does; the last step of `call` is the one that is meant.
        call: Name of the call.
        result: What it has to give; a negative errno, or anything if it succeeds.
        reads: What it reads.
        writes: What it changes.
    """

    name: str
    act: Callable[[], object]
    call: str
    result: int
    reads: str
    writes: str = ""


def fill() -> None:
    """Fill the box."""
    for folder in ("d", "d/s", "e", "n"):
        os.mkdir(folder)
    for path, text in (("x", b"abcdef"), ("y", b""), ("d/x", b"0123")):
        number = os.open(path, os.O_WRONLY | os.O_CREAT, 0o644)
        os.write(number, text)
        os.close(number)
    for link, target in (("z", "d"), ("w", "x"), ("k", "q"), ("o", "o")):
        os.symlink(target, link)


def with_open(path: str, *does: Callable[[int], object], flags: int = RW) -> None:
    """Open a file, do something with it, and leave it open."""
    number = os.open(path, flags, 0o644)
    for do in does:
        do(number)


def rename(old: str, new: str, flags: int) -> None:
    """Rename with flags."""
    if libc.renameat2(CWD, old.encode(), CWD, new.encode(), flags):
        raise OSError(ctypes.get_errno(), "renameat2")


def in_turn(*acts: Callable[[], object]) -> None:
    """Do things one after the other."""
    for act in acts:
        act()


def in_removed(do: Callable[[], object]) -> None:
    """Do something in a working directory that is gone."""
    os.chdir("n")
    os.rmdir("../n")
    do()


def run(row: Row) -> Step:
    """Run a row's actor alone; return the step that is meant."""

    def act() -> None:
        with contextlib.suppress(OSError):
            row.act()

    def body() -> Step:
        with Machine() as machine:
            stage = Stage(machine)
            stage.prepare(fill, {"A": act})
            played = stage.play()
        assert not played.uncontrolled
        call = usual(row.call)
        return [step for step in played.steps if usual(step.call) == call][-1]

    return in_child(body)


def check(row: Row) -> None:
    """See that a row is right."""
    step = run(row)
    reads, writes = brief(step.footprint)

    assert step.result == row.result or row.call == "getcwd"
    assert reads == set(row.reads.split())
    assert writes == set(row.writes.split())
