"""Guards that a scenario's own code, run beside the actors, cannot pass for an answer.

Its setup and its invariants run in a process of racecheck's. What they do to that is
told, the exploration ends, and nothing is left.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from typing import TYPE_CHECKING, NoReturn

import psutil
import pytest

from racecheck.api import Options, explore
from racecheck.errors import EngineError, ScenarioError
from racecheck.invariants import invariant
from racecheck.model import Verdict
from racecheck.scenario import Budget, Scenario

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path
    from types import FrameType

    from racecheck.model import History, ScenarioResult, View

pytestmark = pytest.mark.processes

DEADLINE_S = 240


@pytest.fixture(autouse=True)
def place(tmp_path: Path) -> Iterator[Path]:
    """A folder for the boxes, of which nothing is left; and a time to come back."""

    def late(number: int, frame: FrameType | None) -> NoReturn:
        del number, frame
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(DEADLINE_S)
    yield tmp_path
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)
    assert os.listdir(tmp_path) == []
    left = [
        process
        for process in psutil.process_iter(["cwd"])
        if (process.info["cwd"] or "").startswith(str(tmp_path))
    ]
    for process in left:
        process.kill()
    assert left == []


def nothing() -> None:
    """Do no harm."""


class ShyError(Exception):
    """Cannot even be told."""

    def __repr__(self) -> str:
        sys.exit(0)

    __str__ = __repr__


def leave() -> None:
    sys.exit(0)


def close() -> None:
    raise GeneratorExit


def be_shy() -> None:
    raise ShyError


def end() -> None:
    os._exit(0)


def fork() -> None:
    if not os.fork():
        time.sleep(600)
        os._exit(0)


def fork_and_go_on() -> None:
    os.fork()


def explored(
    place: Path,
    *,
    setup: Callable[[], object] = nothing,
    judge: Callable[[], object] = nothing,
    engine: str = "process",
) -> ScenarioResult:
    """Explore a scenario whose setup or invariant does something."""

    @invariant
    def kept(view: View, history: History) -> None:
        del view, history
        judge()

    made = Scenario("made", engine=engine, invariants=[kept])
    made.setup(lambda box: setup() and box)
    made.writer(lambda box: (box / "file").touch(), name="one", count=2)
    return explore(made, Options(workdir=place, budget=Budget(executions=6)))


@pytest.mark.parametrize("act", [leave, close, be_shy])
def test_a_setup_that_would_end_the_process_is_told(
    act: Callable[[], object], place: Path
) -> None:
    with pytest.raises(ScenarioError, match="made: setup raised"):
        explored(place, setup=act)


@pytest.mark.parametrize("act", [leave, close, be_shy])
def test_an_invariant_that_would_end_the_process_gives_no_verdict(
    act: Callable[[], object], place: Path
) -> None:
    result = explored(place, judge=act)

    assert result.verdict is Verdict.UNKNOWN
    assert "kept raised" in result.reason


@pytest.mark.parametrize("engine", ["stress", "simulated"])
def test_so_it_does_with_other_engines(engine: str, place: Path) -> None:
    result = explored(place, judge=leave, engine=engine)

    assert result.verdict is Verdict.UNKNOWN
    assert "kept raised" in result.reason


@pytest.mark.parametrize("where", ["setup", "judge"])
def test_a_process_that_ends_as_if_all_were_well_has_not_answered(
    where: str, place: Path
) -> None:
    with pytest.raises(EngineError, match=r"the worker died \(exit status 0\)"):
        explored(place, **{where: end})  # type: ignore[arg-type]  # a function


@pytest.mark.parametrize("engine", ["process", "stress", "simulated"])
def test_a_process_that_an_invariant_leaves_is_named_and_ended(
    engine: str, place: Path
) -> None:
    result = explored(place, judge=fork, engine=engine)

    assert result.verdict is Verdict.UNKNOWN
    assert not result.as_expected
    assert "an invariant left a process running: " in result.reason


@pytest.mark.parametrize("where", ["setup", "judge"])
def test_a_fork_that_goes_on_does_not_answer_as_well(where: str, place: Path) -> None:
    # There may be an answer all the same, as its parent does no harm.
    with contextlib.suppress(ScenarioError, EngineError):
        explored(place, **{where: fork_and_go_on})  # type: ignore[arg-type]  # as above

    # The next task would be given what is left over.
    for _ in range(2):
        assert explored(place).verdict is Verdict.PASSED


@pytest.mark.parametrize("engine", ["process", "stress"])
def test_an_actor_that_has_nothing_to_end_by_does_so(engine: str, place: Path) -> None:
    def save(box: Path) -> None:
        (box / "file").touch()
        os._exit = None  # type: ignore[assignment]  # as a careless test may leave it

    made = Scenario("made", engine=engine)
    made.writer(save, name="one", count=2)
    result = explore(made, Options(workdir=place, budget=Budget(executions=6)))

    # Under stress it takes luck to meet.
    assert result.reason in ("", "vacuous: no two operations ran at the same time")
    assert result.executions > 1
