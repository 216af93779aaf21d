"""Which executions a scheduler makes, and the random numbers that each of them gets.

Everything random in an execution derives from the seed of the exploration and the
number of the execution, never from the executions before it. So any one of them can be
made alone, and it does not matter how they are shared out among processes.
"""

from __future__ import annotations

import itertools
from random import Random
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_SEEDS = 1 << 32


def execution_numbers(first: int, stride: int, executions: int | None) -> Iterator[int]:
    """Count from `first` in steps of `stride`, up to but without `executions`.

    Args:
        first: Number of the first execution, from 0.
        stride: Distance to the next one: the number of processes that share the work.
        executions: Size of the whole exploration; None stands for no limit.
    """
    if first < 0 or stride < 1:
        raise ValueError(f"first {first} must be 0 or more, stride {stride} 1 or more")
    if executions is None:
        return itertools.count(first, stride)
    return iter(range(first, executions, stride))


def execution_random(scheduler: str, seed: int, number: int) -> Random:
    """Return the random numbers of one execution.

    Args:
        scheduler: Name of the scheduler, so that two with one seed are not in step.
        seed: Seed of the exploration.
        number: Number of the execution.
    """
    return Random(f"{scheduler} {seed} {number}")


def draw_below(random: Random, bound: int) -> int:
    """Draw a number from 0 to `bound - 1`, each as likely as the others."""
    # Of all the methods of `Random` only `random` is promised to give the same numbers
    # under every version of Python. For bounds as small as these the rounding favours
    # no number by more than one part in 2**20.
    return int(random.random() * bound)


def draw_seed(random: Random) -> int:
    """Draw the seed of an execution's random bytes, small to keep tokens short."""
    return draw_below(random, _SEEDS)
