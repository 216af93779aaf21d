"""What shipped scenarios break is shrunk in real processes, to what is the least."""

from __future__ import annotations

import itertools
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

from racecheck.engine import Machine
from racecheck.explore.curve import curve
from racecheck.explore.explorer import explore
from racecheck.explore.findings import repeat
from racecheck.explore.runner import Runner
from racecheck.explore.shrink import Shrinker
from racecheck.explore.traces import broken
from racecheck.explore.trials import Trials
from racecheck.model import Decision, Kind, ScenarioResult, Schedule, Share, Trace
from racecheck.scenario import Budget, load
from racecheck.scheduling import (
    PlannedFaultsScheduler,
    RandomFaultsScheduler,
    RecordedScheduler,
    mixed_scheduler,
)
from racecheck.storage import Token, decode, encode
from tests.engine.lab import in_child

if TYPE_CHECKING:
    from collections.abc import Iterator

    from racecheck.scenario import Scenario

pytestmark = pytest.mark.processes

SCENARIOS = Path(__file__).parents[2] / "scenarios"


class Shrunk(NamedTuple):
    """What came of shrinking an execution.

    Attributes:
        found: Steps and context switches of what was found.
        shrunk: Those of what it was shrunk to.
        executions: Executions that it took.
        difference: What was different when that was run anew.
        faults: Faults in it.
        order: Who went on.
    """

    found: tuple[int, int]
    shrunk: tuple[int, int]
    executions: int
    difference: str
    faults: int
    order: tuple[str, ...]


def scenario(name: str) -> Scenario:
    (found,) = (each.scenario for each in load([SCENARIOS]) if each.name == name)
    return found


def size(trace: Trace) -> tuple[int, int]:
    return len(trace.steps), trace.schedule.context_switches()


def failing(runner: Runner, invariant: str, count: int) -> Iterator[Trace]:
    """Sample until some executions break an invariant, and run those anew."""
    sampling = RandomFaultsScheduler(mixed_scheduler(1))
    planned = PlannedFaultsScheduler(sampling, runner.scenario.faults)
    for _ in range(500):
        seed = planned.start_execution()
        assert seed is not None
        trace = runner.run(planned, seed, reuse=True)
        assert trace is not None
        if invariant in broken(trace):
            again, difference = repeat(runner, trace)
            assert not difference
            yield again
            count -= 1
        if not count:
            return
    raise AssertionError(f"{count} executions more should break {invariant}")


def shrink_some(name: str, invariant: str, count: int = 3) -> list[Shrunk]:
    made = scenario(name)

    def body() -> list[Shrunk]:
        found = []
        with Machine() as machine:
            runner = Runner(machine, made)
            for trace in failing(runner, invariant, count):
                trials = Trials(partial(runner.run, reuse=True), trace, made.faults)
                shrunk = Shrinker(trials, invariant).shrink()
                again, difference = repeat(runner, shrunk)
                assert invariant in broken(again)
                found.append(
                    Shrunk(
                        size(trace),
                        size(again),
                        trials.executions,
                        difference,
                        sum(step.fault is not None for step in again.steps),
                        tuple(
                            lane
                            for lane, _ in itertools.groupby(
                                each.actor for each in again.schedule.decisions
                            )
                        ),
                    )
                )
        return found

    return in_child(body)


@pytest.mark.parametrize(
    ("name", "invariant", "switches"),
    [
        # Three actors that come to their ends, one of them stopped once.
        ("head_image/two_cold_serves/shared", "no_lost_writes", 3),
        # Both writers are stopped: the first before its rename publishes what the
        # second has just emptied, which comes to its end after that.
        ("head_image/two_cold_serves/shared", "no_silent_loss", 4),
        ("names/lost_update/unlocked", "every_increment_counts", 2),
        ("names/fixed_temp/fixed", "no_unexpected_errors", 2),
        ("names/two_evictors/listed", "no_unexpected_errors", 2),
        ("names/stale_lock/lock_file", "no_unexpected_errors", 3),
    ],
)
def test_shipped_races_shrink_to_the_fewest_switches(
    name: str, invariant: str, switches: int
) -> None:
    for each in shrink_some(name, invariant):
        assert each.shrunk[1] == switches
        assert each.shrunk <= each.found
        assert each.executions < 200
        assert not each.difference


