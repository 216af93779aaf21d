"""Who goes next: schedulers, which see actors and pending calls and nothing else.

To add one, write its file and give it a line in `SCHEDULERS`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from racecheck.scheduling.alternating import AlternatingScheduler
from racecheck.scheduling.dpor import DPORScheduler
from racecheck.scheduling.exhaustive import ExhaustiveScheduler
from racecheck.scheduling.pct import PCTScheduler
from racecheck.scheduling.planned_faults import PlannedFaultsScheduler
from racecheck.scheduling.random_faults import RandomFaultsScheduler
from racecheck.scheduling.random_walk import RandomWalkScheduler
from racecheck.scheduling.recorded import RecordedScheduler

if TYPE_CHECKING:
    from collections.abc import Mapping

    from racecheck.model import Scheduler

__all__ = [
    "DEFAULT_SCHEDULER",
    "SCHEDULERS",
    "AlternatingScheduler",
    "DPORScheduler",
    "ExhaustiveScheduler",
    "PCTScheduler",
    "PlannedFaultsScheduler",
    "RandomFaultsScheduler",
    "RandomWalkScheduler",
    "RecordedScheduler",
    "SchedulerFactory",
    "mixed_scheduler",
]


class SchedulerFactory(Protocol):
    """What makes a scheduler for an exploration, or for one process's part of it."""

    def __call__(self, seed: int, *, first: int = 0, stride: int = 1) -> Scheduler:
        """Make a scheduler.

        Args:
            seed: Seed of the whole exploration.
            first: Which of the processes that share the exploration this is, from 0.
            stride: How many processes share it.
        """
        ...


def mixed_scheduler(seed: int, *, first: int = 0, stride: int = 1) -> Scheduler:
    """Make a scheduler that takes samples: a random walk and PCT in turn."""
    return AlternatingScheduler(
        [
            RandomWalkScheduler(seed, first=first, stride=stride),
            PCTScheduler(seed, first=first, stride=stride),
        ]
    )


SCHEDULERS: Mapping[str, SchedulerFactory] = {
    "dpor": ExhaustiveScheduler,
    "mixed": mixed_scheduler,
    "pct": PCTScheduler,
    "random": RandomWalkScheduler,
}
"""The schedulers that explore, by the names that people choose them by."""

DEFAULT_SCHEDULER = "dpor"
