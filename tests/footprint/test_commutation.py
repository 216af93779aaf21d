"""Guards that steps without a conflict can be swapped: the same is seen and left.

A few hundred pairs of neighbouring steps of random programs, on the real kernel. A
longer run is `benchmarks/commutation.py`.
"""

from __future__ import annotations

import pytest

from racecheck.engine import Machine
from tests.engine.lab import in_child
from tests.footprint.commuting import Count, check
from tests.footprint.stage import Stage

pytestmark = [pytest.mark.processes, pytest.mark.slow]

_PAIRS = 300


def test_steps_without_a_conflict_can_be_swapped() -> None:
    def body() -> Count:
        count = Count()
        with Machine() as machine:
            stage = Stage(machine)
            seed = 0
            while count.independent < _PAIRS:
                check(stage, seed, count, dependent=2)
                seed += 1
        return count

    count = in_child(body)

    assert not count.wrong, count.wrong[0]
    # Where steps do conflict, most swaps are seen: the relation is not too coarse.
    assert count.commuting <= count.dependent / 2
