"""Which calls of two actors depend on each other, in short executions and in long."""

from __future__ import annotations

import itertools
import random

import msgspec

from racecheck.explore.traces import actors_depend, conflicting_calls
from racecheck.footprint import conflicts
from racecheck.model import Footprint, Kind, Resource, Step, Write
from tests.unit.traces import FIRST, SECOND, step

ACTORS = (FIRST, SECOND)


def stepped(index: int, actor: str, call: str, footprint: Footprint) -> Step:
    made = step(index, actor, call, Kind.OTHER)
    return msgspec.structs.replace(made, footprint=footprint)


def piece(start: int, end: int) -> Resource:
    return Resource("data", "f", start=start, end=end)


def test_they_are_those_of_all_pairs_that_conflict() -> None:
    generator = random.Random(5)
    ranges = [piece(a, a + n) for a in (0, 3, 5, 6) for n in (0, 1, 4)]
    names = [Resource("entry", "d", name) for name in "xyz"]
    several = 0
    for _ in range(3000):
        steps = []
        for index in range(4):
            some = generator.sample([*ranges, *names], 2)
            half = generator.randint(0, 2)
            labels = generator.choices("-mmn", k=2)
            footprint = Footprint(
                tuple(some[:half]), tuple(map(Write, some[half:], labels))
            )
            actor = generator.choice(ACTORS)
            steps.append(stepped(index, actor, f"call{index}", footprint))
        expected = {
            f"{one.call}/{other.call}"
            for one, other in itertools.combinations(steps, 2)
            if one.actor != other.actor and conflicts(one.footprint, other.footprint)
        }

        assert set(conflicting_calls(steps)) == expected
        assert actors_depend(steps) == bool(expected)
        several += len(expected) > 1
    assert 500 < several < 2500


def test_ends_depend_on_nothing() -> None:
    both = [
        stepped(index, actor, "exit", Footprint((), (Write(piece(0, 4)),)))
        for index, actor in enumerate(ACTORS)
    ]
    ends = [msgspec.structs.replace(each, kind=Kind.EXIT) for each in both]

    assert actors_depend(both)
    assert not actors_depend(ends)


def test_a_hundred_thousand_steps_can_be_looked_through() -> None:
    # To compare each with each would take an hour.
    steps = [
        stepped(index, ACTORS[index % 2], call, Footprint(reads, writes))
        for index in range(0, 100_000, 2)
        for call, reads, writes in (
            ("write", (), (Write(piece(index, index + 2)), Write(piece(0, 1), "m"))),
            ("read", (piece(0, index + 1),), ()),
        )
    ]
    for index, each in enumerate(steps):
        steps[index] = msgspec.structs.replace(each, actor=ACTORS[index % 2])

    assert set(conflicting_calls(steps)) == {"read/write"}
