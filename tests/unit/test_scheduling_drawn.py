"""Choices drawn from outside: 0 is always the simplest, and each number is one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import find, given
from hypothesis import strategies as st

from racecheck.explore.traces import broken
from racecheck.model import Decision, Fault, FaultKind, Kind, SchedulingPoint
from racecheck.scheduling import DrawnScheduler
from tests.unit.simulation import execute, program
from tests.unit.small_races import lost_update

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

RACE = program(a="open write close", b="open write close", c="open read close")
EIO = Fault(FaultKind.ERRNO, errno="EIO")


def at(actor: str, *faults: Fault) -> SchedulingPoint:
    return SchedulingPoint(actor, Kind.WRITE, "write", faults=faults)


def from_list(numbers: Sequence[int]) -> Callable[[int], int]:
    """Draw the numbers as far as they are choices, and then 0."""
    left = list(numbers)
    return lambda choices: min(left.pop(0), choices - 1) if left else 0


def test_zero_means_that_the_current_actor_carries_on() -> None:
    execution = execute(RACE, DrawnScheduler(lambda _: 0))

    assert execution is not None
    assert execution.actors == "aaabbbccc"


def test_other_numbers_are_the_others_in_the_order_of_their_declaration() -> None:
    points = [at("a"), at("b"), at("c")]

    chosen = [
        DrawnScheduler(from_list([number])).choose(points, "b") for number in range(3)
    ]

    assert chosen == [Decision("b"), Decision("a"), Decision("c")]


def test_where_the_current_actor_cannot_go_on_the_first_of_the_others_does() -> None:
    points = [at("a"), at("b")]

    assert DrawnScheduler(lambda _: 0).choose(points, "c") == Decision("a")
    assert DrawnScheduler(lambda _: 0).choose(points, None) == Decision("a")


def test_faults_come_after_all_that_goes_well() -> None:
    points = [at("a", EIO), at("b", EIO)]

    chosen = [
        DrawnScheduler(from_list([number])).choose(points, "b") for number in range(4)
    ]

    assert chosen == [
        Decision("b"),
        Decision("a"),
        Decision("b", EIO),
        Decision("a", EIO),
    ]


def test_nothing_is_drawn_where_there_is_no_choice() -> None:
    drawn: list[int] = []

    def draw(choices: int) -> int:
        drawn.append(choices)
        return 0

    execute(program(a="open write", b="open"), DrawnScheduler(draw))

    assert drawn == [2, 2]


@pytest.mark.parametrize("number", [-1, 2])
def test_a_number_that_is_no_choice_is_refused(number: int) -> None:
    scheduler = DrawnScheduler(lambda _: number)

    with pytest.raises(ValueError, match=f"drew {number} of 2 choices"):
        scheduler.choose([at("a"), at("b")], None)


def test_there_is_always_another_execution() -> None:
    scheduler = DrawnScheduler(lambda _: 0, seed=5)

    assert [scheduler.start_execution() for _ in range(3)] == [5, 5, 5]


@given(st.lists(st.integers(0, 5)))
def test_whatever_is_drawn_is_an_execution(numbers: list[int]) -> None:
    execution = execute(RACE, DrawnScheduler(from_list(numbers)))

    assert execution is not None
    assert sorted(execution.actors) == list("aaabbbccc")


def test_hypothesis_shrinks_to_the_fewest_switches() -> None:
    race = lost_update(2, before=2, between=2)

    def loses(numbers: list[int]) -> bool:
        scheduler = DrawnScheduler(from_list(numbers))
        trace = race.run(scheduler)
        return trace is not None and "lost" in broken(trace)

    numbers = find(st.lists(st.integers(0, 1), max_size=14), loses)

    trace = race.run(DrawnScheduler(from_list(numbers)))
    assert trace is not None
    assert trace.schedule.context_switches() == 2
