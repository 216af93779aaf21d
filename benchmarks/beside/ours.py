"""Racecheck's side: the same subjects as scenarios, explored as anybody does."""

from __future__ import annotations

import fcntl
import json
import os
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from benchmarks.beside import checkpoints, subjects
from racecheck.api import Options, explore
from racecheck.engine import Machine
from racecheck.explore.runner import Runner
from racecheck.explore.shrink import Shrinker
from racecheck.explore.trials import Trials
from racecheck.invariants import no_unexpected_errors, whole_images
from racecheck.model import Kind, Verdict
from racecheck.scenario import Budget, Scenario, crashes, load, select
from racecheck.scheduling import ExhaustiveScheduler, RandomWalkScheduler
from tests.engine.lab import in_child

if TYPE_CHECKING:
    from racecheck.model import ScenarioResult, Trace

_OVERLAY = Path(__file__).parents[2] / "scenarios" / "overlay"
_LONG = 60


class Explored(NamedTuple):
    """How many executions were made, in how many seconds, start and end included."""

    executions: int
    seconds: float


def window(scheduler: str, seed: int) -> ScenarioResult:
    """Look for the race in the skewed window until it is found."""
    made = Scenario("beside/window", expect="no_unexpected_errors")
    made.setup(subjects.prepare_index)
    made.writer(subjects.publish)
    made.reader(_load)
    options = Options(
        seed=seed, scheduler=scheduler, shrink=False, budget=Budget(executions=20_000)
    )
    result = explore(made, options)
    assert result.as_expected, result.reason
    return result


def _load(box: Path) -> None:
    if not subjects.load(box):
        raise FileNotFoundError


def counter(scheduler: str, executions: int, actors: int = 2) -> Explored:
    """Explore the counter in a file, in which nothing is held to break."""
    made = Scenario("beside/counter", invariants=[no_unexpected_errors()])
    made.setup(subjects.prepare)
    made.writer(subjects.increment, count=actors)
    start = time.perf_counter()
    options = Options(scheduler=scheduler, budget=Budget(executions=executions))
    result = explore(made, options)
    assert result.verdict is Verdict.PASSED, result.reason
    return Explored(result.executions, time.perf_counter() - start)


def crash_points() -> Explored:
    """Kill a job after each thing it does and inside each write, and let another go on.

    Returns:
        The executions in which the first was killed before the second began, each at
        another place or with another order, and the time of all there are.
    """
    return in_child(_crash_points)


def _crash_points() -> Explored:
    made = Scenario(
        "beside/checkpoints",
        faults=[crashes(1, actor="job-1")],
        invariants=[
            whole_images("checkpoint.json", _is_checkpoint),
            whole_images("result.json", _is_result, name="whole_result"),
        ],
    )
    made.writer(_job, name="job", count=2)
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    start = time.perf_counter()
    points = 0
    with Machine(max_cpu_s=made.max_cpu_s) as machine:
        runner = Runner(machine, made)
        scheduler = ExhaustiveScheduler()
        while (seed := scheduler.start_execution()) is not None:
            trace = runner.run(scheduler, seed, footprints=True, reuse=True)
            if trace is not None:
                assert trace.verdict is Verdict.PASSED, trace.reason
                points += _goes_on(trace)
        assert scheduler.finished
    return Explored(points, time.perf_counter() - start)


def _job(box: Path) -> int:
    # One at a time, as jobs that are started again are.
    with open(box / "lock", "a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return checkpoints.train(box)


def _goes_on(trace: Trace) -> bool:
    """Say whether the second took the lock after the first was killed."""
    crashed = next((s.index for s in trace.steps if s.kind is Kind.CRASH), None)
    if crashed is None:
        return False
    return any(
        step.actor == "job-2" and step.kind is Kind.FLOCK and step.result == 0
        for step in trace.steps[crashed:]
    )


def _is_checkpoint(data: bytes) -> bool:
    done, total = json.loads(data)
    return bool(total == sum(n * n for n in range(done + 1)))


def _is_result(data: bytes) -> bool:
    return bool(json.loads(data) == sum(n * n for n in range(checkpoints.STEPS + 1)))


class Shrunk(NamedTuple):
    """Steps and context switches before and after, and how many executions it took."""

    before: tuple[int, int]
    after: tuple[int, int]
    executions: int


def shrinking(seed: int) -> Shrunk:
    """Find a race of the overlay by a random walk, and make the execution simpler."""
    return in_child(lambda: _shrinking(seed))


def _shrinking(seed: int) -> Shrunk:
    (loaded,) = select(load([_OVERLAY]), ["overlay/two_jobs/faulty"])
    made = loaded.scenario
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    with Machine(max_cpu_s=made.max_cpu_s) as machine:
        runner = Runner(machine, made)
        walk = RandomWalkScheduler(seed)
        while True:
            number = walk.start_execution()
            assert number is not None
            trace = runner.run(walk, number, footprints=True, reuse=True)
            assert trace is not None
            if trace.verdict is Verdict.VIOLATED and len(trace.steps) >= _LONG:
                break
        trials = Trials(partial(runner.run, reuse=True), trace, made.faults)
        shrunk = Shrinker(trials, trace.violations[0].invariant).shrink()
    return Shrunk(_size(trace), _size(shrunk), trials.executions)


def _size(trace: Trace) -> tuple[int, int]:
    return len(trace.steps), trace.schedule.context_switches()
