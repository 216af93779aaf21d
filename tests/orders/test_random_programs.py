"""Guards that the search misses nothing in random programs, and does nothing twice.

A dozen programs with few orders each. `benchmarks/brute_force.py` has more of both.
"""

from __future__ import annotations

import pytest

from racecheck.engine import Machine
from tests.engine.lab import in_child
from tests.footprint.stage import Stage
from tests.orders.comparing import Count, compare

pytestmark = [
    pytest.mark.processes,
    pytest.mark.slow,
    # On a machine with much else to do.
    pytest.mark.timeout(1200),
]

_PROGRAMS = 12
_MOST_ORDERS = 150


def test_the_search_finds_all_that_comes_of_all_orders() -> None:
    def body() -> Count:
        count = Count()
        with Machine() as machine:
            stage = Stage(machine)
            seed = 0
            while count.programs < _PROGRAMS:
                compare(stage, seed, count, most_orders=_MOST_ORDERS)
                seed += 1
        return count

    count = in_child(body)

    assert not count.wrong, count.wrong[0]
    assert count.executions == count.sorts <= count.without
    # A program of which one thing comes says little.
    assert count.racy >= _PROGRAMS / 4
