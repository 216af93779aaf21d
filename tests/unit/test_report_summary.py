"""Guards the lines that tell what an exploration says of a scenario."""

from __future__ import annotations

from typing import Any, cast

import pytest

from racecheck.model import Coverage, Verdict
from racecheck.report import finding_line, summary, totals
from racecheck.report.markdown import summarize_run
from tests.unit.traces import finding, result

BROKEN: dict[str, object] = {
    "verdict": Verdict.VIOLATED,
    "findings": (finding(),),
    "executions": 1,
}
LOST: dict[str, object] = {"expected": ("no_lost_writes",)}

SEEN = "(sampled, 1000 executions, 2.5 s)"
ONCE = "(sampled, 1 execution, 2.5 s)"
COMPLETE = "(complete, 1000 executions, 2.5 s)"
CUT = "(cut, 1000 executions, 2.5 s)"


@pytest.mark.parametrize(
    ("fields", "line"),
    [
        ({}, f"ok      head_image/two: passed {SEEN}"),
        (
            {**BROKEN, **LOST},
            f"ok      head_image/two: violated no_lost_writes, as expected {ONCE}",
        ),
        (
            {**BROKEN, "as_expected": False},
            f"WRONG   head_image/two: violated no_lost_writes {ONCE}",
        ),
        (
            {**LOST, "as_expected": False, "coverage": Coverage.COMPLETE},
            f"WRONG   head_image/two: passed, but expected no_lost_writes {COMPLETE}",
        ),
        (
            {
                **LOST,
                "as_expected": False,
                "coverage": Coverage.CUT,
                "bounds": {"budget": "1000 executions"},
            },
            (
                "WRONG   head_image/two: passed, but expected no_lost_writes, not found"
                f" within 1000 executions {CUT}"
            ),
        ),
        (
            {
                "verdict": Verdict.UNKNOWN,
                "reason": "the worker died",
                "as_expected": False,
                "executions": 0,
            },
            ("UNKNOWN head_image/two: unknown; the worker died (0 executions, 2.5 s)"),
        ),
        (
            {
                "verdict": Verdict.VIOLATED,
                "expected": ("no_lost_writes", "progress"),
                "findings": (finding(), finding("whole_images")),
                "as_expected": False,
                "coverage": Coverage.CUT,
            },
            (
                "WRONG   head_image/two: violated no_lost_writes, whole_images"
                f", but expected progress, not expected whole_images {CUT}"
            ),
        ),
        (
            {
                "verdict": Verdict.UNKNOWN,
                "reason": "io_uring\nx",
                "as_expected": False,
                **LOST,
            },
            rf"UNKNOWN head_image/two: unknown; io_uring\nx {SEEN}",
        ),
        (
            {"verdict": Verdict.DEADLOCKED, "expected": ("deadlock",)},
            f"ok      head_image/two: deadlocked, as expected {SEEN}",
        ),
    ],
)
def test_a_scenario_is_told_in_a_line(fields: dict[str, object], line: str) -> None:
    assert summary(result(**cast("Any", fields))) == line


def test_colours_set_off_the_first_word() -> None:
    assert summary(result(), color=True).startswith("\x1b[32mok     \x1b[0m head")


def test_a_finding_is_told_with_its_token() -> None:
    assert finding_line(finding()) == (
        "no_lost_writes in 10 steps with 3 context switches: rc1-no_lost_writes"
    )
    assert finding_line(finding(confirmed=False, steps=1, context_switches=1)) == (
        "no_lost_writes in 1 step with 1 context switch, not confirmed: "
        "rc1-no_lost_writes"
    )


def test_the_last_line_counts_what_came_of_all() -> None:
    assert totals([result()]) == "1 scenario: 1 as expected"
    assert totals(
        [
            result(),
            result(as_expected=False),
            result(verdict=Verdict.DIVERGED, as_expected=False),
        ]
    ) == ("3 scenarios: 1 as expected, 1 not, 1 without a verdict")


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({}, ""),
        ({"engine": "stress"}, "stress, "),
        (
            {"engine": "simulated", "bounds": {"platform": "windows"}},
            "simulated windows, ",
        ),
    ],
)
def test_what_ran_it_is_told_in_each_form(fields: dict[str, Any], told: str) -> None:
    made = result(**fields)

    assert f"({told}sampled, " in summary(made)
    assert f"| {told}sampled " in summarize_run([made], [])
