"""Guards that a process is used again only where it stands as at its start."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import sys
import threading
from typing import TYPE_CHECKING

import pytest

from racecheck.api import Options, explore
from racecheck.engine import Machine
from racecheck.explore.runner import Runner
from racecheck.invariants import invariant
from racecheck.model import ActorEnd, Decision, Fault, FaultKind, Verdict
from racecheck.scenario import Budget, Scenario
from racecheck.scheduling import RandomWalkScheduler
from tests.engine.lab import in_child
from tests.footprint.stage import Ordered, Played, Stage

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from racecheck.model import History, Trace, View

pytestmark = pytest.mark.processes

STALL = Fault(FaultKind.STALL, length=5)


def beside_the_box() -> None:
    # As text it would load a codec, if that was not done by anybody before.
    with open("../beside", "wb"):
        pass


def move_the_box() -> None:
    os.rename("../box", "../moved")


@pytest.mark.parametrize("act", [beside_the_box, move_the_box])
def test_an_actor_whose_folder_is_made_anew_does_not_stay_in_the_old_one(
    act: Callable[[], object],
) -> None:
    def body() -> list[Played | None]:
        with Machine() as machine:
            stage = Stage(machine)
            # The one has ended before the other touches the folder of both.
            stage.prepare(
                lambda: os.mkdir("d"), {"A": lambda: os.listdir("."), "B": act}
            )
            order = ["A"] * 20
            return [stage.run(Ordered(order), reuse=True) for _ in range(3)]

    first, *others = in_child(body)

    assert first is not None
    assert first.values["A"] == ["d"]
    assert others == [first, first]


def test_an_actor_that_leaves_a_file_open_ends_once_and_well() -> None:
    made = Scenario("reuse")

    @made.actor(count=2)
    def act(box: Path) -> None:
        os.open(box / "file", os.O_RDWR | os.O_CREAT, 0o644)

    def body() -> list[Trace | None]:
        with Machine() as machine:
            runner = Runner(machine, made)
            walk = RandomWalkScheduler(0)
            seeds = [walk.start_execution() for _ in range(3)]
            return [runner.run(walk, seed or 0, reuse=True) for seed in seeds]

    for trace in in_child(body):
        assert trace is not None
        assert trace.verdict is Verdict.PASSED
        ends = sorted(trace.ends, key=lambda end: end.actor)
        assert ends == [ActorEnd(f"act-{n}", 0, crashed=False) for n in (1, 2)]


def uses_of_processes(made: Scenario) -> list[int]:
    """Return how often the process of each execution had been used by then."""

    def body() -> list[int]:
        with Machine() as machine:
            runner = Runner(machine, made)
            walk = RandomWalkScheduler(0)
            found = []
            for _ in range(3):
                trace = runner.run(walk, walk.start_execution() or 0, reuse=True)
                assert trace is not None
                assert trace.verdict is Verdict.PASSED, trace.reason
                value = trace.operations[0].value
                assert isinstance(value, int)
                found.append(value)
            return found

    return in_child(body)


def counting(work: Callable[[], object]) -> Scenario:
    made = Scenario("reuse")
    uses: list[None] = []

    @made.actor
    def act(box: Path) -> int:
        del box
        work()
        uses.append(None)
        return len(uses)

    return made


def in_a_thread() -> None:
    thread = threading.Thread(target=os.getcwd)
    thread.start()
    thread.join()


def in_a_child() -> None:
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)


@pytest.mark.parametrize(
    ("work", "uses"),
    [(os.getcwd, [1, 2, 3]), (in_a_thread, [1, 2, 3]), (in_a_child, [1, 1, 1])],
)
def test_a_process_whose_threads_have_ended_is_used_again(
    work: Callable[[], object], uses: list[int]
) -> None:
    assert uses_of_processes(counting(work)) == uses


def test_no_process_is_used_again_where_import_or_setup_has_started_threads() -> None:
    made = counting(os.getcwd)

    @made.setup
    def setup(box: Path) -> None:
        del box
        threading.Thread(target=threading.Event().wait, daemon=True).start()

    assert uses_of_processes(made) == [1, 1, 1]


class Closing:
    """What does something when nobody has it any more."""

    def __del__(self) -> None:
        os.mkdir("closed")


def with_an_alarm() -> None:
    signal.signal(signal.SIGALRM, lambda *_: os.mkdir("rung"))
    signal.alarm(1)


def with_a_thread_left() -> None:
    threading.Thread(target=os.mkdir, args=["thread"]).start()


def with_a_child() -> None:
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)


def with_an_error() -> None:
    kept = Closing()
    raise ValueError(type(kept).__name__)


ENDS: dict[str, Callable[[], object]] = {
    "nothing": lambda: None,
    "a value": lambda: [1],
    "a value that does something": Closing,
    "an alarm": with_an_alarm,
    "a thread": with_a_thread_left,
    "a child": with_a_child,
    "an error": with_an_error,
    "output": lambda: sys.stdout.write("text"),
}


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("fault", [None, Fault(FaultKind.CRASH), STALL])
def test_a_used_process_ends_with_the_steps_of_a_fresh_one(
    end: str, fault: Fault | None
) -> None:
    def act() -> object:
        with contextlib.suppress(OSError):
            os.mkdir("first")
        return ENDS[end]()

    def body() -> list[tuple[Played | None, ...]]:
        with Machine() as machine:
            stage = Stage(machine)
            stage.prepare(lambda: None, {"A": act, "B": act})
            uses = (False, True, True)
            found = []
            for seed in range(6):
                # Who comes to its return by then meets the fault there.
                walk = random.Random(seed)
                order: list[str | Decision] = [walk.choice("AB") for _ in range(5)]
                if fault is not None:
                    order.append(Decision(walk.choice("AB"), fault))
                order += [walk.choice("AB") for _ in range(40)]
                found.append(
                    tuple(stage.run(Ordered(order), reuse=reuse) for reuse in uses)
                )
        return found

    for fresh, *used in in_child(body):
        assert fresh is not None
        assert len(fresh.steps) > 4
        for played in used:
            assert played == fresh


@invariant
def one_at_a_time(view: View, history: History) -> bool:
    del history
    return not (view.exists("a.in") and view.exists("b.in"))


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_race_is_found_that_state_of_an_earlier_execution_would_hide(
    jobs: int,
) -> None:
    # Whoever has met the other once steps back for good. The first executions do not
    # meet, so that fresh and used processes do the same in them.
    met = []
    made = Scenario("reuse/shy", invariants=[one_at_a_time])

    @made.writer(name="a")
    def bold(box: Path) -> None:
        (box / "x").mkdir()
        if not (box / "b.work").exists():
            (box / "a.in").mkdir()
            (box / "a.in").rmdir()
        (box / "x").rmdir()

    @made.writer(name="b")
    def shy(box: Path) -> None:
        if (box / "x").exists():
            met.append(1)
        if not met:
            (box / "b.work").mkdir()
            (box / "b.in").mkdir()
            (box / "b.in").rmdir()

    result = explore(made, Options(budget=Budget(executions=500), jobs=jobs))

    assert [each.invariant for each in result.findings] == ["one_at_a_time"]
    assert result.verdict is Verdict.VIOLATED
