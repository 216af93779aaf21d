"""The schedulers that take samples, in turn."""

from __future__ import annotations

from racecheck.scheduling.alternating import AlternatingScheduler
from racecheck.scheduling.pct import PCTScheduler
from racecheck.scheduling.pos import POSScheduler


def mixed_scheduler(
    seed: int, *, first: int = 0, stride: int = 1
) -> AlternatingScheduler:
    """Make a scheduler that takes samples: PCT and POS in turn.

    The one finds what needs few switches at the right places, the other what needs
    many. A random walk switches as often as POS and meets fewer orders that differ, so
    it is there to be chosen and not among these.
    """
    return AlternatingScheduler(
        [
            PCTScheduler(seed, first=first, stride=stride),
            POSScheduler(seed, first=first, stride=stride),
        ]
    )