def test_seventy_steps_shrink_in_less_than_two_hundred_executions() -> None:
    # Two calls in a row of one of them have two calls of the other in between.
    (each,) = shrink_some("names/skewed_window/once", "no_unexpected_errors", 1)

    assert each.found[0] >= 60
    assert each.shrunk[1] == 2
    assert each.executions < 200
    assert not each.difference


def test_a_planned_fault_is_not_shrunk_away() -> None:
    name = "head_image/killed_before_rename/shared"

    for each in shrink_some(name, "no_silent_loss", 2):
        assert each.faults == 1
        assert each.shrunk[1] == 4


def test_one_after_the_other_loses_no_write() -> None:
    # With two switches nobody is stopped. So three are the fewest, as tested above.
    made = scenario("head_image/two_cold_serves/shared")

    def body() -> list[list[str]]:
        found = []
        with Machine() as machine:
            runner = Runner(machine, made)
            for order in itertools.permutations(runner.actors):
                turns = [Decision(actor) for actor in order for _ in range(50)]
                scheduler = RecordedScheduler(
                    Schedule(0, tuple(turns)), [Kind.OTHER] * len(turns)
                )
                scheduler.start_execution()
                trace = runner.run(scheduler, 0, reuse=True)
                assert trace is not None
                assert trace.schedule.context_switches() == 2
                found.append(broken(trace))
        return found

    assert in_child(body) == [[]] * 6


def explored(name: str, *, fresh: bool = False, shrink: bool = True) -> ScenarioResult:
    made = scenario(name)

    def body() -> ScenarioResult:
        with Machine() as machine:
            return explore(
                Runner(machine, made),
                seed=1,
                budget=Budget(executions=200),
                scheduler_name="random",
                on_progress=lambda _: None,
                fresh=fresh,
                shrink=shrink,
            )

    return in_child(body)


@pytest.mark.parametrize("fresh", [False, True])
def test_a_finding_is_shrunk_before_it_is_told(*, fresh: bool) -> None:
    result = explored("names/lost_update/unlocked", fresh=fresh)

    (finding,) = result.findings
    assert result.as_expected
    assert finding.confirmed
    assert finding.context_switches == 2
    assert finding.context_switches < finding.found_context_switches
    assert finding.steps == len(finding.trace.steps) == finding.found_steps
    assert finding.token == encode(Token.of(finding.trace))
    assert decode(finding.token).schedule(("count-1", "count-2")) == (
        finding.trace.schedule
    )


def test_a_finding_can_be_told_as_it_was_found() -> None:
    result = explored("names/lost_update/unlocked", shrink=False)

    (finding,) = result.findings
    assert finding.context_switches == finding.found_context_switches > 2


def test_shrinking_counts_for_nothing_in_the_exploration() -> None:
    name = "head_image/two_cold_serves/shared"
    plain, shrunk = explored(name, shrink=False), explored(name)

    def told(result: ScenarioResult) -> list[str]:
        return [finding.invariant for finding in result.findings]

    assert set(told(plain)) <= set(told(shrunk))
    assert shrunk.findings[0].execution == plain.findings[0].execution
    assert shrunk.executions <= plain.executions


def test_the_curve_of_a_race_goes_up_to_certainty() -> None:
    made = scenario("names/skewed_window/once")
    invariant = "no_unexpected_errors"

    def body() -> list[Share]:
        with Machine() as machine:
            runner = Runner(machine, made)
            (trace,) = failing(runner, invariant, 1)
            trials = Trials(partial(runner.run, reuse=True), trace)
            shrunk = Shrinker(trials, invariant).shrink()
            return curve(runner, shrunk, invariant, points=10, reuse=True)

    shares = in_child(body)

    # A random walk has taken half of the publisher's steps when it comes to the window
    # of the fetcher, and the file is gone long before that.
    assert shares[0] == Share(0, 0, 20)
    assert shares[-1].failing == shares[-1].total == 20
    # It falls by chance only. Two shares of 20 with one probability are 14 or more
    # apart with at most 1e-5, which is where that probability is a half.
    failing_at = [share.failing for share in shares]
    assert all(
        later > earlier - 14 for earlier, later in itertools.combinations(failing_at, 2)
    )
