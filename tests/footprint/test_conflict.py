"""Guards the relation itself, on footprints made by hand."""

from __future__ import annotations

import random

import pytest

from racecheck.footprint import conflicts, dependence, merge
from racecheck.footprint.draft import Draft
from racecheck.model import EMPTY, Footprint, Resource, Write

_X = Resource("entry", "d", "x")
_Y = Resource("entry", "d", "y")
_M = Resource("membership", "d")


def data(start: int, end: int, what: str = "f") -> Resource:
    return Resource("data", what, start=start, end=end)


def reads(*resources: Resource) -> Footprint:
    return Footprint(reads=resources)


def writes(*resources: Resource, label: str = "-") -> Footprint:
    return Footprint(writes=tuple(Write(each, label) for each in resources))


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        (EMPTY, EMPTY, ()),
        (reads(_X), reads(_X), ()),
        (reads(_X), writes(_X), (_X,)),
        (reads(_Y), writes(_X), ()),
        (writes(_X), writes(_X), (_X,)),
        (writes(_M, label="m"), writes(_M, label="m"), ()),
        (writes(_M, label="m"), writes(_M, label="n"), (_M,)),
        (writes(_M, label="m"), writes(_M), (_M,)),
        (writes(_M, label="m"), reads(_M), (_M,)),
        (writes(data(0, 4)), writes(data(4, 8)), ()),
        (writes(data(0, 4)), writes(data(3, 8)), (data(3, 4),)),
        (writes(data(0, 4)), reads(data(2, 3)), (data(2, 3),)),
        (writes(data(0, 4)), reads(data(0, 4, "g")), ()),
        (writes(data(0, 4), label="t0"), writes(data(0, 9), label="t0"), ()),
        (writes(data(0, 4), label="t0"), writes(data(1, 2)), (data(1, 2),)),
        (writes(_X, _Y), reads(_Y, _X), (_X, _Y)),
    ],
)
def test_steps_conflict_if_one_changed_what_the_other_read_or_changed(
    one: Footprint, other: Footprint, expected: tuple[Resource, ...]
) -> None:
    assert dependence(one, other) == dependence(other, one) == expected
    assert conflicts(one, other) == conflicts(other, one) == bool(expected)


def test_a_lock_on_a_range_and_one_on_the_whole_file_are_two_things() -> None:
    whole = Resource("lock", "f")
    part = Resource("lock", "f", start=0, end=9)

    assert not conflicts(writes(whole), writes(part))
    assert conflicts(writes(whole), reads(whole))
    assert not conflicts(writes(part), reads(data(0, 9)))


def test_the_quick_answer_is_the_same_as_the_long_one() -> None:
    generator = random.Random(7)
    resources = [_X, _Y, _M, *(data(a, a + n) for a in (0, 2, 5) for n in (1, 4))]

    def any_footprint() -> Footprint:
        some = generator.sample(resources, 2)
        half = generator.randint(0, 2)
        labels = generator.choices("-mm", k=2)
        return Footprint(tuple(some[:half]), tuple(map(Write, some[half:], labels)))

    found = 0
    for _ in range(3000):
        one, other = any_footprint(), any_footprint()
        assert conflicts(one, other) == bool(dependence(one, other))
        found += conflicts(one, other)
    assert 500 < found < 2500


def test_a_read_that_an_exclusive_change_covers_is_left_out() -> None:
    draft = Draft()
    draft.read("entry", "d", name="x")
    draft.read("membership", "d")
    draft.write("entry", "d", name="x")
    draft.write("membership", "d", "m")

    assert draft.build() == Footprint((_M,), (Write(_X), Write(_M, "m")))


def test_two_changes_of_one_thing_commute_only_if_they_are_the_same() -> None:
    draft = Draft()
    draft.write("links", "x", "l")
    draft.write("links", "x", "l")
    draft.write("membership", "d", "m")
    draft.write("membership", "d", "n")

    assert draft.build().writes == (Write(Resource("links", "x"), "l"), Write(_M))


def test_several_things_done_as_one_step_have_one_footprint() -> None:
    both = merge(reads(_X, _Y), writes(_M, label="m"), writes(_X), EMPTY)

    assert both == Footprint((_Y,), (Write(_M, "m"), Write(_X)))
    assert merge() is EMPTY
