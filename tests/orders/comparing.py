"""The property that makes a search right, checked on random programs.

All orders of a program are run. The search has to see whatever came of any of them, and
each order of dependent steps exactly once; without sleep sets, at least once.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tests.orders.every import UnsuitedError, every_order, search
from tests.orders.small import make_small

if TYPE_CHECKING:
    from tests.footprint.stage import Stage
    from tests.orders.every import Found

MOST_ORDERS = 2000
_MOST_SHOWN = 3


@dataclass
class Count:
    """What was found out about programs.

    Attributes:
        programs: Programs that were compared.
        left_out: Others that were not, by the reason.
        racy: Programs of which more than one thing came.
        waiting: Programs in which somebody can wait for ever.
        actors: Programs by their number of actors.
        orders: Orders of all of them.
        sorts: Inequivalent ones: orders of dependent steps.
        outcomes: Things that came of them.
        executions: Executions of the search.
        blocked: Those that it gave up besides.
        without: Executions of the search without sleep sets.
        wrong: Programs in which something is wrong, a text each.
    """

    programs: int = 0
    left_out: Counter[str] = field(default_factory=Counter)
    racy: int = 0
    waiting: int = 0
    actors: Counter[int] = field(default_factory=Counter)
    orders: int = 0
    sorts: int = 0
    outcomes: int = 0
    executions: int = 0
    blocked: int = 0
    without: int = 0
    wrong: list[str] = field(default_factory=list)


def compare(
    stage: Stage, seed: int, count: Count, *, most_orders: int = MOST_ORDERS
) -> None:
    """Compare the search with all orders of one random program.

    Args:
        stage: Where it runs.
        seed: Which one.
        count: Where to note what was found.
        most_orders: Orders up to which it is compared.
    """
    small = make_small(random.Random(seed))
    stage.prepare(small.fill(), small.functions())
    try:
        every = every_order(stage, limit=most_orders, is_private=small.is_private)
    except UnsuitedError as error:
        count.left_out[str(error)] += 1
        return
    carry_on = seed % 2 == 0
    found = search(stage, carry_on=carry_on)
    without = search(stage, carry_on=carry_on, sleep_sets=False)
    count.programs += 1
    count.racy += len(every.outcomes) > 1
    count.waiting += any(each.waiting for each in every.sorts.values())
    count.actors[len(small.actors)] += 1
    count.orders += every.executions
    count.sorts += len(every.sorts)
    count.outcomes += len(every.outcomes)
    count.executions += found.executions
    count.blocked += found.blocked
    count.without += without.executions
    wrong = [
        *every.wrong,
        *missed(every, found),
        *(f"without sleep sets: {text}" for text in missed(every, without)),
    ]
    if found.executions > len(every.sorts):
        wrong.append(f"{found.executions} executions for {len(every.sorts)} orders")
    if wrong:
        shown = "\n".join(wrong[:_MOST_SHOWN])
        count.wrong.append(f"seed {seed}, {len(wrong)} wrong:\n{small}\n{shown}")


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
