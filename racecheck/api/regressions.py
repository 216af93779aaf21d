"""A race that was found once, as a test: it fails until the race is gone."""

from __future__ import annotations

import copy
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from racecheck.api.checking import Check
from racecheck.api.exploring import explore_all, replay
from racecheck.api.in_tests import options_of
from racecheck.errors import EngineError, ScenarioError
from racecheck.model import Verdict
from racecheck.scenario import load
from racecheck.storage import decode

if TYPE_CHECKING:
    from racecheck.explore.options import Options
    from racecheck.model import ScenarioResult
    from racecheck.scenario import Budget, Loaded


def regression(
    token: str, file: Path | str, *, budget: Budget | int | str | None = None
) -> ScenarioResult:
    """Replay an execution, then explore its scenario, and raise if anything breaks.

    What the scenario says it expects to be broken counts for nothing here: once the
    subject is repaired, nothing may be.

    Args:
        token: The execution.
        file: File that holds its scenario.
        budget: How long the exploration may go on.

    Returns:
        What the exploration says.

    Raises:
        RaceFoundError: An invariant breaks, in the execution or in another.
        TokenError: The token is damaged, or the scenario is another by now.
        RacecheckError: It cannot be run, or gives no verdict.
    """
    __tracebackhide__ = True
    loaded = find(token, Path(file))
    options = options_of({} if budget is None else {"budget": budget})
    strict = copy.copy(loaded.scenario)
    strict.expect = frozenset()
    again = partial(replay, scenarios=[loaded], options=options)
    explored = Check(
        scenario=strict, explore=partial(_explore, loaded, options), replay=again
    )
    replace(explored, token=token).run()
    return explored.run()


def find(token: str, file: Path) -> Loaded:
    """Return the scenario that a token is of.

    Raises:
        ScenarioError: The file has none of that name.
    """
    name = decode(token).scenario
    for loaded in load([file]):
        if loaded.name == name:
            return loaded
    raise ScenarioError(f"{file} has no scenario {name!r}")


def _explore(loaded: Loaded, options: Options) -> ScenarioResult:
    """Explore a scenario as one that nothing is expected of."""
    for result in explore_all([loaded], options):
        return msgspec.structs.replace(
            result, expected=(), as_expected=result.verdict is Verdict.PASSED
        )
    raise EngineError(f"{loaded.name}: no answer")
