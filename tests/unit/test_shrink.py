"""What is shrunk has as few context switches as can be, found in few executions.

The races are small enough to go through all their orders. So it is known how few
switches show them, and every order that does is shrunk, or many of them.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from random import Random
from statistics import mean
from typing import TYPE_CHECKING, NamedTuple

import pytest

from racecheck.explore.shrink import EXECUTIONS, STEPS, TURNS, Shrinker
from racecheck.explore.traces import broken
from racecheck.explore.trials import Trials
from racecheck.scheduling import mixed_scheduler
from tests.unit.small_orders import all_executions, renamed, run
from tests.unit.small_races import RACES, index_and_blob, lost_update

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from racecheck.explore.passes import Turns
    from racecheck.model import Trace
    from tests.unit.small_programs import Small

MOST_OF_A_RACE = 25


class Shrunk(NamedTuple):
    """What came of shrinking an execution, and how many it took."""

    trace: Trace
    executions: int

    @property
    def simplicity(self) -> tuple[int, int]:
        """Number of faults, number of context switches."""
        return simplicity(self.trace)


def simplicity(trace: Trace) -> tuple[int, int]:
    faults = sum(each.fault is not None for each in trace.schedule.decisions)
    return faults, trace.schedule.context_switches()


def shrink(program: Small, trace: Trace, invariant: str) -> Shrunk:
    trials = Trials(program.run, trace)
    return Shrunk(Shrinker(trials, invariant).shrink(), trials.executions)


@cache
def failing(name: str, *, footprints: bool) -> Sequence[Trace]:
    """Return all executions that show a race."""
    race = RACES[name]
    program = replace(race.program, footprints=footprints)
    return [each for each in all_executions(program) if race.invariant in broken(each)]


@cache
def shrunk(name: str, *, footprints: bool) -> Sequence[Shrunk]:
    """Shrink all executions that show a race, or some of them."""
    race = RACES[name]
    found = failing(name, footprints=footprints)
    some = Random(name).sample(found, min(len(found), MOST_OF_A_RACE))
    program = replace(race.program, footprints=footprints)
    return [shrink(program, trace, race.invariant) for trace in some]


@pytest.mark.parametrize("name", RACES)
def test_the_minimum_is_known(name: str) -> None:
    race = RACES[name]

    least = min(map(simplicity, failing(name, footprints=True)))

    assert least == (race.faults, race.switches)


@pytest.mark.parametrize("footprints", [True, False])
@pytest.mark.parametrize("name", RACES)
def test_every_execution_shrinks_to_the_minimum(name: str, *, footprints: bool) -> None:
    race = RACES[name]

    for each in shrunk(name, footprints=footprints):
        assert race.invariant in broken(each.trace)
        assert each.simplicity == (race.faults, race.switches)


def test_small_races_shrink_in_a_few_executions(
    record_testsuite_property: Callable[[str, object], None],
) -> None:
    executions = [
        each.executions for name in RACES for each in shrunk(name, footprints=True)
    ]

    record_testsuite_property("mean executions of a shrink", mean(executions))
    record_testsuite_property("most executions of a shrink", max(executions))
    assert mean(executions) < 25
    assert max(executions) < 100


@pytest.mark.parametrize("name", ["lost update", "stale lock", "shared temp of three"])
def test_a_race_looks_the_same_whatever_it_was_shrunk_from(name: str) -> None:
    ends = {each.trace.schedule for each in shrunk(name, footprints=True)}

    assert len(ends) == 1


@pytest.mark.parametrize(
    ("program", "invariant", "switches"),
    [
        (lost_update(2, before=14, between=14), "lost", 2),
        (lost_update(3, before=8, between=9), "lost", 3),
        (lost_update(4, before=6, between=6), "lost", 4),
        (index_and_blob(26), "dangling", 2),
    ],
)
def test_sixty_steps_shrink_in_less_than_two_hundred_executions(
    program: Small, invariant: str, switches: int
) -> None:
    scheduler = mixed_scheduler(1)
    found: list[Trace] = []
    # The rarest of these has a window of one step: PCT stops the right one of the two
    # actors at the right one of 60 steps in at least 1 of 120 executions. That none of
    # its 1,500 does has a probability of 4e-6.
    for _ in range(3000):
        seed = scheduler.start_execution()
        assert seed is not None
        trace = program.run(scheduler, seed)
        assert trace is not None
        if invariant in broken(trace):
            found.append(trace)
        if len(found) == 5:
            break

    assert found
    for trace in found:
        each = shrink(program, trace, invariant)
        assert 57 <= len(trace.steps) <= 63
        assert each.simplicity == (0, switches)
        assert each.executions < EXECUTIONS == 200


def test_an_execution_of_very_many_steps_is_looked_through_for_a_while_only() -> None:
    # Each of two reads, and writes long after: there are thousands of candidates of as
    # many turns, and an execution of it is affordable.
    program = renamed(lost_update(2, before=0, between=6000), "a", "b")
    trace = run(program, "a" + "ba" * 6001 + "bab")
    trials = Trials(program.run, trace)
    shrinker = Shrinker(trials, "lost")
    seen = 0
    consider = shrinker.consider

    def counting(turns: Turns) -> bool:
        nonlocal seen
        seen += len(turns)
        return consider(turns)

    shrinker.consider = counting  # type: ignore[method-assign]

    found = shrinker.shrink()

    assert "lost" in broken(found)
    assert trials.executions <= STEPS // len(trace.steps)
    assert 0 < seen <= TURNS
