"""Who goes next: schedulers, which see actors and pending calls and nothing else.

To add one, write its file and give it a line in `SCHEDULERS`. What draws each execution
by itself has most of what it needs in `SamplingScheduler`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from racecheck.scheduling.alternating import AlternatingScheduler
from racecheck.scheduling.dpor import DPORScheduler
from racecheck.scheduling.drawn import DrawnScheduler
from racecheck.scheduling.exhaustive import ExhaustiveScheduler, awake_scheduler
from racecheck.scheduling.mixed import mixed_scheduler
from racecheck.scheduling.pct import PCTScheduler
from racecheck.scheduling.planned_faults import PlannedFaultsScheduler
from racecheck.scheduling.pos import POSScheduler
from racecheck.scheduling.random_faults import RandomFaultsScheduler
from racecheck.scheduling.random_walk import RandomWalkScheduler
from racecheck.scheduling.recorded import RecordedScheduler

if TYPE_CHECKING:
    from collections.abc import Mapping

    from racecheck.scheduling.ahead import TakesSamples

__all__ = [
    "DEFAULT_SCHEDULER",
    "SCHEDULERS",
    "AlternatingScheduler",
    "DPORScheduler",
    "DrawnScheduler",
    "ExhaustiveScheduler",
    "PCTScheduler",
    "POSScheduler",
    "PlannedFaultsScheduler",
    "RandomFaultsScheduler",
    "RandomWalkScheduler",
    "RecordedScheduler",
    "SchedulerFactory",
    "mixed_scheduler",
]


class SchedulerFactory(Protocol):
    """What makes a scheduler for an exploration, or for one process's part of it."""

    def __call__(
        self, seed: int, *, first: int = 0, stride: int = 1
    ) -> ExhaustiveScheduler | TakesSamples:
        """Make a scheduler.

        Args:
            seed: Seed of the whole exploration.
            first: Which of the processes that share the exploration this is, from 0.
            stride: How many processes share it.
        """
        ...


SCHEDULERS: Mapping[str, SchedulerFactory] = {
    "dpor": ExhaustiveScheduler,
    "dpor-awake": awake_scheduler,
    "mixed": mixed_scheduler,
    "pct": PCTScheduler,
    "pos": POSScheduler,
    "random": RandomWalkScheduler,
}
"""The schedulers that explore, by the names that people choose them by."""

DEFAULT_SCHEDULER = "dpor"
