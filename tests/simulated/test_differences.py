"""Guards the list of where a simulation differs from Linux, in `docs/engines.md`.

Each test runs one scenario under both engines and says what differs; the first two say
what does not.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from typing import TYPE_CHECKING

import pytest

from racecheck.api import Options, explore
from racecheck.invariants import (
    never_missing,
    no_lost_writes,
    source_untouched,
    whole_images,
)
from racecheck.model import Coverage, Kind, Simulation, Verdict
from racecheck.scenario import Budget, Scenario, errno, simulated

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from racecheck.model import Invariant, ScenarioResult, Step

pytestmark = pytest.mark.processes


def both(
    function: Callable[..., object],
    *,
    invariants: tuple[Invariant, ...] = (),
    expect: set[str] | None = None,
    machine: Simulation | None = None,
    setup: Callable[..., object] | None = None,
    count: int = 2,
    faults: tuple[object, ...] = (),
) -> tuple[ScenarioResult, ScenarioResult]:
    """Explore a scenario on Linux and simulated."""
    results = []
    for engine in ("process", machine or "simulated"):
        made = Scenario(
            "both",
            invariants=[no_lost_writes(), *invariants],
            expect=expect or set(),
            engine=engine,
            faults=faults,  # type: ignore[arg-type]  # passed on
        )
        if setup is not None:
            made.setup(setup)
        made.writer(function, count=count, name="do")
        results.append(explore(made, Options(budget=Budget(executions=300))))
    real, simulation = results
    assert (real.engine, simulation.engine) == ("process", "simulated")
    return real, simulation


def steps_of(result: ScenarioResult) -> tuple[Step, ...]:
    return result.findings[0].trace.steps


def write_shared(box: Path) -> None:
    (box / "file.tmp").write_text("whole")
    (box / "file.tmp").rename(box / "file")


def write_own(box: Path) -> None:
    temp = box / f"file.{os.getpid()}"
    temp.write_text("whole")
    temp.replace(box / "file")


def remove_and_rename(box: Path) -> None:
    temp = box / f"file.{os.getpid()}"
    temp.write_text("whole")
    (box / "file").unlink(missing_ok=True)
    temp.rename(box / "file")


def append(box: Path) -> None:
    with (box / "log").open("a") as log:
        log.write("one line\n")


def count_up(box: Path) -> None:
    number = int((box / "number").read_text())
    (box / "number").write_text(str(number + 1))


def number(box: Path) -> None:
    (box / "number").write_text("0")


def is_number(data: bytes) -> bool:
    return data.isdigit()


@pytest.mark.parametrize(
    ("function", "invariants", "setup", "broken"),
    [
        (
            write_shared,
            (whole_images("file", lambda data: data == b"whole"),),
            None,
            {"no_lost_writes", "no_unexpected_errors", "whole_images"},
        ),
        (
            write_own,
            (whole_images("file", lambda data: data == b"whole"),),
            None,
            set(),
        ),
        (remove_and_rename, (never_missing("file"),), None, {"never_missing"}),
        (append, (), None, set()),
        (
            count_up,
            (whole_images("number", is_number),),
            number,
            {"whole_images", "no_lost_writes", "no_unexpected_errors"},
        ),
        (write_own, (source_untouched("number"),), number, set()),
    ],
)
def test_what_is_broken_is_the_same(
    function: Callable[..., object],
    invariants: tuple[Invariant, ...],
    setup: Callable[..., object] | None,
    broken: set[str],
) -> None:
    real, simulation = both(function, invariants=invariants, setup=setup, expect=broken)

    for result in (real, simulation):
        assert {each.invariant for each in result.findings} == broken
        assert result.as_expected, result.reason
        if not broken:
            assert result.coverage is Coverage.COMPLETE


def test_the_calls_that_change_something_are_the_same() -> None:
    real, simulation = both(write_shared, expect={"no_lost_writes"})

    calls = []
    for result in (real, simulation):
        (lane,) = {
            each.actor
            for each in result.findings[0].trace.violations
            if each.invariant == "no_lost_writes"
        }
        calls.append(
            [
                (step.kind, step.args.get("path") or step.args.get("newpath"))
                for step in steps_of(result)
                if step.actor == lane and step.kind in (Kind.OPEN, Kind.RENAME)
            ]
        )
    assert calls[0] == calls[1] == [(Kind.OPEN, "file.tmp"), (Kind.RENAME, "file")]


def test_calls_that_change_nothing_for_others_are_left_out() -> None:
    real, simulation = both(write_shared, expect={"no_lost_writes"})

    kinds = [{step.kind for step in steps_of(result)} for result in (real, simulation)]
    assert kinds[0] - kinds[1] == {Kind.STAT, Kind.SEEK}


def test_a_full_disk_takes_nothing_of_a_write() -> None:
    def write(box: Path) -> None:
        descriptor = os.open(box / "file", os.O_WRONLY | os.O_CREAT)
        try:
            os.write(descriptor, b"0123456789")
        finally:
            os.close(descriptor)

    # No Linux machine can be asked for a disk of 4 bytes; there it is injected.
    real, _ = both(
        write, faults=(errno("ENOSPC", "do-1", on="write"),), expect={"no_lost_writes"}
    )
    _, simulation = both(
        write, machine=simulated(disk_nbytes=4), expect={"no_lost_writes"}
    )

    # One excuses the failure, since it was its own; the other is what a disk does.
    assert not real.findings
    (write_step,) = {
        str(step) for step in steps_of(simulation) if step.kind is Kind.WRITE
    }
    assert write_step == "write(3, 10 B) = ENOSPC"


def test_the_folder_for_temporary_files_is_not_tried_out() -> None:
    def ask(box: Path) -> None:
        tempfile.tempdir = tempfile.tempdir
        (box / "asked").write_text(tempfile.gettempdir()[-3:])
        raise OSError

    real, simulation = both(ask, expect={"no_lost_writes"})

    tried = [
        any("$TMPDIR" in str(step) for step in steps_of(result))
        for result in (real, simulation)
    ]
    assert tried == [True, False]


def test_file_locks_are_no_pass() -> None:
    def lock(box: Path) -> None:
        with (box / "lock").open("w") as stream:
            fcntl.flock(stream, fcntl.LOCK_EX)

    real, simulation = both(lock)

    assert real.verdict is Verdict.PASSED, real.reason
    assert simulation.verdict is Verdict.UNKNOWN
    assert "fcntl.flock is not simulated" in simulation.reason


def test_a_tree_is_removed_by_paths() -> None:
    def setup(box: Path) -> None:
        (box / "folder").mkdir()
        (box / "folder" / "file").touch()

    def remove(box: Path) -> None:
        shutil.rmtree(box / "folder")

    real, simulation = both(
        remove, setup=setup, expect={"no_lost_writes", "no_unexpected_errors"}
    )

    shown = [
        {str(step.args.get("path")) for step in steps_of(result)}
        for result in (real, simulation)
    ]
    assert real.as_expected, real.reason
    assert simulation.as_expected, simulation.reason
    by_descriptor = [
        any(
            "dirfd" in step.args and step.kind is Kind.UNLINK for step in steps_of(each)
        )
        for each in (real, simulation)
    ]
    assert by_descriptor == [True, False]
    assert "folder/file" in shown[1]


def test_a_folder_tells_nothing_of_the_names_in_it_by_its_status() -> None:
    def look(box: Path) -> None:
        status = (box / "folder").stat()
        (box / "said").write_text("something")
        raise OSError(f"{status.st_nlink} links, {status.st_size} bytes")

    def setup(box: Path) -> None:
        (box / "folder" / "below").mkdir(parents=True)

    real, simulation = both(look, setup=setup, expect={"no_lost_writes"}, count=1)

    # As under the process engine, which leaves it out as well.
    said = [result.findings[0].message for result in (real, simulation)]
    assert "1 links, 4096 bytes" in said[0]
    assert "1 links, 4096 bytes" in said[1]
