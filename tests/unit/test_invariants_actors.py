"""Guards whom an invariant takes for whom, and when it begins to judge."""

from __future__ import annotations

import pytest

from racecheck.errors import ScenarioError
from racecheck.invariants.actors import Gate, actors_of
from racecheck.model import Ending, Operation
from tests.unit.fakes import FakeHistory, program

HISTORY = FakeHistory(
    [
        program("serve-1"),
        program("serve-2"),
        program("serve-late"),
        program("serve", "reader"),
        program("load", "reader"),
    ]
)


def done(actor: str, *, succeeded: bool = True) -> Operation:
    return Operation(actor, "writer", 0, Ending.RETURNED, succeeded=succeeded)


@pytest.mark.parametrize(
    ("who", "names"),
    [
        ("load", {"load"}),
        ("serve-1", {"serve-1"}),
        ("serve", {"serve", "serve-1", "serve-2"}),
        ("reader", {"serve", "load"}),
        ("writer", {"serve-1", "serve-2", "serve-late"}),
    ],
)
def test_a_name_stands_for_all_who_go_by_it(who: str, names: set[str]) -> None:
    assert actors_of(HISTORY, who) == names


@pytest.mark.parametrize("who", ["serve-", "1", "ser", "Load", ""])
def test_a_name_that_nobody_has_is_refused(who: str) -> None:
    with pytest.raises(ScenarioError, match="is no actor and no role of this scenario"):
        actors_of(HISTORY, who)


def test_a_gate_without_condition_is_open_and_never_opens() -> None:
    gate = Gate(None)
    gate.shut()
    assert gate.is_open
    assert not gate.opens(HISTORY, done("load"))


def test_a_gate_opens_once_by_an_operation_that_is_not_in_the_history_yet() -> None:
    gate = Gate("load")
    gate.shut()
    assert not gate.is_open
    assert not gate.opens(HISTORY)
    assert not gate.opens(HISTORY, done("serve-1"))
    assert not gate.opens(HISTORY, done("load", succeeded=False))
    assert not gate.is_open
    assert gate.opens(HISTORY, done("load"))
    assert gate.is_open
    assert not gate.opens(HISTORY, done("load"))
