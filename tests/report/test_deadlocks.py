"""A deadlock is told with the two lines of code that took the locks."""

from __future__ import annotations

import fcntl
from typing import TYPE_CHECKING

import pytest

from racecheck.model import Kind, Verdict
from racecheck.report import explain
from racecheck.report.story import tell
from racecheck.scenario import Scenario
from tests.engine.lab import run

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.processes


def forwards(box: Path) -> None:
    with open(box / "one", "w") as one, open(box / "two", "w") as two:
        fcntl.flock(one, fcntl.LOCK_EX)  # the first of the forward order
        fcntl.flock(two, fcntl.LOCK_EX)


def backwards(box: Path) -> None:
    with open(box / "one", "w") as one, open(box / "two", "w") as two:
        fcntl.flock(two, fcntl.LOCK_EX)  # the first of the backward order
        fcntl.flock(one, fcntl.LOCK_EX)


def test_both_lines_that_took_the_locks_are_told() -> None:
    made = Scenario("locks/both_orders")
    made.writer(forwards)
    made.writer(backwards)
    script = (
        *("forwards to flock", "forwards", "backwards to flock", "backwards"),
        *("forwards to end", "backwards to end"),
    )

    trace = run(made, *script, record=True).trace

    assert trace.verdict is Verdict.DEADLOCKED
    story = tell(trace, "deadlock", trace.reason)
    assert story.first is not None
    assert story.second is not None
    first, second = trace.steps[story.first.index], trace.steps[story.second.index]
    assert {first.kind, second.kind} == {Kind.FLOCK}
    assert [first.actor, second.actor] == ["forwards", "backwards"]
    assert story.what == "locks on one and two"
    assert story.cause.endswith(
        "took locks on one and two, and then nobody could go on."
    )
    text = explain(trace, "deadlock", trace.reason, width=100)
    assert "fcntl.flock(one, fcntl.LOCK_EX)  # the first of the forward order" in text
    assert "fcntl.flock(two, fcntl.LOCK_EX)  # the first of the backward order" in text
