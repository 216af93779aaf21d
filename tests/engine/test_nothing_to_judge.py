"""Guards that a pass tells which invariants had nothing to judge."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from racecheck.api import Options, explore
from racecheck.invariants import (
    never_missing,
    no_downgrade,
    no_silent_loss,
    served,
    whole_images,
)
from racecheck.model import Verdict
from racecheck.scenario import Scenario

if TYPE_CHECKING:
    from pathlib import Path

    from racecheck.model import ScenarioResult

pytestmark = pytest.mark.processes

ALL = "whole_images, never_missing, no_downgrade, no_silent_loss, served"


def found(path: str, *, succeeds: bool, jobs: int = 1) -> ScenarioResult:
    """Explore two that make a folder and a file, of which invariants name a path."""
    scenario = Scenario(
        "judged",
        invariants=[
            whole_images(path, lambda data: data == b"42"),
            never_missing(path),
            no_downgrade(path, len),
            no_silent_loss(path, lambda data: data == b"42", role="save"),
            served("load", lambda value: value == "42"),
        ],
    )

    @scenario.setup
    def fill(box: Path) -> None:
        (box / "answer").write_text("42")

    @scenario.writer(succeeds=lambda _: succeeds)
    def save(box: Path) -> None:
        (box / "new").write_text("42")
        (box / "new").rename(box / "answer")

    @scenario.reader(succeeds=lambda _: succeeds)
    def load(box: Path) -> str:
        return (box / "answer").read_text()

    return explore(scenario, Options(jobs=jobs))


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_pass_tells_who_found_nothing_to_judge(jobs: int) -> None:
    result = found("answr", succeeds=False, jobs=jobs)

    assert result.verdict is Verdict.PASSED
    assert f"found nothing to judge: {ALL}" in result.reason


def test_a_pass_tells_of_nothing_where_all_had_something_to_judge() -> None:
    result = found("answer", succeeds=True)

    assert result.verdict is Verdict.PASSED
    assert not result.reason
