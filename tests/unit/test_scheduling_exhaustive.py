"""Guards what the default scheduler adds to the search: samples, where needed."""

from __future__ import annotations

from itertools import islice, permutations

from racecheck.model import Kind
from racecheck.scheduling import ExhaustiveScheduler
from tests.unit.simulation import Op, execute, execute_all, program

MOST = 200


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
