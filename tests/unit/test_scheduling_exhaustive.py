"""Guards what the default scheduler adds to the search: samples, where needed."""

from __future__ import annotations

from itertools import islice, permutations
from typing import TYPE_CHECKING

from racecheck.model import Footprint, Kind, Resource, SchedulingPoint, Step, Write
from racecheck.scheduling import ExhaustiveScheduler
from tests.unit.simulation import Op, execute, execute_all, program

if TYPE_CHECKING:
    from collections.abc import Hashable

MOST = 200
ONE = Footprint((), (Write(Resource("data", "one file")),))


def orders(scheduler: ExhaustiveScheduler, made: dict[str, list[Op]]) -> set[str]:
    """Return who took the steps, in the executions that a scheduler makes."""
    found = set()
    for _ in range(MOST):
        execution = execute(made, scheduler)
        if execution is None:
            break
        found.add(" ".join(each.actor for each in execution.schedule.decisions))
    return found


def test_a_search_without_tasks_ends_and_takes_no_samples() -> None:
    scheduler = ExhaustiveScheduler()

    assert len(execute_all(program(a="open", b="open"), scheduler)) == 1
    assert scheduler.finished
    assert scheduler.sampled == 0


def test_tasks_of_one_actor_come_in_every_order_though_the_search_has_ended() -> None:
    lanes = ("a:1", "a:2", "a:3")
    scheduler = ExhaustiveScheduler()

    found = orders(scheduler, {lane: [Op(Kind.OPEN)] for lane in lanes})

    # Each sample is one of six orders. If they were even only half as likely as that,
    # one of them would be missing with a probability of 6 * (11/12)**199 < 10**-6.
    assert found == {" ".join(order) for order in permutations(lanes)}
    assert scheduler.finished
    assert scheduler.exhaustive == 1
    assert scheduler.sampled == MOST - 1


def test_samples_begin_as_soon_as_two_tasks_of_one_actor_could_go_on() -> None:
    made = {lane: [Op(Kind.OPEN)] * 3 for lane in ("a", "a:1", "b", "c")}
    scheduler = ExhaustiveScheduler()

    assert len(list(islice(iter(lambda: execute(made, scheduler), None), 10))) == 10
    assert scheduler.sampled >= 4


def test_tasks_that_take_turns_by_themselves_need_no_samples() -> None:
    # As a shell does that waits for each program before it starts the next.
    made = {
        "a": [Op(Kind.OPEN, ready=lambda steps: len(steps) == 1)],
        "a:1": [Op(Kind.OPEN, ready=lambda steps: not steps)],
    }
    scheduler = ExhaustiveScheduler()

    assert orders(scheduler, made) == {"a:1 a"}
    assert scheduler.sampled == 0


def carry_out(scheduler: ExhaustiveScheduler) -> None:
    """Make the execution that was started: each of three writes one file eight times.

    These writes have as many orders as nobody waits for.
    """
    left = dict.fromkeys("abc", 8)
    steps: list[Step] = []
    current = None
    while points := [
        SchedulingPoint(actor, Kind.WRITE, "write") for actor in left if left[actor]
    ]:
        decision = scheduler.choose(points, current)
        if decision is None:
            break
        current = decision.actor
        left[current] -= 1
        step = Step(
            len(steps), current, 0, "write", Kind.WRITE, {}, result=1, footprint=ONE
        )
        steps.append(step)
        scheduler.record(step)
    scheduler.finish_execution(steps)


def kinds(first: int, end: int, scheduler: ExhaustiveScheduler) -> str:
    """Return which executions of a long search are samples, as `s`, and which not."""
    found = ""
    while len(found) < end:
        sampled, searched = scheduler.sampled, scheduler.exhaustive
        assert scheduler.start_execution() is not None
        carry_out(scheduler)
        if scheduler.sampled > sampled:
            found += "s"
        elif scheduler.exhaustive > searched:
            found += "."
    return found[first:]


def test_a_search_that_goes_on_is_helped_by_samples_and_not_kept_from_its_end() -> None:
    found = kinds(0, 1300, ExhaustiveScheduler())

    assert found[:100] == "." * 100
    assert found[100:300] == ".s" * 100
    assert found[300:].count("s") == 125
    assert "ss" not in found


def test_a_search_that_turns_out_to_be_endless_leaves_half_to_samples() -> None:
    assert kinds(20_000, 20_100, ExhaustiveScheduler()) == ".s" * 50


def test_samples_are_foretold_for_when_their_turn_comes() -> None:
    scheduler = ExhaustiveScheduler()
    told: list[tuple[object, ...]] = []
    samples: list[Hashable] = []
    while scheduler.exhaustive + scheduler.sampled < 400:
        before = scheduler.sampled
        assert scheduler.start_execution() is not None
        samples.append(scheduler.key if scheduler.sampled > before else None)
        told.append(tuple(each.key for each in islice(scheduler.ahead(), 8)))
        carry_out(scheduler)

    assert len([each for each in samples if each is not None]) > 100
    for turn, key in enumerate(samples):
        if key is not None:
            assert told[turn - 1][0] == key
            if turn >= 308:
                # Its turn is far away, so that orders of the search come first.
                assert key in told[turn - 8][1:]
