"""Guards `served`: no value of a reader goes unchecked."""

from __future__ import annotations

import pytest

from racecheck.invariants import served
from racecheck.model import Ending, Verdict, Violation
from tests.unit.fakes import Play


def merged(value: object) -> str | None:
    """Find only one value right."""
    return None if value == {"rope": "yarn"} else "not the merged one"


def test_values_that_pass_the_check_pass() -> None:
    play = Play(served("reader", merged))
    play.operation("load", value={"rope": "yarn"}, shown="{'rope': 'yarn'}")
    play.finish()
    assert play.judge.verdict() == (Verdict.PASSED, "")


@pytest.mark.parametrize("who", ["reader", "load"])
def test_a_wrong_value_is_told_with_its_operation(who: str) -> None:
    play = Play(served(who, merged, name="yarn"))
    play.step("load")
    play.operation("load", value={}, shown="{}")
    assert play.judge.violations == (
        Violation(
            "yarn",
            "expected every returned value to pass, "
            "but load operation 0 returned {}: not the merged one",
            0,
            "load",
        ),
    )


def test_a_check_that_answers_false_says_refused() -> None:
    play = Play(served("reader", lambda value: value == 1))
    play.operation("load", value=2)
    assert play.messages[0].endswith("load operation 0 returned 2: refused")


def test_every_value_is_checked_and_not_only_the_first() -> None:
    play = Play(served("reader", merged))
    play.operation("load", value={"rope": "yarn"})
    play.operation("load", value={})
    assert len(play.messages) == 1


def test_a_value_that_it_was_not_told_of_is_checked_at_the_end() -> None:
    play = Play(served("reader", merged))
    play.operation("load", told=False, value={})
    play.end()
    assert len(play.messages) == 1


def test_each_value_is_checked_once() -> None:
    values: list[object] = []
    play = Play(served("reader", values.append))
    play.operation("load", value=1)
    play.operation("load", told=False, value=2)
    play.finish()
    assert values == [1, 2]


def test_a_fault_of_the_reader_excuses_no_wrong_value() -> None:
    play = Play(served("reader", merged))
    play.operation("load", value={}, faults=1)
    assert len(play.messages) == 1


@pytest.mark.parametrize("ending", list(Ending))
def test_operations_without_success_are_not_checked(ending: Ending) -> None:
    play = Play(served("reader", merged))
    play.operation("load", ending, succeeded=False, value={})
    assert play.messages == []
    assert play.judge.errors == []


def test_values_of_others_are_not_checked() -> None:
    play = Play(served("reader", merged))
    play.operation("serve-1", value={})
    assert play.messages == []


def test_none_is_a_value_like_any_other() -> None:
    play = Play(served("reader", merged))
    play.operation("load", value=None, shown="None")
    assert len(play.messages) == 1


def test_a_value_that_is_no_plain_data_gives_no_verdict() -> None:
    play = Play(served("reader", lambda _: None))
    play.operation("load", value=None, shown="Image(rows=4)")
    play.finish()
    verdict, reason = play.judge.verdict()
    assert verdict is Verdict.UNKNOWN
    assert (
        "served needs plain data to check, "
        "but load operation 0 returned Image(rows=4)" in reason
    )


def test_a_command_returns_nothing_to_check() -> None:
    play = Play(served("reader", lambda _: None))
    play.operation("load", Ending.EXITED, succeeded=True, status=0)
    play.finish()
    assert play.judge.verdict()[0] is Verdict.UNKNOWN
    assert "served is about returned values" in play.judge.errors[0]


def test_somebody_who_does_not_exist_gives_no_verdict() -> None:
    play = Play(served("readers", merged))
    play.finish()
    assert play.judge.verdict()[0] is Verdict.UNKNOWN
