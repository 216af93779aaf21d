"""POS spreads its samples over orders that differ, whatever comes in between."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import msgspec
import pytest

from racecheck.model import Kind, SchedulingPoint, Step
from racecheck.scheduling import (
    POSScheduler,
    RandomFaultsScheduler,
    RandomWalkScheduler,
    mixed_scheduler,
)
from tests.unit.simulation import execute_all, program
from tests.unit.small_programs import Next, Small, Steps, World

if TYPE_CHECKING:
    from collections.abc import Callable

    from racecheck.model import Scheduler, Trace

# Contents on one side, names that nobody changes on the other.
APART = program(a="write", b=" ".join(["readlink"] * 9))


def positions(scheduler: Scheduler) -> Counter[int]:
    """Count after how many steps of B the one of A came."""
    return Counter(each.actors.index("a") for each in execute_all(APART, scheduler))


def test_a_step_that_races_with_nothing_is_as_likely_last_as_any_other() -> None:
    # A's step keeps its priority p, and comes when it is the higher of two: after
    # exactly j of B's nine steps with the integral of (1 - p)**j p over p, which is
    # 1 / ((j + 1) (j + 2)), and after all nine with that of (1 - p)**9, 1/10. Of 3000
    # executions 1500, 500, 250 and 300 have 0, 1, 2 and 9. The deviations are at most
    # 27.4, 20.4, 15.1 and 16.4. That one of the four is off by 6 of its own has a
    # probability of 8e-9 (normal approximation).
    found = positions(POSScheduler(1, executions=3000))

    assert abs(found[0] - 1500) < 164
    assert abs(found[1] - 500) < 122
    assert abs(found[2] - 250) < 90
    assert abs(found[9] - 300) < 98


def test_a_random_walk_hardly_ever_leaves_it_to_the_end() -> None:
    # It chooses B nine times in a row with 1/512, in 5.9 of 3000 executions; more than
    # 25 have a probability of 3e-9 (Poisson).
    assert positions(RandomWalkScheduler(1, executions=3000))[9] <= 25


def test_steps_that_race_are_in_any_order_as_likely_as_under_a_random_walk() -> None:
    # After each of B's three writes A's gets a new priority, so that it is the lower
    # one three times with 1/8, and not with 1/4 as if it kept its own. Of 2000 that is
    # 250, deviation 14.8, limit 6 deviations: 2e-9.
    racing = program(a="write", b="write write write")
    pos = POSScheduler(1, executions=2000)

    last = sum(each.actors == "bbba" for each in execute_all(racing, pos))

    assert abs(last - 250) < 89


def writing(*names: str) -> Callable[[World], Steps]:
    """Return an actor that writes files, one after the other."""

    def actor(world: World) -> Steps:
        del world
        for name in names:
            yield Next(Kind.WRITE, writes=name)

    return actor


def orders(program: Small, executions: int) -> list[str]:
    scheduler = POSScheduler(1, executions=executions)
    found: list[str] = []
    while (seed := scheduler.start_execution()) is not None:
        trace = program.run(scheduler, seed)
        assert trace is not None
        found.append(order(trace))
    return found


def order(trace: Trace) -> str:
    return "".join(each.actor for each in trace.schedule.decisions)


def test_footprints_tell_apart_what_kinds_do_not() -> None:
    # Writes of other files: as kinds they race, by what the first execution has shown
    # they do not. So A's comes last in 1/10 and not in 1/512 of the others: in 200 of
    # 2000, deviation 13.4, limit 6 deviations: 2e-9.
    mine = [f"mine-{n}" for n in range(9)]
    apart = Small({"a": writing("yours"), "b": writing(*mine)})

    last = orders(apart, 2001)[1:].count("b" * 9 + "a")

    assert abs(last - 200) < 81


def test_footprints_say_that_steps_race() -> None:
    # The one file is written by all: 2000 / 512 = 3.9 come last, and more than 22 have
    # a probability of 3e-11 (Poisson).
    same = Small({"a": writing("f"), "b": writing(*["f"] * 9)})

    assert orders(same, 2001)[1:].count("b" * 9 + "a") <= 22


def at(actor: str, kind: Kind) -> SchedulingPoint:
    return SchedulingPoint(actor, kind, kind)


def taken(actor: str, kind: Kind, writes: str = "", result: int = 0) -> Step:
    return Step(
        index=0,
        actor=actor,
        operation=0,
        call=kind,
        kind=kind,
        args={},
        result=result,
        footprint=Next(kind, writes=writes).footprint,
    )


@pytest.mark.parametrize(
    ("taken_kind", "pending", "races"),
    [
        (Kind.WRITE, Kind.READ, True),
        (Kind.READ, Kind.WRITE, True),
        (Kind.READ, Kind.READ, False),
        (Kind.RENAME, Kind.STAT, True),
        (Kind.STAT, Kind.UNLINK, True),
        (Kind.LISTING, Kind.STAT, False),
        (Kind.CHMOD, Kind.OPEN, True),
        (Kind.CHMOD, Kind.READ, False),
        (Kind.CLOSE, Kind.FLOCK, True),
        (Kind.RETURN, Kind.WRITE, False),
    ],
)
def test_without_footprints_kinds_decide(
    taken_kind: Kind,
    pending: Kind,
    races: bool,  # noqa: FBT001  a column of the table
) -> None:
    pos = POSScheduler(1)
    pos.start_execution()
    pos.choose([at("a", taken_kind), at("b", pending)], None)

    pos.record(taken("a", taken_kind))

    assert ("b" not in pos._priorities) == races


def test_a_step_that_failed_has_changed_nothing() -> None:
    pos = POSScheduler(1)
    pos.start_execution()
    pos.choose([at("a", Kind.RENAME), at("b", Kind.STAT)], None)

    pos.record(taken("a", Kind.RENAME, result=-2))

    assert "b" in pos._priorities


def test_a_step_is_taken_to_touch_what_it_touched_when_it_was_last_taken() -> None:
    pos = POSScheduler(1)
    kept = []
    for touched in ("other", "same", "other"):
        pos.start_execution()
        pos.choose([at("a", Kind.WRITE), at("b", Kind.WRITE)], None)
        pos.record(taken("a", Kind.WRITE, writes="same"))
        kept.append("b" in pos._priorities)
        pos.record(taken("b", Kind.WRITE, writes=touched))
        pos.finish_execution([])

    # Nothing is known at first. Then it is "other", and then "same".
    assert kept == [False, True, False]


def test_a_new_step_of_an_actor_has_a_new_priority() -> None:
    pos = POSScheduler(1)
    pos.start_execution()
    pos.choose([at("a", Kind.READ)], None)
    before = pos._priorities["a"]
    pos.record(taken("a", Kind.READ))
    pos.choose([at("a", Kind.READ)], "a")

    # Equal with 2**-53.
    assert pos._priorities["a"] != before


def test_tasks_of_an_actor_have_steps_of_their_own() -> None:
    pos = POSScheduler(1)
    pos.start_execution()
    pos.choose([at("a", Kind.READ), at("a:1", Kind.READ)], None)

    pos.record(msgspec.structs.replace(taken("a", Kind.READ), task=1))

    assert pos._priorities.keys() == {"a"}


def test_the_same_seed_makes_the_same_executions() -> None:
    once = execute_all(APART, POSScheduler(7, executions=20))

    assert once == execute_all(APART, POSScheduler(7, executions=20))
    assert once != execute_all(APART, POSScheduler(8, executions=20))


def test_without_footprints_the_executions_can_be_shared_out() -> None:
    whole = execute_all(APART, POSScheduler(7, executions=20))

    shares = [
        execute_all(APART, POSScheduler(7, executions=20, first=n, stride=2))
        for n in range(2)
    ]

    assert [shares[k % 2][k // 2] for k in range(20)] == whole


def test_it_asks_for_footprints_and_so_does_who_gives_it_a_turn() -> None:
    assert POSScheduler(1).needs_footprints
    mixed = mixed_scheduler(1)
    faulty = RandomFaultsScheduler(mixed)
    asked = []
    for _ in range(4):
        faulty.start_execution()
        asked.append(faulty.needs_footprints)

    # PCT does not.
    assert asked == [False, True, False, True]
