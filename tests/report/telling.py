"""Two actors in an order that breaks something, and what is told of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from racecheck.report.diagnosis import diagnose
from racecheck.scenario import Scenario
from tests.engine.lab import run

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from racecheck.model import Invariant
    from racecheck.report.diagnosis import Diagnosis

    Act = Callable[[Path], object]


def told(
    rule: Invariant, one: Act, two: Act, *lines: str, setup: Act | None = None
) -> Diagnosis | None:
    """Run two actors in an order that breaks a rule, and say what is told of it."""
    scenario = Scenario("two", invariants=[rule])
    if setup is not None:
        scenario.setup(setup)
    scenario.writer(one, name="one")
    scenario.writer(two, name="two")
    # Names are in full in what is recorded, as what is reported is.
    trace = run(scenario, *lines, record=True).trace
    (name,) = {each.invariant for each in trace.violations}
    return diagnose(trace, name)


def kind(found: Diagnosis | None) -> str | None:
    return found.pattern if found is not None else None


def old(box: Path) -> None:
    (box / "file").write_text("old")
