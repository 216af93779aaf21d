"""The property that makes a search right, checked on random programs.

All orders of a program are run. The search has to see whatever came of any of them, and
each order of dependent steps exactly once; without sleep sets, at least once. `compare`
runs them as the search does, `compare_direct` is given what came of them elsewhere.
"""

from __future__ import annotations

import errno
import random
from typing import TYPE_CHECKING

import msgspec

from tests.orders.classes import Classes
from tests.orders.every import UnsuitedError, every_order, search
from tests.orders.small import make_small

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from racecheck.model import Step
    from tests.footprint.stage import Stage
    from tests.orders.direct import Outcome
    from tests.orders.every import Found
    from tests.orders.small import Small

MOST_ORDERS = 2000
_MOST_SHOWN = 3
_WITHOUT = 4


class Compared(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What was found out about one program.

    Attributes:
        seed: Which one.
        left_out: Why it was not compared, or empty.
        actors: How many it has.
        orders: How many orders it has.
        sorts: Inequivalent ones: orders of dependent steps.
        outcomes: Different things that come of them.
        waiting: Whether somebody can wait for ever.
        executions: Executions of the search.
        blocked: Those that it gave up besides.
        without: Executions of the search without sleep sets, where it was run.
        with_both: Executions of the search with them there.
        calls: Calls that were made, each as `call kind outcome`.
        wrong: What is wrong, or empty.
    """

    seed: int
    left_out: str = ""
    actors: int = 0
    orders: int = 0
    sorts: int = 0
    outcomes: int = 0
    waiting: bool = False
    executions: int = 0
    blocked: int = 0
    without: int = 0
    with_both: int = 0
    calls: tuple[str, ...] = ()
    wrong: str = ""


def compare(stage: Stage, seed: int, *, most_orders: int = MOST_ORDERS) -> Compared:
    """Compare the search with all orders of one random program.

    Args:
        stage: Where it runs.
        seed: Which one.
        most_orders: Orders up to which it is compared.
    """
    small = make_small(random.Random(seed))
    stage.prepare(small.fill(), small.functions())
    try:
        every = every_order(stage, limit=most_orders, is_private=small.is_private)
    except UnsuitedError as error:
        return Compared(seed=seed, left_out=str(error))
    carry_on = seed % 2 == 0
    found = search(stage, carry_on=carry_on)
    without = search(stage, carry_on=carry_on, sleep_sets=False)
    wrong = [
        *every.wrong,
        *missed(every, found),
        *(f"without sleep sets: {text}" for text in missed(every, without)),
    ]
    if found.executions > len(every.sorts):
        wrong.append(f"{found.executions} executions for {len(every.sorts)} orders")
    shown = "\n".join(wrong[:_MOST_SHOWN])
    return Compared(
        seed=seed,
        actors=len(small.actors),
        orders=every.executions,
        sorts=len(every.sorts),
        outcomes=len(every.outcomes),
        waiting=any(each.waiting for each in every.sorts.values()),
        executions=found.executions,
        blocked=found.blocked,
        without=without.executions,
        with_both=found.executions,
        calls=_calls(step for each in every.sorts.values() for step in each.steps),
        wrong=f"{len(wrong)} wrong:\n{small}\n{shown}" if wrong else "",
    )


def compare_direct(
    stage: Stage, small: Small, seed: int, outcomes: Sequence[Outcome]
) -> Compared:
    """Compare the search with what came of all orders when nobody looked on.

    Each order has to be one of exactly one of the search's executions: one that differs
    from it in the places of independent steps only, and of which the same came.

    Args:
        stage: Where the search runs.
        small: The programs.
        seed: Which they are.
        outcomes: What came of their orders; none if there were too many.
    """
    if not outcomes:
        return Compared(seed=seed, left_out="with too many orders")
    stage.prepare(small.fill(), small.functions())
    carry_on = seed % 2 == 0
    try:
        found = search(stage, carry_on=carry_on)
        without = None
        if seed % _WITHOUT == 0:
            without = search(stage, carry_on=carry_on, sleep_sets=False)
    except UnsuitedError as error:
        return Compared(seed=seed, left_out=str(error))
    wrong = [*found.wrong]
    if found.executions > len(found.sorts):
        wrong.append(f"{found.executions} executions for {len(found.sorts)} orders")
    if without:
        wrong += without.wrong
        if without.sorts.keys() != found.sorts.keys():
            wrong.append("without sleep sets there are others")
    classes = Classes(small, found, stage.root)
    for outcome in outcomes:
        wrong += classes.place(outcome)
    wrong += classes.empty()
    shown = "\n".join(wrong[:_MOST_SHOWN])
    return Compared(
        seed=seed,
        actors=len(small.actors),
        orders=len(outcomes),
        sorts=len(found.sorts),
        outcomes=len({outcome.shown for outcome in outcomes}),
        waiting=any(each.waiting for each in found.sorts.values()),
        executions=found.executions,
        blocked=found.blocked,
        without=without.executions if without else 0,
        with_both=found.executions if without else 0,
        calls=_calls(step for each in found.sorts.values() for step in each.steps),
        wrong=f"{len(wrong)} wrong:\n{small}\n{shown}" if wrong else "",
    )


def missed(every: Found, found: Found) -> list[str]:
    """Say what a search has not seen, or has seen that cannot be."""
    return [
        *found.wrong,
        *(f"missed {each}" for each in every.outcomes.keys() - found.outcomes.keys()),
        *(f"invented {each}" for each in found.outcomes.keys() - every.outcomes.keys()),
        *(
            f"missed an order: {each.order} {[str(step) for step in each.steps]}"
            for sort, each in every.sorts.items()
            if sort not in found.sorts
        ),
        *(
            f"invented an order: {each.order}"
            for sort, each in found.sorts.items()
            if sort not in every.sorts
        ),
    ]


def _calls(steps: Iterable[Step]) -> tuple[str, ...]:
    found = {(step.call, step.kind, min(step.result or 0, 0)) for step in steps}
    return tuple(
        sorted(
            f"{call} {kind} {errno.errorcode.get(-result, result) if result else 'ok'}"
            for call, kind, result in found
        )
    )
