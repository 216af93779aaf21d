"""Whole workloads, drawn: the numbers of actors, their work, the box, the faults."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeVar

import hypothesis
from hypothesis import strategies as st

from racecheck.errors import ScenarioError
from racecheck.model import Verdict
from racecheck.property.groups import Group
from racecheck.scenario import Workload
from racecheck.scenario.leftovers import InTurn, Nothing
from racecheck.scenario.workload import merged

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hypothesis.strategies import DrawFn, SearchStrategy

    from racecheck.model import FaultBound, PlannedFault, ScenarioResult
    from racecheck.scenario import Budget, Declaration
    from racecheck.scenario.leftovers import Setup

    Faults = Iterable[PlannedFault | FaultBound]

T = TypeVar("T")

BUDGET: Final = 100
"""Executions of one example. Hypothesis makes many; few orders of many workloads find
more than many orders of few."""

_FEWEST_ACTORS: Final = 2
_APART: Final = "vacuous: no two actors"


@dataclass(frozen=True, kw_only=True, repr=False)
class Drawn(Workload):
    """A workload that Hypothesis has drawn, which tells it what came of it."""

    def observe(self, result: ScenarioResult) -> None:
        """Guide the search to where actors meet, and leave out where they do not."""
        if not hypothesis.currently_in_test_context():
            return
        if result.verdict is Verdict.UNKNOWN and result.reason.startswith(_APART):
            # It shows nothing. If all are like that, Hypothesis says so.
            hypothesis.reject()
        hypothesis.event(f"coverage: {result.coverage}")
        hypothesis.target(float(len(result.conflicts)), label="pairs of calls")


@st.composite
def _workloads(
    draw: DrawFn,
    groups: tuple[Group, ...],
    setup: Setup | None,
    box: SearchStrategy[Setup],
    faults: SearchStrategy[Faults],
    same_pid: SearchStrategy[bool],
    budget: Budget | int | str,
) -> Drawn:
    counts = [draw(st.integers(each.at_least, each.at_most)) for each in groups[1:]]
    # There is no race with less than two.
    fewest = max(groups[0].at_least, _FEWEST_ACTORS - sum(counts))
    counts.insert(0, draw(st.integers(fewest, max(fewest, groups[0].at_most))))
    actors: list[Declaration] = []
    for group, count in zip(groups, counts, strict=True):
        actors += [draw(group.actor()) for _ in range(count)]
    state = draw(box)
    setups = [each for each in (setup, state) if each not in (None, Nothing())]
    return Drawn(
        actors=merged(actors),
        setup=InTurn(tuple(setups)) if len(setups) > 1 else next(iter(setups), None),
        faults=tuple(draw(faults)),
        same_pid=draw(same_pid),
        budget=budget,
    )


def workloads(
    *groups: Group,
    setup: Setup | None = None,
    box: Setup | SearchStrategy[Setup] | None = None,
    faults: Faults | SearchStrategy[Faults] = (),
    same_pid: bool | SearchStrategy[bool] = False,
    budget: Budget | int | str = BUDGET,
) -> SearchStrategy[Drawn]:
    """Draw a workload, for `given`.

    The fewer actors, the fewer operations and the less that goes wrong, the simpler it
    is. There are always two actors.

    Args:
        *groups: Who takes part: what `writers`, `readers`, `evictors` and `actors` say.
        setup: Fills the box in any case, before what is drawn.
        box: What else is in the box, or a strategy of it, such as `boxes(...)`.
        faults: What goes wrong, or a strategy of it, such as `fault_plans()`.
        same_pid: Whether all actors have one process id, or a strategy of it.
        budget: How far each example is explored. A time makes a property depend on the
            machine; Hypothesis calls that flaky.

    Raises:
        ScenarioError: There is no group.
    """
    for each in groups:
        if not isinstance(each, Group):
            raise ScenarioError(
                f"workloads takes what writers(...) and such return, not {each!r}"
            )
    if not groups:
        raise ScenarioError("workloads needs a group, such as writers(save)")
    return _workloads(
        groups,
        setup,
        _drawn(Nothing() if box is None else box),
        _drawn(faults),
        _drawn(same_pid),
        budget,
    )


def _drawn(value: T | SearchStrategy[T]) -> SearchStrategy[T]:
    return value if isinstance(value, st.SearchStrategy) else st.just(value)
