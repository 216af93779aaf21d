"""Guards what there may be many of: files, actors, dead children, nested folders."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from racecheck.api import Options, explore
from racecheck.engine.claim import empty
from racecheck.model import Coverage, Verdict
from racecheck.scenario import Budget, Scenario
from tests.engine.lab import run

if TYPE_CHECKING:
    from pathlib import Path

    from racecheck.model import ScenarioResult

pytestmark = pytest.mark.processes

_DEEP = 40
_NAME = "folder" * 20


def explored(made: Scenario, workdir: Path, executions: int) -> ScenarioResult:
    """Explore a scenario, and check that nothing is left of it."""
    options = Options(workdir=workdir, budget=Budget(executions=executions))
    result = explore(made, options)
    assert os.listdir(workdir) == []
    return result


@pytest.mark.slow
# On a machine with much else to do.
@pytest.mark.timeout(1200)
def test_an_execution_of_ten_thousand_files_is_gone_through(tmp_path: Path) -> None:
    made = Scenario("many", max_steps=30_000)

    @made.writer
    def one(box: Path) -> None:
        for number in range(10_000):
            os.close(os.open(box / f"{number}", os.O_CREAT | os.O_WRONLY))

    @made.writer
    def two(box: Path) -> None:
        os.close(os.open(box / "5000", os.O_CREAT | os.O_WRONLY))

    result = explored(made, tmp_path, 1)

    assert result.verdict is Verdict.PASSED
    assert result.steps > 20_000


def test_a_hundred_actors_run_in_one_execution(tmp_path: Path) -> None:
    made = Scenario("many")

    @made.writer(count=100)
    def one(box: Path) -> None:
        os.close(os.open(box / "file", os.O_CREAT | os.O_WRONLY))

    result = explored(made, tmp_path, 1)

    assert (result.verdict, result.coverage) == (Verdict.PASSED, Coverage.CUT)
    assert result.steps == 400


def test_children_that_nobody_waits_for_are_no_failure_of_their_parent(
    tmp_path: Path,
) -> None:
    made = Scenario("many")

    @made.writer
    def one(box: Path) -> None:
        for _ in range(10):
            if os.fork() == 0:
                os._exit(0)
        (box / "file").touch()

    @made.writer
    def two(box: Path) -> None:
        (box / "file").touch()

    result = explored(made, tmp_path, 12)

    assert result.verdict is Verdict.UNKNOWN
    assert "one ended and left running: one:1 (python)" in result.reason
    assert result.findings == ()


def test_children_that_have_ended_unasked_are_no_matter() -> None:
    made = Scenario("many")

    @made.actor
    def one(box: Path) -> None:
        for number in range(20):
            if os.fork() == 0:
                (box / str(number)).touch()
                os._exit(0)
        for number in range(20):
            while not (box / str(number)).exists():
                os.sched_yield()

    seen = run(made, *(f"one:{number} to end" for number in range(1, 21)))

    assert seen.trace.verdict is Verdict.PASSED
    assert len(seen.files) == 20


def test_what_lies_deep_is_seen_as_well_and_removed(tmp_path: Path) -> None:
    made = Scenario("many", expect="no_unexpected_errors")

    @made.writer
    def one(box: Path) -> None:
        os.chdir(box)
        for _ in range(_DEEP):
            os.mkdir(_NAME)
            os.chdir(_NAME)

    @made.writer(count=2, after="one")
    def two(box: Path) -> None:
        os.chdir(box)
        for _ in range(_DEEP):
            os.chdir(_NAME)
        os.mkdir("race")

    result = explored(made, tmp_path, 5)

    assert result.verdict is Verdict.VIOLATED, result
    assert "FileExistsError" in result.findings[0].message


@pytest.mark.parametrize("depth", [1, 8, 9, 10, 30, 1200])
def test_folders_are_emptied_however_deep_they_are(depth: int, tmp_path: Path) -> None:
    # Names that those get which are moved up may be there already.
    for name in ("0", "0-", "file"):
        (tmp_path / name).touch()
    here = os.open(tmp_path, os.O_RDONLY)
    for _ in range(depth):
        os.mkdir(_NAME, dir_fd=here)
        below = os.open(_NAME, os.O_RDONLY, dir_fd=here)
        os.close(os.open("file", os.O_CREAT | os.O_WRONLY, dir_fd=below))
        os.mkdir("closed", 0, dir_fd=below)
        os.close(here)
        here = below
    os.close(here)

    empty(str(tmp_path))

    assert os.listdir(tmp_path) == []
