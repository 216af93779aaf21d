"""Guards the search for an order: it answers as trying every order does."""

from __future__ import annotations

import copy
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from racecheck.errors import NoVerdictError
from racecheck.invariants.models import NEVER, Call, Model, key_of
from racecheck.invariants.ordering import Limit, linear_order, serial_order
from racecheck.model import Invocation
from tests.sequential.histories import (
    MODELS,
    Register,
    history,
    linear_by_force,
    serial_by_force,
)


def limit() -> Limit:
    return Limit(100_000, 60)


def in_program_order(calls: list[Call]) -> list[Call]:
    return sorted(calls, key=lambda call: call.start)


@settings(deadline=None, max_examples=150)
@given(st.integers(0, 2**32), st.sampled_from(sorted(MODELS)))
def test_the_search_agrees_with_brute_force(seed: int, name: str) -> None:
    calls = history(Random(seed), name, most=5)
    model = Model(MODELS[name][0])
    found = linear_order(calls, model, limit())
    assert found.explains == linear_by_force(calls, model)
    calls = in_program_order(calls)
    serial = serial_order(calls, model, limit())
    assert serial.explains == serial_by_force(calls, model)


def test_both_answers_are_common_among_the_histories() -> None:
    # Else the comparison would say little. 100 of each are far from either end.
    answers = [
        linear_order(history(Random(seed), name), Model(MODELS[name][0]), limit())
        for seed in range(100)
        for name in MODELS
    ]
    explained = sum(found.explains for found in answers)
    assert 50 < explained < 270


def write(value: int, start: int, end: int) -> Call:
    return Call(Invocation("write", (value,)), start, end, actor="w")


def read(value: int, start: int, end: int) -> Call:
    return Call(Invocation("read"), start, end, value, actor="r")


@pytest.mark.parametrize(
    ("calls", "explains"),
    [
        ([write(1, 0, 1), read(1, 2, 3)], True),
        ([write(1, 0, 1), read(0, 2, 3)], False),  # It had ended before.
        ([write(1, 0, 3), read(0, 1, 2)], True),
        ([write(1, 0, 9), read(1, 1, 2), read(0, 3, 4)], False),  # New, then old.
        ([write(1, 0, 9), read(0, 1, 2), read(1, 3, 4)], True),
    ],
)
def test_time_counts(calls: list[Call], explains: bool) -> None:  # noqa: FBT001  a column
    assert linear_order(calls, Model(Register), limit()).explains is explains


def test_a_crashed_call_may_have_taken_effect_or_not() -> None:
    crashed = Call(Invocation("write", (1,)), 0, NEVER, is_known=False, actor="w")
    for value in (0, 1):
        found = linear_order([crashed, read(value, 5, 6)], Model(Register), limit())
        assert found.explains
    twice = [crashed, read(1, 5, 6), read(0, 7, 8)]
    assert not linear_order(twice, Model(Register), limit()).explains


def test_too_long_a_search_is_no_answer() -> None:
    calls = [write(value, 0, 99) for value in range(12)] + [read(99, 0, 99)]
    with pytest.raises(NoVerdictError, match="gave up after 50 calls"):
        linear_order(calls, Model(Register), Limit(50, 60))
    with pytest.raises(NoVerdictError, match="gave up after"):
        linear_order(calls, Model(Register), Limit(10**9, 1e-9))


def test_what_is_equal_is_looked_at_once() -> None:
    # 12 writes at a time have 479,001,600 orders, but no more than 12 * 2 ** 12
    # results; each is left by 12 calls at the most.
    calls = [write(value, 0, 99) for value in range(12)] + [read(99, 0, 99)]
    found = linear_order(calls, Model(Register), Limit(13 * 12 * 2**12, 600))
    assert not found.explains
    assert len(found.order) == 12


@settings(deadline=None)
@given(
    st.recursive(
        st.integers(0, 2) | st.text("ab", max_size=1) | st.booleans() | st.none(),
        lambda inner: (
            st.lists(inner, max_size=2)
            | st.dictionaries(st.sampled_from("ab"), inner, max_size=2)
            | st.frozensets(st.integers(0, 2), max_size=2)
        ),
        max_leaves=4,
    ),
    st.data(),
)
def test_states_have_one_key_if_they_are_equal(
    value: object, data: st.DataObject
) -> None:
    assert key_of(copy.deepcopy(value)) == key_of(value)
    other = data.draw(st.integers(0, 2) | st.lists(st.integers(0, 1), max_size=2))
    if key_of(other) == key_of(value):
        assert other == value
