"""Guards that what the search cannot order is never called complete, nor passed."""

from __future__ import annotations

import contextlib
import ctypes
import mmap
import os
import signal
from typing import TYPE_CHECKING

import pytest

from racecheck.api import Options, explore
from racecheck.invariants import invariant, no_lost_writes
from racecheck.model import Coverage, Verdict
from racecheck.scenario import Budget, Scenario, errnos, stall

if TYPE_CHECKING:
    from pathlib import Path

    from racecheck.model import History, View

pytestmark = pytest.mark.processes
FEW = Options(budget=Budget(executions=30))
PAGE = mmap.PAGESIZE
BLOCKS = PAGE // 512
"""How many blocks a page on tmpfs has."""


def test_a_file_that_is_mapped_by_one_and_written_by_another_gives_no_verdict() -> None:
    made = Scenario("seen/mapped", invariants=[no_lost_writes()])
    made.setup(lambda box: (box / "file").write_bytes(b"a" * 64) and None)

    @made.reader
    def look(box: Path) -> int:
        with (box / "file").open("rb") as file:
            view = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
        first = view[0]
        (box / "done").touch()
        return first - view[0]

    @made.writer
    def write(box: Path) -> None:
        with (box / "file").open("r+b") as file:
            file.write(b"b")
        (box / "done").exists()

    result = explore(made, FEW)

    assert result.verdict is Verdict.UNKNOWN
    assert "has mapped what" in result.reason


def test_running_what_another_opens_for_writing_is_never_complete() -> None:
    made = Scenario("seen/run")

    @made.setup
    def tool(box: Path) -> None:
        (box / "tool").write_text("no program")
        (box / "tool").chmod(0o755)

    @made.actor(raises=OSError)
    def use(box: Path) -> None:
        os.execv(box / "tool", ["tool"])  # noqa: S606  it fails

    @made.actor
    def change(box: Path) -> None:
        (box / "tool").open("r+b").close()

    result = explore(made, FEW)

    assert result.coverage is Coverage.CUT
    assert (
        "not every order was tried of running tool and opening it for writing"
        in result.assumptions
    )


def test_asking_whether_another_process_lives_is_never_complete() -> None:
    made = Scenario("seen/alive", invariants=[no_lost_writes()])

    @made.writer(count=2)
    def ask(box: Path) -> None:
        (box / "file").touch()
        for other in (1001, 1002):
            try:
                os.kill(other, 0)
            except ProcessLookupError:
                (box / "gone").touch()

    result = explore(made, FEW)

    assert result.verdict is Verdict.PASSED
    assert result.coverage is not Coverage.COMPLETE
    assert any("whether another process lives" in text for text in result.assumptions)


def test_a_stall_is_confirmed_by_its_replay() -> None:
    @invariant
    def never_late(view: View, history: History) -> object:
        del history
        return not view.exists("late")

    made = Scenario(
        "seen/stall",
        invariants=[never_late],
        faults=[stall("slow", 3600, on="mkdir")],
        expect={"never_late"},
    )

    @made.writer
    def slow(box: Path) -> None:
        (box / "made").mkdir()

    @made.reader
    def wait(box: Path) -> None:
        import time  # noqa: PLC0415  only the actor needs it

        time.sleep(60)
        if not (box / "made").exists():
            (box / "late").touch()

    result = explore(made, FEW)

    assert result.as_expected, result.reason
    (finding,) = result.findings
    assert finding.confirmed


def test_a_timer_that_might_have_gone_off_is_never_complete() -> None:
    made = Scenario("seen/timer")

    @made.writer
    def work(box: Path) -> None:
        signal.alarm(1)
        (box / "lock").mkdir()
        (box / "lock").rmdir()
        signal.alarm(0)

    @made.reader
    def look(box: Path) -> bool:
        return (box / "lock").exists()

    result = explore(made, FEW)

    assert result.verdict is Verdict.PASSED
    assert result.coverage is Coverage.CUT
    assert any("a timer of work goes off" in text for text in result.assumptions)
    assert "steps take no time" in result.assumptions


@pytest.mark.parametrize("change", ["write", "allocate", "punch"])
@pytest.mark.parametrize("looks", [True, False])
def test_filling_a_hole_is_seen_by_who_counts_blocks(
    change: str, *, looks: bool
) -> None:
    made = Scenario("holes")

    @made.setup
    def sparse(box: Path) -> None:
        with (box / "file").open("wb") as file:
            file.write(b"1")
            file.truncate(1 << 16)

    @made.reader(raises=FileNotFoundError)
    def count(box: Path) -> None:
        status = (box / "file").stat()
        if looks and status.st_blocks != BLOCKS:
            raise ValueError(status.st_blocks)
        (box / "done").stat()

    @made.writer
    def fill(box: Path) -> None:
        number = os.open(box / "file", os.O_WRONLY)
        if change == "write":
            os.pwrite(number, b"2", 1 << 15)
        elif change == "allocate":
            os.posix_fallocate(number, 0, 1 << 16)
        else:
            ctypes.CDLL(None).fallocate(
                number, 3, ctypes.c_long(0), ctypes.c_long(PAGE)
            )
        (box / "done").touch()

    result = explore(made, FEW)

    assert result.verdict is (Verdict.VIOLATED if looks else Verdict.PASSED)


def test_one_actor_that_touches_nothing_is_no_pass() -> None:
    made = Scenario("seen/nothing")

    @made.actor
    def rest() -> None:
        pass

    result = explore(made, FEW)

    assert result.verdict is Verdict.UNKNOWN
    assert result.reason == "vacuous: nothing was touched"


def test_one_actor_whose_path_is_too_long_has_met_something() -> None:
    made = Scenario("seen/too_long")

    @made.writer(succeeds=bool)
    def save(box: Path) -> bool:
        try:
            (box / "/".join(["name"] * 1000)).touch()
        except OSError:
            return False
        return True

    result = explore(made, FEW)

    assert result.verdict is Verdict.PASSED


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_fault_that_no_call_can_meet_is_told(jobs: int) -> None:
    def made(on: str) -> Scenario:
        scenario = Scenario("seen/fault", faults=[errnos("ENOSPC", on=on)])

        @scenario.writer(count=2)
        def write(box: Path) -> None:
            with contextlib.suppress(OSError):
                (box / "file").write_text("a")

        return scenario

    options = Options(budget=Budget(executions=200), jobs=jobs)

    assert explore(made("symlink"), options).reason == "never met: ENOSPC on symlink"
    assert not explore(made("write"), options).reason


def test_what_comes_after_an_execution_was_broken_off_is_not_covered() -> None:
    # The writer has no turn: the other is ended before, and with it the execution.
    made = Scenario("seen/endless", max_steps=50, expect={"progress"})
    made.setup(lambda box: (box / "file").write_text("good") and None)

    @made.actor
    def loop(box: Path) -> None:
        (box / "file").read_text()
        while True:
            (box / "file").touch()

    @made.writer
    def write(box: Path) -> None:
        (box / "file").write_text("bad")

    for jobs in (1, 2):
        result = explore(made, Options(budget=Budget(executions=30), jobs=jobs))

        assert result.verdict is Verdict.VIOLATED
        assert result.coverage is Coverage.CUT
        assert "what comes after an execution was broken off is not known" in (
            result.assumptions
        )
