"""Properties run to their end, and what they are falsified by."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import pytest
from hypothesis import Phase, settings

import racecheck

if TYPE_CHECKING:
    from collections.abc import Callable

    from racecheck.model import Trace


def quick(max_examples: int = 20) -> settings:
    """Return settings with which a property gives the same in each run."""
    return settings(
        deadline=None,
        database=None,
        derandomize=True,
        max_examples=max_examples,
        report_multiple_bugs=False,
        phases=(Phase.generate, Phase.shrink),
    )


def falsified(test: Callable[[], object]) -> racecheck.RaceFoundError:
    """Return the smallest example that a property does not hold for."""
    with pytest.raises(racecheck.RaceFoundError) as caught:
        test()
    return caught.value


def switches_until(trace: Trace, invariant: str) -> int:
    """Return how often another actor went on until an invariant was broken.

    What comes after that is how the others end.
    """
    (step,) = (each.step for each in trace.violations if each.invariant == invariant)
    lanes = [each.actor for each in trace.steps[: None if step is None else step + 1]]
    return sum(one != other for one, other in itertools.pairwise(lanes))


def operations(trace: Trace) -> list[str]:
    """Return who made an operation, once for each."""
    return sorted(each.actor for each in trace.operations)
