"""Schedulers take turns, and all of them are found by name and keep the interface."""

from __future__ import annotations

import pytest

from racecheck.scheduling import (
    DEFAULT_SCHEDULER,
    SCHEDULERS,
    AlternatingScheduler,
    PCTScheduler,
    RandomWalkScheduler,
)
from tests.unit.simulation import execute, execute_all, program

RACE = program(a="open write close", b="open write close", c="open read close")


def test_each_execution_is_that_of_the_scheduler_whose_turn_it_is() -> None:
    both = AlternatingScheduler(
        [RandomWalkScheduler(1, executions=5), PCTScheduler(1, executions=5)]
    )

    executions = execute_all(RACE, both)

    assert executions[::2] == execute_all(RACE, RandomWalkScheduler(1, executions=5))
    assert executions[1::2] == execute_all(RACE, PCTScheduler(1, executions=5))


def test_one_that_has_nothing_left_drops_out() -> None:
    both = AlternatingScheduler(
        [RandomWalkScheduler(1, executions=1), PCTScheduler(1, executions=4)]
    )

    executions = execute_all(RACE, both)

    assert len(executions) == 5
    assert executions[1:] == execute_all(RACE, PCTScheduler(1, executions=4))
    assert both.start_execution() is None


def test_taking_turns_needs_a_scheduler() -> None:
    with pytest.raises(ValueError, match="no scheduler"):
        AlternatingScheduler([])


def test_the_default_scheduler_is_one_of_them() -> None:
    assert DEFAULT_SCHEDULER in SCHEDULERS


@pytest.mark.parametrize("name", SCHEDULERS)
def test_every_scheduler_repeats_itself_from_its_seed(name: str) -> None:
    once, again = SCHEDULERS[name](11), SCHEDULERS[name](11)

    for _ in range(20):
        assert execute(RACE, once) == execute(RACE, again)


# The search for every order is no sample, and has no shares.
@pytest.mark.parametrize("name", sorted(SCHEDULERS.keys() - {"dpor", "dpor-awake"}))
def test_every_scheduler_can_do_a_share_of_an_exploration(name: str) -> None:
    # Two executions are equal in seed with a probability of 2**-32; of 20 that is
    # 190 pairs, 5e-8 in all.
    seeds = {
        execution.seed
        for share in range(2)
        for scheduler in [SCHEDULERS[name](11, first=share, stride=2)]
        for _ in range(10)
        if (execution := execute(RACE, scheduler)) is not None
    }

    assert len(seeds) == 20
