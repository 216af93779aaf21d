"""Guards that every question of the reports is answered by a scenario that it finds."""

from __future__ import annotations

from pathlib import Path

import pytest

from racecheck.scenario import load, select

SCENARIOS = Path(__file__).parents[2] / "scenarios"

QUESTIONS = [
    *(f"B{number:02}" for number in range(1, 42)),
    *(f"B{number}" for number in range(50, 59)),
    *(f"B{number}" for number in range(60, 68)),
]


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_question_finds_its_scenarios(question: str) -> None:
    found = select(load([SCENARIOS]), [question])

    assert all(question in each.scenario.tags for each in found)


def test_the_docs_tell_of_every_question() -> None:
    text = (SCENARIOS.parent / "docs" / "verdicts.md").read_text()

    missing = [question for question in QUESTIONS if question not in text]
    assert missing == []
