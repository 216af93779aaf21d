"""Guards that who copies a file by a call of its own can be killed within that."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

import pytest

from racecheck.api import Options, explore
from racecheck.invariants import whole_images
from racecheck.model import Coverage, FaultKind, Verdict
from racecheck.scenario import Budget, Scenario, crash, crashes
from tests.engine.lab import run

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from racecheck.model import FaultBound, PlannedFault

    Copy = Callable[[Path, Path], object]

pytestmark = pytest.mark.processes
SOME = Options(budget=Budget(executions=200))
TEXT = b"abcdefgh"
MUCH = 1 << 23


def opened(source: Path, target: Path) -> tuple[int, int]:
    return os.open(source, os.O_RDONLY), os.open(target, os.O_WRONLY | os.O_CREAT)


def by_sendfile(source: Path, target: Path) -> None:
    taken, put = opened(source, target)
    os.sendfile(put, taken, 0, MUCH)


def by_copy_file_range(source: Path, target: Path) -> None:
    taken, put = opened(source, target)
    os.copy_file_range(taken, put, MUCH)


def by_splice(source: Path, target: Path) -> None:
    out, into = os.pipe()
    os.write(into, source.read_bytes())
    put = os.open(target, os.O_WRONLY | os.O_CREAT)
    os.splice(out, put, MUCH)


COPIES: dict[str, Copy] = {
    "copyfile": shutil.copyfile,
    "sendfile": by_sendfile,
    "copy_file_range": by_copy_file_range,
    "splice": by_splice,
}


def copying(copy: Copy, fault: FaultBound | PlannedFault, *, fixed: bool) -> Scenario:
    made = Scenario(
        "copying",
        faults=[fault],
        invariants=[whole_images("copy", lambda data: data in (b"", TEXT))],
    )
    made.setup(lambda box: (box / "source").write_bytes(TEXT) and None)

    @made.writer
    def one(box: Path) -> None:
        target = box / ("temp" if fixed else "copy")
        copy(box / "source", target)
        if fixed:
            os.rename(target, box / "copy")

    @made.reader
    def look(box: Path) -> bool:
        return (box / "copy").exists()

    return made


@pytest.mark.parametrize("how", COPIES)
def test_a_copy_in_place_is_torn_by_a_crash_and_one_moved_there_is_not(
    how: str,
) -> None:
    broken = explore(copying(COPIES[how], crashes(1), fixed=False), SOME)
    sound = explore(copying(COPIES[how], crashes(1), fixed=True), SOME)

    assert broken.verdict is Verdict.VIOLATED
    assert (sound.verdict, sound.coverage) == (Verdict.PASSED, Coverage.COMPLETE)


@pytest.mark.parametrize("length", [0, 3, 99])
def test_a_torn_copy_leaves_exactly_its_first_part(length: int) -> None:
    fault = crash("one", after_bytes=length, on="copy")

    seen = run(copying(by_sendfile, fault, fixed=False), "one")

    assert seen.files["copy"] == TEXT[:length].decode()
    torn = seen.of("one")[-1]
    assert torn.fault is not None
    assert (torn.call, torn.fault.kind) == ("sendfile", FaultKind.TEAR)


@pytest.mark.parametrize("fixed", [False, True])
def test_what_is_copied_is_measured_when_it_is_copied(*, fixed: bool) -> None:
    made = Scenario(
        "late",
        faults=[crashes(1, actor="one")],
        invariants=[whole_images("copy", lambda data: data in (b"", TEXT))],
    )
    made.setup(lambda box: (box / "source").touch())

    @made.writer
    def one(box: Path) -> None:
        target = box / ("temp" if fixed else "copy")
        by_sendfile(box / "source", target)
        if fixed:
            os.rename(target, box / "copy")

    @made.writer
    def two(box: Path) -> None:
        os.write(os.open(box / "source", os.O_WRONLY), TEXT)

    result = explore(made, SOME)

    assert result.verdict is (Verdict.PASSED if fixed else Verdict.VIOLATED)
