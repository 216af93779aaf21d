"""Guards pairs of steps that are easily taken for independent, and some that are.

Each pair is run on the real kernel in both orders; the footprints have to conflict in
both, or in neither. docs/conflicts.md says why each of them matters.
"""

from __future__ import annotations

import fcntl
import os
from typing import TYPE_CHECKING

import pytest

from racecheck.engine import Machine
from racecheck.footprint import conflicts, dependence
from tests.engine.calls import usual
from tests.engine.lab import in_child
from tests.footprint.pairs import DEPENDENT, INDEPENDENT, Pair, quiet
from tests.footprint.rows import RW, fill, in_turn
from tests.footprint.stage import Played, Stage

if TYPE_CHECKING:
    from collections.abc import Callable

    from racecheck.model import Step

pytestmark = pytest.mark.processes


def both_orders(pair: Pair) -> list[Played]:
    """Run both up to the calls that count, then these one way and the other."""

    def body() -> list[Played]:
        with Machine() as machine:
            stage = Stage(machine)
            stage.prepare(
                lambda: in_turn(fill, pair.prepare),
                {"A": lambda: quiet(pair.first), "B": lambda: quiet(pair.second)},
            )
            ours = place(stage.play(), "A", pair.call)
            theirs = place(stage.play(["B"] * 100), "B", pair.other)
            start = ["B"] * theirs + ["A"] * ours
            return [stage.play([*start, *order]) for order in ("AB", "BA")]

    return in_child(body)


def place(played: Played, actor: str, call: str) -> int:
    """Return which step of an actor is its last call of a name."""
    return max(
        place
        for place, step in enumerate(played.of(actor))
        if usual(step.call) == usual(call)
    )


def meant(pair: Pair, played: Played) -> tuple[Step, Step]:
    """Return the two steps that count."""
    ours = played.of("A")[place(played, "A", pair.call)]
    theirs = played.of("B")[place(played, "B", pair.other)]
    return ours, theirs


def id_of(pair: Pair) -> str:
    return pair.name.replace(" ", "-")


@pytest.mark.parametrize("pair", DEPENDENT, ids=id_of)
def test_these_steps_conflict_in_either_order(pair: Pair) -> None:
    found = set()
    for played in both_orders(pair):
        one, other = meant(pair, played)

        assert conflicts(one.footprint, other.footprint)
        shared = dependence(one.footprint, other.footprint)
        found |= {resource.kind for resource in shared}
    assert found == set(pair.kinds.split())


@pytest.mark.parametrize("pair", INDEPENDENT, ids=id_of)
def test_these_steps_can_be_taken_in_either_order(pair: Pair) -> None:
    first, second = both_orders(pair)
    assert not conflicts(*(step.footprint for step in meant(pair, first)))
    for one, other in zip(meant(pair, first), meant(pair, second), strict=True):
        assert one.footprint == other.footprint
        assert (one.result, one.outputs) == (other.result, other.outputs)
    assert first.tree == second.tree


def alone(act: Callable[[], object]) -> Played:
    """Run one actor."""

    def body() -> Played:
        with Machine() as machine:
            stage = Stage(machine)
            stage.prepare(fill, {"A": act})
            return stage.play()

    return in_child(body)


def test_a_rename_to_another_name_of_the_same_file_changes_nothing() -> None:
    played = alone(
        lambda: in_turn(lambda: os.link("x", "q"), lambda: os.rename("x", "q"))
    )

    assert played.of("A")[-1].footprint.writes == ()


def test_the_position_of_an_open_file_is_shared_after_a_fork() -> None:
    def act() -> None:
        number = os.open("x", RW)
        child = os.fork()
        os.read(number, 2)
        if child == 0:
            os._exit(0)
        os.waitpid(child, 0)

    one, other = (s for s in alone(act).steps if s.call == "read")

    assert conflicts(one.footprint, other.footprint)
    assert "offset" in {r.kind for r in dependence(one.footprint, other.footprint)}


def test_each_close_of_a_shared_open_file_looks_whether_it_is_the_last() -> None:
    def act() -> None:
        number = os.open("x", RW)
        fcntl.flock(number, fcntl.LOCK_EX)
        child = os.fork()
        os.close(number)
        if child == 0:
            os._exit(0)
        os.waitpid(child, 0)

    one, other = (s for s in alone(act).steps if s.call == "close")

    assert {r.kind for r in dependence(one.footprint, other.footprint)} == {
        "lock",
        "references",
    }


def test_names_are_the_same_in_every_execution_though_inodes_are_not() -> None:
    def first() -> None:
        os.close(os.open("q", RW | os.O_CREAT | os.O_EXCL))
        os.unlink("q")
        os.mkdir("q")

    def body() -> list[list[Step]]:
        with Machine() as machine:
            stage = Stage(machine)
            stage.prepare(fill, {"A": first, "B": lambda: os.stat("d")})
            return [list(stage.play().steps) for _ in range(2)]

    one, other = in_child(body)

    assert one == other
    assert any("A#0" in {r.object for r in s.footprint.index.touched} for s in one)
