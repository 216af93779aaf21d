"""Guards that actors start alike, whatever others that ran before them have done."""

from __future__ import annotations

import fcntl
import os
import signal
import sys
import time
from typing import TYPE_CHECKING

import pytest

from racecheck.engine import Machine
from racecheck.explore.runner import Runner
from racecheck.model import Verdict
from racecheck.scenario import Scenario
from racecheck.scheduling import RandomWalkScheduler
from tests.engine.lab import in_child

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from racecheck.model import Trace

pytestmark = pytest.mark.processes


def run(
    scenario: Scenario, between: Callable[[Machine], object], *, times: int = 3
) -> list[Trace]:
    """Run the same execution a few times on one machine, with something in between."""

    def body() -> list[Trace]:
        found = []
        with Machine() as machine:
            runner = Runner(machine, scenario)
            for _ in range(times):
                walk = RandomWalkScheduler(0)
                seed = walk.start_execution()
                assert seed is not None
                trace = runner.run(walk, seed, outputs=True)
                assert trace is not None
                found.append(trace)
                between(machine)
        return found

    return in_child(body)


def do_nothing(machine: Machine) -> None:
    del machine


def changes(stream: int) -> list[object]:
    """Return what a stream is like, and change all of it."""
    flags = fcntl.fcntl(stream, fcntl.F_GETFL)
    fcntl.fcntl(stream, fcntl.F_SETFL, flags ^ os.O_APPEND ^ os.O_NONBLOCK)
    return [flags, os.lseek(stream, 0, os.SEEK_CUR)]


def test_an_actor_finds_its_streams_as_the_first_one_did() -> None:
    made = Scenario("streams")

    @made.actor
    def act() -> list[object]:
        seen = [*changes(0), *changes(1)]
        fcntl.flock(1, fcntl.LOCK_EX)
        sys.stdout.write(f"my {seen}\n")
        sys.stdout.flush()
        return seen

    traces = run(made, do_nothing)

    assert [trace.verdict for trace in traces] == [traces[0].verdict] * 3
    values = [trace.operations[0].value for trace in traces]
    assert values == [values[0]] * 3
    outputs = [trace.outputs for trace in traces]
    assert outputs == [{"act": f"my {values[0]}\n"}] * 3


def test_actors_start_from_equal_memory() -> None:
    made = Scenario("memory")

    @made.actor(count=2)
    def act(box: Path) -> list[object]:
        (box / f"{os.urandom(4).hex()}").touch()
        new = [object() for _ in range(3)]
        return [*map(id, new), os.getpid(), os.urandom(4), time.time()]

    traces = run(made, do_nothing)

    assert traces[0].verdict is not Verdict.VIOLATED
    values = [[each.value for each in trace.operations] for trace in traces]
    assert values == [values[0]] * 3
    assert [trace.steps for trace in traces] == [traces[0].steps] * 3


@pytest.mark.parametrize(
    "number", [signal.SIGINT, signal.SIGTERM, signal.SIGSTOP, signal.SIGKILL]
)
def test_a_signal_to_what_actors_are_forked_from_changes_nothing(number: int) -> None:
    made = Scenario("signals")

    @made.actor(count=2)
    def act(box: Path) -> int:
        (box / "file").write_text("text")
        return os.getpid()

    def send(machine: Machine) -> None:
        for template in machine._templates.values():
            os.kill(template.pid, number)
            if number == signal.SIGKILL:
                # Or it may be found alive.
                os.waitid(os.P_PID, template.pid, os.WEXITED | os.WNOWAIT)

    traces = run(made, send)

    assert [trace.steps for trace in traces] == [traces[0].steps] * 3
    assert len(traces[0].operations) == 2


def test_what_actors_leave_behind_is_no_zombie() -> None:
    made = Scenario("zombies")

    @made.actor
    def act() -> None:
        if os.fork() == 0:
            if os.fork() == 0:
                os._exit(0)
            os._exit(0)
        os.wait()

    def look(machine: Machine) -> None:
        for template in machine._templates.values():
            pid = template.pid
            with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
                assert not file.read()

    traces = run(made, look)

    assert [trace.steps for trace in traces] == [traces[0].steps] * 3


def test_an_actor_has_the_signals_of_a_fresh_process() -> None:
    made = Scenario("handlers")

    @made.actor
    def act() -> list[str]:
        numbers = (signal.SIGCHLD, signal.SIGALRM, signal.SIGTERM, signal.SIGINT)
        return [str(signal.getsignal(number)) for number in numbers]

    (trace,) = run(made, do_nothing, times=1)

    assert trace.operations[0].value == [str(signal.SIG_DFL)] * 4


def test_nothing_interrupts_while_that_is_set_up_which_actors_are_forked_from() -> None:
    made = Scenario("timer")

    @made.setup
    def setup(box: Path) -> None:
        (box / "timer").write_text(repr(signal.getitimer(signal.ITIMER_REAL)))

    made.actor(lambda box: (box / "timer").read_text(), name="one")

    def body() -> tuple[str, float]:
        with Machine() as machine:
            Runner(machine, made)
            timer = (machine.sandbox.box / "timer").read_text()
            return timer, signal.getitimer(signal.ITIMER_REAL)[1]

    during, after = in_child(body)

    # What the handler allocates at some moment would move all that comes later.
    assert during == "(0.0, 0.0)"
    assert after > 0
