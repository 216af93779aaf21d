"""Guards that the search finds each order once, on programs that are made up.

Hundreds of them, in a few seconds; `benchmarks/models.py` tries as many as wanted. That
the same programs find out a search that is wrong is tried as well.
"""

from __future__ import annotations

import pickle
import random
from typing import TYPE_CHECKING

from racecheck.scheduling import DPORScheduler
from tests.orders.models import (
    TooManyError,
    every_order,
    make_model,
    run_once,
    searched,
    wrong_with,
)

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator

    import pytest

    from tests.orders.models import Model

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


def test_a_part_that_is_made_by_itself_is_what_the_search_comes_to() -> None:
    right = wrong = 0
    for seed in range(_FIRST, _FIRST + _PROGRAMS // 4):
        model = make_model(random.Random(seed))
        search = DPORScheduler()
        told: dict[Hashable, list[Taken]] = {}
        begun: list[tuple[int, list[Taken]]] = []
        every: list[Taken] = []
        while search.start_execution() is not None:
            if search.key in told:
                begun.append((len(every), told.pop(search.key)))
            for ahead in search.ahead():
                assert ahead.is_series
                assert isinstance(ahead.scheduler, DPORScheduler)
                # Another process gets it in this way.
                part = pickle.loads(pickle.dumps(ahead.scheduler))  # noqa: S301  our own
                told[ahead.key] = [taken(model, part), *rest(model, part)]
            every.append(taken(model, search))
        for start, part in begun:
            if every[start : start + len(part)] == part:
                right += 1
            else:
                wrong += 1

    assert right > 50
    assert not wrong


Taken = tuple[tuple[str, int], ...]


def taken(model: Model, scheduler: DPORScheduler) -> Taken:
    """Return the steps of an execution that a search has started."""
    return tuple(event for event, *_ in run_once(model, scheduler, carry_on=True).taken)


def rest(model: Model, scheduler: DPORScheduler) -> Iterator[Taken]:
    """Yield the steps of the other executions of a search."""
    while scheduler.start_execution() is not None:
        yield taken(model, scheduler)
