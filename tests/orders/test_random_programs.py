"""Guards that the search misses nothing in random programs, and does nothing twice.

A few programs with few orders each. `benchmarks/brute_force.py` has more of both.
"""

from __future__ import annotations

import random

import pytest

from racecheck.engine import Machine
from racecheck.engine.sandbox import Sandbox
from racecheck.scheduling import DPORScheduler
from tests.engine.lab import in_child
from tests.footprint.stage import Stage
from tests.orders.comparing import Compared, compare, compare_direct
from tests.orders.direct import Outcome, every_outcome
from tests.orders.small import Small, make_small

pytestmark = [
    pytest.mark.processes,
    pytest.mark.slow,
    # On a machine with much else to do.
    pytest.mark.timeout(1200),
]

_TRACED = 6
_MOST_TRACED = 150
_DIRECT = 40
_MOST_DIRECT = 500


def compared(seeds: range) -> list[Compared]:
    """Compare the search with plain calls; programs with many orders are left out."""

    def outcomes() -> dict[int, list[Outcome]]:
        with Sandbox() as sandbox:
            return {
                seed: every_outcome(sandbox, program(seed), limit=_MOST_DIRECT)
                for seed in seeds
            }

    def body() -> list[Compared]:
        with Machine() as machine:
            stage = Stage(machine)
            return [
                compare_direct(stage, program(seed), seed, found)
                for seed, found in every.items()
            ]

    every = in_child(outcomes)
    return [each for each in in_child(body) if not each.left_out]


def program(seed: int) -> Small:
    """Return the program of a seed, of operations that are one call each."""
    return make_small(random.Random(seed), single=True)


def wrong(programs: list[Compared]) -> list[str]:
    """Say what is wrong with which programs."""
    return [f"seed {each.seed}, {each.wrong}" for each in programs if each.wrong]


def test_the_search_finds_all_that_comes_of_plain_calls() -> None:
    programs = compared(range(_DIRECT))

    assert wrong(programs) == []
    assert all(each.executions == each.sorts for each in programs)
    # A program of which one thing comes says little.
    assert sum(each.outcomes > 1 for each in programs) >= len(programs) / 5


def test_who_waits_for_a_lock_can_come_too_late_again() -> None:
    # One has the lock and two wait for it: either may try just after the other got it.
    (each,) = compared(range(910412, 910413))

    assert wrong([each]) == []
    assert each.executions == each.sorts > 1


def test_the_search_finds_all_that_comes_of_all_orders() -> None:
    def body() -> list[Compared]:
        found: list[Compared] = []
        with Machine() as machine:
            stage = Stage(machine)
            seed = 0
            while len(found) < _TRACED:
                each = compare(stage, seed, most_orders=_MOST_TRACED)
                found += [] if each.left_out else [each]
                seed += 1
        return found

    programs = in_child(body)

    assert wrong(programs) == []
    assert all(each.executions == each.sorts <= each.without for each in programs)


def test_a_search_that_asks_only_for_one_order_of_each_race_is_found_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Without any backtracking there is one execution, and most orders have none.
    monkeypatch.setattr(DPORScheduler, "_races", lambda *_: None)

    assert any("0 executions stand for" in text for text in wrong(compared(range(12))))
