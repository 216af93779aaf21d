"""Guards that the search finds each order once, on programs that are made up.

Hundreds of them, in a few seconds; `benchmarks/models.py` tries as many as wanted. That
the same programs find out a search that is wrong is tried as well.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from racecheck.scheduling import DPORScheduler
from tests.orders.models import (
    TooManyError,
    every_order,
    make_model,
    searched,
    wrong_with,
)

if TYPE_CHECKING:
    import pytest

_PROGRAMS = 400
_MOST_ORDERS = 300
_FIRST = 0


def wrong() -> dict[int, str]:
    """Return what is wrong with the search of each program, by its seed."""
    found = {}
    for seed in range(_FIRST, _FIRST + _PROGRAMS):
        model = make_model(random.Random(seed))
        try:
            every = every_order(model, most=_MOST_ORDERS)
        except TooManyError:
            continue
        scheduler = DPORScheduler()
        if text := wrong_with(
            every, searched(model, scheduler, carry_on=seed % 2 == 0)
        ):
            found[seed] = text
    return found


def test_the_search_finds_each_order_once() -> None:
    assert wrong() == {}


def test_without_races_of_sleeping_calls_it_does_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(DPORScheduler, "_virtual_races", lambda *_: None)

    assert wrong() != {}


def test_without_sleep_sets_it_finds_each_at_least_once() -> None:
    for seed in range(_FIRST, _FIRST + _PROGRAMS // 4):
        model = make_model(random.Random(seed))
        try:
            every = every_order(model, most=_MOST_ORDERS)
        except TooManyError:
            continue
        found = searched(model, DPORScheduler(sleep_sets=False), carry_on=True)

        assert every.keys() == {order for order, _ in found}, seed
