"""Guards that what a handler of a signal does is seen, also in a static program.

A static program loads no library that could be replaced, and a handler comes between
any two instructions: whoever looks on from inside a process misses both.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from racecheck.api import Options, explore
from racecheck.invariants import no_lost_writes, whole_images
from racecheck.model import Coverage, Kind, Verdict
from racecheck.scenario import Budget, Scenario, command
from tests.engine.lab import run

if TYPE_CHECKING:
    from collections.abc import Callable

    from racecheck.model import ScenarioResult

pytestmark = pytest.mark.processes

SOURCE = Path(__file__).with_name("handler.c")
WHOLE = b"begin end"


@pytest.fixture(scope="session", params=["dynamic", "static"])
def publisher(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """The program that writes in a handler, compiled."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler")
    program = tmp_path_factory.mktemp("handler") / "handler"
    options = ["-static"] if request.param == "static" else []
    made = subprocess.run([compiler, *options, "-o", program, SOURCE], check=False)
    if made.returncode and options:
        pytest.skip("no static C library")
    assert made.returncode == 0
    return program


def whole(data: bytes) -> bool:
    return data == WHOLE


def publishing() -> Scenario:
    return Scenario(
        "handlers", invariants=[no_lost_writes(), whole_images("file", whole)]
    )


def explored(made: Scenario) -> ScenarioResult:
    return explore(made, Options(budget=Budget(executions=300)))


def check_race(result: ScenarioResult) -> None:
    """Check that both wrote under one name, which one of them renamed away."""
    assert result.verdict is Verdict.VIOLATED, result.reason
    found = {each.invariant: each for each in result.findings}
    assert "no_lost_writes" in found
    steps = found["no_lost_writes"].trace.steps
    assert {each.args["path"] for each in steps if each.kind is Kind.OPEN} == {
        "file.tmp"
    }


@pytest.mark.compiler
@pytest.mark.parametrize("when", ["raise", "alarm"])
def test_each_step_of_a_handler_is_a_step(publisher: Path, when: str) -> None:
    made = publishing()
    made.writer(
        command([str(publisher), "shared", when, "{box}/file"]), name="one", count=2
    )

    # The second writes into the file that the first has opened, and finds it gone.
    seen = run(made, "one-1 to write", "one-2 to rename", "one-1 to end", "one-2")

    kinds = [
        each.kind
        for each in seen.of("one-1")
        if each.kind in (Kind.OPEN, Kind.WRITE, Kind.CLOSE, Kind.RENAME)
    ]
    assert kinds[-5:] == [Kind.OPEN, Kind.WRITE, Kind.WRITE, Kind.CLOSE, Kind.RENAME]
    assert seen.operation("one-1").status == 0
    assert seen.operation("one-2").status == 1
    assert seen.trace.uncontrolled == ()


@pytest.mark.compiler
@pytest.mark.parametrize("when", ["raise", "alarm"])
def test_a_race_of_handlers_is_found(publisher: Path, when: str) -> None:
    made = publishing()
    program = command([str(publisher), "shared", when, "{box}/file"])
    made.writer(program, name="one", count=2)

    check_race(explored(made))


@pytest.mark.compiler
@pytest.mark.parametrize("when", ["raise", "alarm"])
def test_handlers_with_names_of_their_own_pass(publisher: Path, when: str) -> None:
    made = publishing()
    program = command([str(publisher), "pid", when, "{box}/file"])
    made.writer(program, name="one", count=2)

    result = explored(made)

    assert result.verdict is Verdict.PASSED, result.reason
    assert result.findings == ()


def publish(name: str) -> Callable[[Path], None]:
    """Return an operation that writes in a handler, under a temp name."""

    def operation(box: Path) -> None:
        def handle(number: int, frame: object) -> None:
            del number, frame
            temp = box / name.format(os.getpid())
            temp.write_bytes(WHOLE)
            temp.rename(box / "file")

        signal.signal(signal.SIGALRM, handle)
        signal.setitimer(signal.ITIMER_REAL, 1)
        signal.pause()

    return operation


def test_a_race_of_handlers_in_python_is_found() -> None:
    made = publishing()
    made.writer(publish("file.tmp"), name="one", count=2)

    check_race(explored(made))


def test_handlers_in_python_with_names_of_their_own_pass() -> None:
    made = publishing()
    made.writer(publish("file.tmp.{}"), name="one", count=2)

    result = explored(made)

    assert (result.verdict, result.findings) == (Verdict.PASSED, ())
    assert result.coverage in (Coverage.COMPLETE, Coverage.CUT)
