"""Guards what the shipped scenarios are there for: every question has its scenarios.

The page of all verdicts has all scenarios of each system that is on it, with what they
expect.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from racecheck.report import Matrix
from racecheck.scenario import load

if TYPE_CHECKING:
    from racecheck.scenario import Scenario

ROOT = Path(__file__).parents[2]
UPDATE = "racecheck run NAME --matrix docs/matrix.md brings it up to date"


def expected(scenario: Scenario) -> str:
    """Return what a cell says before its parentheses."""
    if not scenario.expect:
        return "passed"
    if scenario.expect == {"deadlock"}:
        return "deadlocked deadlock"
    return f"violated {', '.join(sorted(scenario.expect))}"


QUESTIONS = [
    *(f"B{number:02}" for number in range(1, 42)),
    *(f"B{number}" for number in range(50, 59)),
    *(f"B{number}" for number in range(60, 68)),
]
"""What reviewers asked of head images, of links and of overlays."""


def shipped() -> dict[str, Scenario]:
    return {each.name: each.scenario for each in load([ROOT / "scenarios"])}


def test_every_question_of_the_reports_has_a_scenario() -> None:
    tags = {tag for scenario in shipped().values() for tag in scenario.tags}

    assert set(QUESTIONS) - tags == set()


def test_systems_on_the_page_are_there_in_full_with_what_they_expect() -> None:
    page = Matrix.from_markdown((ROOT / "docs" / "matrix.md").read_text())
    cells = page.names()
    there = {
        name: scenario
        for name, scenario in shipped().items()
        if name.partition("/")[0] in page.tables and name.count("/") > 1
    }

    assert there
    assert there.keys() - cells.keys() == set(), UPDATE
    assert cells.keys() - there.keys() == set(), UPDATE
    for name, scenario in there.items():
        told, _, _ = cells[name].partition(" (")
        wanted = expected(scenario)
        if scenario.engine == "stress":
            # What it meets is a matter of luck; that it meets something is not.
            told, wanted = told.split()[0], wanted.split()[0]
        assert told == wanted, f"{name}: {UPDATE}"
