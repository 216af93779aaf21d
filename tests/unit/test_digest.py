"""Digests depend on all that happened, on nothing else, and are the same everywhere."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from racecheck.model import Buffer, Fault, FaultKind, Footprint, Kind, Resource, Step
from racecheck.storage import shape_digest, steps_digest
from racecheck.storage.canonical import canonical_bytes
from tests.unit.trace_strategies import PLAIN, STEPS

STEP = Step(
    index=0,
    actor="serve-1",
    operation=0,
    call="write",
    kind=Kind.WRITE,
    args={"fd": 3, "data": Buffer(4, "00" * 8, b"head")},
    result=4,
    outputs={"count": 4},
)


def changed(**fields: object) -> Step:
    return msgspec.structs.replace(STEP, **fields)


@pytest.mark.parametrize(
    "other",
    [
        changed(actor="serve-2"),
        changed(call="pwrite64"),
        changed(args={"fd": 4, "data": Buffer(4, "00" * 8, b"head")}),
        changed(args={"fd": 3, "data": Buffer(4, "01" * 8, b"head")}),
        changed(args={"fd": "3", "data": Buffer(4, "00" * 8, b"head")}),
        changed(result=-28),
        changed(outputs={}),
        changed(fault=Fault(FaultKind.CRASH)),
        changed(fault=Fault(FaultKind.SHORT, length=4)),
    ],
)
def test_all_that_happened_counts(other: Step) -> None:
    assert not STEP.same_call(other)
    assert steps_digest([other]) != steps_digest([STEP])


@pytest.mark.parametrize(
    "same",
    [
        changed(footprint=Footprint(reads=(Resource("data", "/head.img"),))),
        changed(args={"data": Buffer(4, "00" * 8, b"head"), "fd": 3}),
    ],
)
def test_footprints_and_the_order_of_names_do_not_count(same: Step) -> None:
    assert STEP.same_call(same)
    assert steps_digest([same]) == steps_digest([STEP])


def test_how_much_is_kept_of_a_buffer_does_not_count() -> None:
    same = changed(args={"fd": 3, "data": Buffer(4, "00" * 8, b"he")})

    assert steps_digest([same]) == steps_digest([STEP])


@settings(max_examples=200, deadline=None)
@given(st.lists(STEPS, max_size=3), st.lists(STEPS, max_size=3))
def test_two_executions_have_one_digest_if_all_their_calls_are_the_same(
    one: list[Step], other: list[Step]
) -> None:
    same = len(one) == len(other) and all(map(Step.same_call, one, other))
    # Buffers with one digest and different heads are not the same to `same_call`.
    buffers = [
        value
        for step in (*one, *other)
        for value in (*step.args.values(), *step.outputs.values())
        if isinstance(value, Buffer)
    ]

    if same or not buffers:
        assert (steps_digest(one) == steps_digest(other)) == same


def test_the_digests_are_the_same_on_every_machine() -> None:
    assert steps_digest([]) == "e4a6a0577479b2b4"
    assert (
        steps_digest([STEP, changed(fault=Fault(FaultKind.CRASH))])
        == "dd3d4f8f3053ebec"
    )
    assert (
        shape_digest(["name", ["serve", 2], {"write": "shared"}]) == "9c62f726d1bafe68"
    )


def test_a_shape_does_not_depend_on_the_order_of_its_names() -> None:
    assert shape_digest({"a": 1, "b": 2}) == shape_digest({"b": 2, "a": 1})
    assert shape_digest({"a": 1, "b": 2}) != shape_digest({"a": 2, "b": 1})


@settings(max_examples=300, deadline=None)
@given(PLAIN)
def test_canonical_bytes_hold_the_value(value: object) -> None:
    assert msgspec.msgpack.decode(canonical_bytes(value)) == value


@pytest.mark.parametrize(
    ("value", "comes_back"),
    [
        ("caf\udce9", "caf\\udce9"),
        (2**64, str(2**64)),
        (-(2**63) - 1, str(-(2**63) - 1)),
        ({2: "b", 1: "a"}, {1: "a", 2: "b"}),
        ({"k": "\udcff", 1: (True, 2**70)}, {"k": "\\udcff", 1: [True, str(2**70)]}),
        ({(1, 2): b"x"}, {(1, 2): b"x"}),
    ],
)
def test_what_msgpack_cannot_hold_is_replaced(
    value: object, comes_back: object
) -> None:
    packed = canonical_bytes(value)

    assert msgspec.msgpack.decode(packed) == comes_back
    assert canonical_bytes(comes_back) == packed


def test_keys_are_in_order_whatever_they_are() -> None:
    odd = {"z": 2**70, "aa": 1, 7: 2, (1, 2): 3}

    assert canonical_bytes(odd) == canonical_bytes(dict(reversed(odd.items())))
    assert list(msgspec.msgpack.decode(canonical_bytes(odd)))[:2] == ["aa", "z"]


def test_what_is_no_plain_data_has_no_canonical_bytes() -> None:
    with pytest.raises(TypeError):
        canonical_bytes(object())
