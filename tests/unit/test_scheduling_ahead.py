"""Guards that to tell what comes next changes nothing of what comes next."""

from __future__ import annotations

from itertools import islice

import pytest

from racecheck.scheduling import SCHEDULERS, ExhaustiveScheduler, RandomFaultsScheduler
from racecheck.scheduling.ahead import ahead_of, key_of
from tests.unit.simulation import Execution, execute, program

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
