"""Guards that to tell what comes next changes nothing of what comes next."""

from __future__ import annotations

import pickle
from itertools import islice
from typing import TYPE_CHECKING

import msgspec
import pytest

from racecheck.model import Fault, FaultKind, Kind, PlannedFault
from racecheck.scheduling import (
    SCHEDULERS,
    ExhaustiveScheduler,
    PlannedFaultsScheduler,
    RandomFaultsScheduler,
)
from racecheck.scheduling.ahead import ahead_of, key_of, learn, lesson_of
from tests.unit.simulation import Execution, execute, program
from tests.unit.small_programs import Next

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from racecheck.model import Decision, Scheduler, SchedulingPoint, Step
    from racecheck.scheduling.ahead import Lesson

SAMPLING = ("mixed", "pct", "pos", "random")
MADE = program(a="open write close", b="open read close", c="open write close")
BLOCK = range(17, 31)
"""Executions of which each but the first is foretold while the one before it is made.

They are of one block, so that a scheduler learns nothing in between.
"""


def sampling(name: str) -> RandomFaultsScheduler:
    scheduler = SCHEDULERS[name](3)
    assert not isinstance(scheduler, ExhaustiveScheduler)
    return RandomFaultsScheduler(scheduler)


class Started:
    """Makes the one execution that a scheduler has started."""

    def __init__(self, seed: int, scheduler: RandomFaultsScheduler) -> None:
        self._seed: int | None = seed
        self.choose = scheduler.choose
        self.record = scheduler.record
        self.finish_execution = scheduler.finish_execution

    def start_execution(self) -> int | None:
        seed, self._seed = self._seed, None
        return seed


@pytest.mark.parametrize("name", SAMPLING)
def test_what_is_asked_for_what_comes_next_does_the_same_as_what_is_not(
    name: str,
) -> None:
    asked, left = sampling(name), sampling(name)

    for _ in range(40):
        ahead = list(islice(ahead_of(asked), 20))
        # Some of these are made, in any order, and not by who was asked.
        for each in ahead[5:0:-2]:
            assert isinstance(each.scheduler, RandomFaultsScheduler)
            execute(MADE, Started(each.seed, each.scheduler))
        assert execute(MADE, asked) == execute(MADE, left)


@pytest.mark.parametrize("name", SAMPLING)
def test_what_is_foretold_is_what_comes(name: str) -> None:
    scheduler = sampling(name)
    foretold: dict[object, Execution | None] = {}
    seen = 0

    for number in range(BLOCK.stop):
        made = execute(MADE, scheduler)
        if key_of(scheduler) in foretold:
            seen += 1
            assert foretold[key_of(scheduler)] == made
        if number == BLOCK.start:
            for each in islice(ahead_of(scheduler), len(BLOCK) - 1):
                assert isinstance(each.scheduler, RandomFaultsScheduler)
                foretold[each.key] = execute(MADE, Started(each.seed, each.scheduler))

    assert seen == len(BLOCK) - 1


class Teaching:
    """Has a scheduler learn of each execution something that depends on its order."""

    def __init__(self, seed: int, scheduler: Scheduler) -> None:
        self._seed: int | None = seed
        self._scheduler = scheduler
        self._order = ""

    def start_execution(self) -> int | None:
        seed, self._seed = self._seed, None
        return seed

    def choose(
        self, enabled: Sequence[SchedulingPoint], current: str | None
    ) -> Decision | None:
        return self._scheduler.choose(enabled, current)

    def record(self, step: Step) -> None:
        self._order += step.actor
        touched = Next(Kind.WRITE, writes=self._order[-3:]).footprint
        self._scheduler.record(msgspec.structs.replace(step, footprint=touched))

    def finish_execution(self, steps: Sequence[Step]) -> None:
        longer = self._order.index("b")
        self._scheduler.finish_execution(list(steps) * (longer + 1))


def taught(scheduler: RandomFaultsScheduler) -> Execution | None:
    seed = scheduler.start_execution()
    assert seed is not None
    return execute(MADE, Teaching(seed, scheduler))


@pytest.mark.parametrize("name", SAMPLING)
def test_who_learns_of_executions_goes_on_as_who_made_them(name: str) -> None:
    alone, other = sampling(name), sampling(name)
    foretold: dict[Hashable, tuple[Execution | None, Lesson]] = {}
    taken = 0

    for number in range(400):
        expected = taught(alone)
        if number % 5 == 0:
            # More than there are to the end of a block, at times.
            for each in islice(ahead_of(other), 3, 12):
                sent = pickle.loads(pickle.dumps(each.scheduler))  # noqa: S301  ours
                found = execute(MADE, Teaching(each.seed, sent))
                lesson = lesson_of(sent)
                assert lesson is not None
                foretold[each.key] = found, lesson
        seed = other.start_execution()
        assert seed is not None
        if key_of(other) in foretold:
            found, lesson = foretold.pop(key_of(other))
            learn(other, lesson)
            taken += 1
        else:
            found = execute(MADE, Teaching(seed, other))
        assert found == expected, number

    assert taken > 200


def test_a_planned_fault_that_took_effect_elsewhere_has_taken_effect() -> None:
    plan = [
        PlannedFault("a", Fault(FaultKind.CRASH), on=Kind.WRITE),
        PlannedFault("a", Fault(FaultKind.CRASH), on=Kind.RENAME),
    ]
    scheduler = PlannedFaultsScheduler(sampling("random"), plan)
    scheduler.start_execution()
    ahead = next(ahead_of(scheduler))
    execute(MADE, Teaching(ahead.seed, ahead.scheduler))
    lesson = lesson_of(ahead.scheduler)
    assert lesson is not None

    scheduler.start_execution()
    learn(scheduler, lesson)

    assert scheduler.unmet == (plan[1],)
