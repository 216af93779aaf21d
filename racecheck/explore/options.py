"""What an exploration or a replay was asked for, and what a replay gives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from racecheck.scenario.budget import Budget
from racecheck.scenario.checks import ENGINES

if TYPE_CHECKING:
    from pathlib import Path

    from racecheck.model import Trace
    from racecheck.scenario import Scenario

__all__ = [
    "DEFAULT_BUDGET",
    "ENGINES",
    "SCHEDULERS",
    "Budget",
    "Options",
    "ReplayResult",
]

SCHEDULERS = ("dpor", "dpor-awake", "mixed", "pct", "pos", "random")
"""Names of the schedulers that an exploration can use."""

DEFAULT_BUDGET = Budget(executions=1000)
"""Counted rather than timed, so that a seed finds the same on any machine."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What an exploration or a replay was asked for.

    Attributes:
        seed: Seed of the exploration.
        jobs: Executions at the same time.
        budget: How long the exploration of one scenario may go on; None leaves it to
            the scenario.
        scheduler: Name of the scheduler, one of `SCHEDULERS`.
        workdir: Folder for the boxes, or None for the default.
        fresh: Whether each execution starts all its processes anew.
        shrink: Whether what is found is made simpler before it is told.
        curve: Whether to find out where what is found became certain, which takes some
            hundred executions for each.
        stop_first: Whether to stop at the first scenario that does not do what it is
            expected to.
        engine: Name of the engine, one of `ENGINES`; empty leaves it to the scenario.
        quick: Whether a tenth of the budget is enough for what shall pass.
    """

    seed: int = 0
    jobs: int = 1
    budget: Budget | None = None
    scheduler: str = "dpor"
    workdir: Path | None = None
    fresh: bool = False
    shrink: bool = True
    curve: bool = False
    stop_first: bool = False
    engine: str = ""
    quick: bool = False

    def budget_of(self, scenario: Scenario) -> Budget:
        """Return the budget that applies to a scenario.

        What is expected to fail ends as soon as it has failed. Less than it needs
        would make it pass, which is no first look but a wrong answer.
        """
        budget = self.budget or scenario.budget or DEFAULT_BUDGET
        return budget.quick() if self.quick and not scenario.expect else budget


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayResult:
    """What came of running one recorded execution again.

    Attributes:
        trace: The execution as it went.
        left: Where the program left the recording: the step, what was recorded there
            and what came instead; None if it followed to the end.
        same: Whether every call, argument and result was as recorded.
        engine: Name of the engine that ran it.
    """

    trace: Trace
    left: tuple[int, str, str] | None = None
    same: bool = True
    engine: str = "process"
