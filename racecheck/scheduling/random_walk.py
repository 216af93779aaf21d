"""A scheduler that lets chance decide at every step."""

from __future__ import annotations

from typing import TYPE_CHECKING

from racecheck.model import Decision
from racecheck.scheduling.numbering import draw_below
from racecheck.scheduling.sampling import SamplingScheduler

if TYPE_CHECKING:
    from collections.abc import Sequence

    from racecheck.model import SchedulingPoint


class RandomWalkScheduler(SamplingScheduler):
    """Choose among the enabled actors at each step, all of them equally likely.

    It is fair: every actor that stays enabled takes a step sooner or later, so programs
    that poll come to an end. It is uniform over actors and not over orders: an order in
    which one actor takes many steps in a row while others wait is rare, which is what
    PCT is there for.
    """

    name = "random"

    def choose(
        self,
        enabled: Sequence[SchedulingPoint],
        current: str | None,  # noqa: ARG002 - a walk does not care where it comes from
    ) -> Decision:
        """Choose any of the enabled actors."""
        return Decision(enabled[draw_below(self._random, len(enabled))].actor)
