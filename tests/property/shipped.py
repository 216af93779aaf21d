"""Shipped scenarios as properties, and what each comes to with a seed."""

from __future__ import annotations

import copy
import dataclasses
from typing import TYPE_CHECKING

from hypothesis import Phase, given, seed, settings
from hypothesis import strategies as st
from hypothesis.errors import HypothesisException

import racecheck

if TYPE_CHECKING:
    from racecheck.scenario import Scenario

# Explaining runs an example some dozen times more, which is nothing else.
PHASES = (Phase.generate, Phase.target, Phase.shrink)

BLAMED = "HYPOTHESIS"
"""What an outcome begins with that no subject may come to."""


@st.composite
def enlarged(draw: st.DrawFn, scenario: Scenario) -> Scenario:
    """Draw a scenario with as many of each actor as there are, or one more."""
    made = copy.copy(scenario)
    made.expect = frozenset()
    made._declarations = [
        # One more of a single one would have another name, which others may use.
        dataclasses.replace(each, count=each.count + draw(st.integers(0, 1)))
        if each.count > 1
        else each
        for each in scenario._declarations
    ]
    return made


def outcome(scenario: Scenario, number: int, budget: int, examples: int) -> str:
    """Return what a property comes to with a seed."""

    @seed(number)
    @settings(
        deadline=None,
        database=None,
        max_examples=examples,
        phases=PHASES,
        report_multiple_bugs=False,
    )
    @given(enlarged(scenario))
    def holds(drawn: Scenario) -> None:
        racecheck.check(drawn, budget=budget)

    try:
        holds()
    except racecheck.RaceFoundError:
        return "a race"
    except racecheck.NoVerdictError as error:
        return f"no verdict: {str(error).partition(': ')[2]}"
    except HypothesisException as error:
        return f"{BLAMED}: {type(error).__name__}: {error}"
    return "holds"
