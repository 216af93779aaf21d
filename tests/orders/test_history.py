"""Guards the orders of what invariants ask of the history, which is no file.

Who returns first, and what was done in which order, can be all that an invariant goes
by. Orders that differ in nothing else differ then.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from racecheck.api import Options, explore
from racecheck.invariants import invariant, no_live_temp_evicted
from racecheck.model import Coverage, Verdict
from racecheck.scenario import Budget, Me, Scenario

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from racecheck.model import History, Invariant, ScenarioResult, View

    Subject = Callable[..., object]

pytestmark = pytest.mark.processes


@invariant
def in_turn(view: View, history: History) -> object:
    del view
    values = [each.value for each in history.operations]
    return values == sorted(map(str, values)) or f"returned {values}"


@invariant(in_any_order=True)
def in_turn_they_say(view: View, history: History) -> object:
    del view
    values = [each.value for each in history.operations]
    return values == sorted(map(str, values)) or f"returned {values}"


@invariant
def one_ends_first(view: View, history: History) -> object:
    del view
    return [each.actor for each in history.ends][:1] != ["two"] or "two ended first"


@invariant
def both_live_or_none(view: View, history: History) -> object:
    del view
    return history.live("writer") != 1 or "one was left"


@invariant
def not_nested(view: View, history: History) -> object:
    del view
    made = [each.actor for each in history.steps if each.call == "mkdir"]
    return made != ["one", "two", "two", "one"] or "nested"


@invariant
def not_nested_once_all_have_ended(view: View, history: History) -> object:
    return len(history.operations) < 2 or not_nested(view, history)


@invariant
def never_at_the_same_time(view: View, history: History) -> object:
    del view
    if len(history.operations) < 2:
        return None
    one, two = history.operations
    assert one.last is not None
    assert two.first is not None
    return one.last < two.first or "at the same time"


@invariant
def one_file_at_a_time(view: View, history: History) -> object:
    del view
    both = history.open_files("one") and history.open_files("two")
    return not both or "both have a file open"


def answer(box: Path, me: Me) -> str:
    (box / me.name).mkdir()
    return "1" if me.name == "one" else "2"


def make_two(box: Path, me: Me) -> None:
    for number in "12":
        (box / f"{me.name}-{number}").mkdir()


def open_one(box: Path, me: Me) -> None:
    os.close(os.open(box / me.name, os.O_RDONLY | os.O_CREAT))


def found(rule: Invariant, subject: Subject, *, scheduler: str) -> ScenarioResult:
    """Explore two writers that have nothing to do with each other."""
    scenario = Scenario("history", invariants=[rule], expect={rule.name})
    for name in ("one", "two"):
        scenario.writer(subject, name=name)
    options = Options(scheduler=scheduler, budget=Budget(executions=400), shrink=False)
    return explore(scenario, options)


@pytest.mark.parametrize("scheduler", ["dpor", "dpor-awake"])
@pytest.mark.parametrize(
    ("rule", "subject"),
    [
        (in_turn, answer),
        (one_ends_first, answer),
        (both_live_or_none, answer),
        (not_nested, make_two),
        (not_nested_once_all_have_ended, make_two),
        (never_at_the_same_time, answer),
        (one_file_at_a_time, open_one),
    ],
    ids=lambda it: getattr(it, "name", ""),
)
def test_what_only_the_history_shows_is_found(
    rule: Invariant, subject: Subject, scheduler: str
) -> None:
    result = found(rule, subject, scheduler=scheduler)

    assert result.verdict is Verdict.VIOLATED
    assert [finding.invariant for finding in result.findings] == [rule.name]


def test_who_is_to_hold_in_any_order_and_does_not_has_no_verdict() -> None:
    result = found(in_turn_they_say, answer, scheduler="dpor")

    assert result.verdict is Verdict.UNKNOWN
    assert "in_turn_they_say is to hold in any order" in result.reason


def executions(rule: Invariant) -> int:
    """Return how many executions cover two writers that meet in one place."""
    scenario = Scenario("history", invariants=[rule])

    @scenario.writer(count=2)
    def touch(box: Path) -> None:
        (box / "met").touch()

    result = explore(scenario, Options(scheduler="dpor"))
    assert result.verdict is Verdict.PASSED
    assert result.coverage is Coverage.COMPLETE
    return result.executions


@invariant
def goes_by_nothing(view: View, history: History) -> bool:
    return bool(history.programs) and view is not None


@invariant
def goes_by_operations(view: View, history: History) -> bool:
    del view
    return all(each.succeeded for each in history.operations)


@invariant(in_any_order=True)
def goes_by_which_operations(view: View, history: History) -> bool:
    del view
    return all(each.succeeded for each in history.operations)


def test_who_asks_for_no_order_has_none_told_apart() -> None:
    fewest = executions(goes_by_nothing)

    assert executions(goes_by_which_operations) == fewest
    assert executions(goes_by_operations) > fewest


# --- temporary files ------------------------------------------------------------------


def evicting(*, waits: bool) -> ScenarioResult:
    """Explore an evictor that removes a temporary file, of a live writer or not."""
    scenario = Scenario(
        "temps",
        invariants=[no_live_temp_evicted("t.*")],
        expect=set() if waits else {"no_live_temp_evicted"},
    )

    @scenario.writer
    def write(box: Path) -> None:
        (box / "t.1").touch()
        (box / "t.1").stat()

    def evict(box: Path) -> None:
        (box / "t.1").unlink()

    if waits:
        scenario.evictor(evict, after="write")
    else:
        scenario.evictor(evict, raises=FileNotFoundError)
    return explore(scenario, Options(scheduler="dpor", shrink=False))


def test_a_temporary_file_is_in_use_until_its_operation_returns() -> None:
    result = evicting(waits=False)

    assert [each.invariant for each in result.findings] == ["no_live_temp_evicted"]


def test_a_temporary_file_of_an_operation_that_has_returned_may_be_evicted() -> None:
    result = evicting(waits=True)

    assert result.verdict is Verdict.PASSED
    assert result.coverage is Coverage.COMPLETE
