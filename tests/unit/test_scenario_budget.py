"""Guards how budgets are read, and which one applies."""

from __future__ import annotations

from typing import Any, cast

import pytest

from racecheck.errors import UsageError
from racecheck.explore.options import DEFAULT_BUDGET, Options
from racecheck.scenario import Budget, Scenario


@pytest.mark.parametrize(
    ("value", "budget", "text"),
    [
        (5000, Budget(executions=5000), "5000 executions"),
        ("5000", Budget(executions=5000), "5000 executions"),
        ("30s", Budget(seconds=30), "30 s"),
        ("1.5m", Budget(seconds=90), "90 s"),
        ("1h", Budget(seconds=3600), "3600 s"),
        (" 500ms ", Budget(seconds=0.5), "0.5 s"),
        (
            Budget(seconds=2, executions=7),
            Budget(seconds=2, executions=7),
            "7 executions or 2 s",
        ),
        (f"000{2**63 - 1}", Budget(executions=2**63 - 1), f"{2**63 - 1} executions"),
    ],
)
def test_a_budget_is_read_as_people_write_it(
    value: Budget | int | str, budget: Budget, text: str
) -> None:
    assert Budget.from_value(value) == budget
    assert str(budget) == text


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("soon", "not 'soon'"),
        ("", "not ''"),
        ("-3", "not '-3'"),
        ("30 parsecs", "not '30 parsecs'"),
        (True, "not True"),
        (0, "a budget of 0 executions allows nothing"),
        ("0s", "a budget of 0.0 seconds allows nothing"),
        ("1.5", "a budget of '1.5' needs a unit, such as '1.5s'"),
        ("9" * 400 + "s", "seconds allows nothing"),
        (2**63, "a budget is at most 9223372036854775807 executions"),
        (str(2**63), "a budget is at most 9223372036854775807 executions"),
        ("9" * 5000, "a budget is at most 9223372036854775807 executions"),
        pytest.param(
            10**5000, "a budget is at most 9223372036854775807 executions", id="huge"
        ),
    ],
)
def test_a_budget_that_makes_no_sense_is_refused(value: object, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        Budget.from_value(cast("Any", value))

    assert message in str(caught.value)


def test_a_budget_without_a_limit_is_refused() -> None:
    with pytest.raises(UsageError, match="has neither"):
        Budget()


def test_a_budget_is_spent_at_the_limit_that_is_reached_first() -> None:
    both = Budget(seconds=2, executions=7)

    assert not both.is_spent(6, 1.9)
    assert both.is_spent(7, 0.0)
    assert both.is_spent(0, 2.0)
    assert not Budget(executions=7).is_spent(6, 100.0)


def test_quick_is_a_tenth_and_never_nothing() -> None:
    assert Budget(seconds=30).quick() == Budget(seconds=3)
    assert Budget(executions=5).quick() == Budget(executions=1)


def test_options_come_before_the_scenario_and_that_before_the_default() -> None:
    plain, own = Scenario("plain"), Scenario("own", budget="7s")

    assert Options().budget_of(plain) == DEFAULT_BUDGET
    assert Options().budget_of(own) == Budget(seconds=7)
    assert Options(budget=Budget(executions=3)).budget_of(own) == Budget(executions=3)
    assert Options(quick=True).budget_of(own) == Budget(seconds=0.7)


def test_what_shall_fail_has_all_its_budget_for_a_quick_look_too() -> None:
    failing = Scenario("failing", budget="7s", expect="progress")

    assert Options(quick=True).budget_of(failing) == Budget(seconds=7)
