"""Exploring shipped scenarios, and saying which steps of an execution race."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import TYPE_CHECKING

from racecheck.api import Options, explore_all
from racecheck.footprint import dependence
from racecheck.scenario import load, select

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from racecheck.model import Finding, Operation, ScenarioResult, Step, Trace

SCENARIOS = Path(__file__).parents[2] / "scenarios"


def explored(name: str, options: Options | None = None) -> ScenarioResult:
    """Explore one shipped scenario as `racecheck run` does by default."""
    folder = SCENARIOS / name.split("/", maxsplit=1)[0]
    (found,) = select(load([folder]), [name])
    (result,) = explore_all([found], options or Options())
    return result


def found_in(result: ScenarioResult) -> dict[str, Finding]:
    """Return the findings by invariant; each was confirmed by a second execution."""
    assert result.as_expected, (result.verdict, result.reason, result.findings)
    assert all(finding.confirmed for finding in result.findings)
    return {finding.invariant: finding for finding in result.findings}


def meetings(trace: Trace) -> set[str]:
    """Return which steps of different actors conflict, and on what, a line each."""
    return {
        f"{one.actor} {one.call} | {other.actor} {other.call} | {resource}"
        for one, other in itertools.combinations(trace.steps, 2)
        if one.actor != other.actor
        for resource in dependence(one.footprint, other.footprint)
    }


def story(trace: Trace, tell: Callable[[Step], str]) -> list[str]:
    """Return what some steps say, in their order; empty texts are left out."""
    return [text for text in map(tell, trace.steps) if text]


def in_order(parts: Sequence[str], all_of: Sequence[str]) -> bool:
    """Say whether some texts come in this order, with others between them or not."""
    rest = iter(all_of)
    return all(part in rest for part in parts)


def failed(trace: Trace, exception: str) -> list[Operation]:
    """Return the operations that ended in an error of this class."""
    return [each for each in trace.operations if each.exception == exception]
