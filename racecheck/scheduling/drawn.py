"""A scheduler whose choices are drawn from outside, such as by Hypothesis."""

from __future__ import annotations

from typing import TYPE_CHECKING

from racecheck.model import Decision

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from racecheck.model import SchedulingPoint, Step


class DrawnScheduler:
    """Choose what a number stands for that somebody else draws.

    The numbers are in an order of simplicity, since who draws them is likely to shrink
    them towards 0: that is always the current actor going on. Then come the others in
    the order of their declaration, and then all of them again with each fault that is
    allowed. Where there is only one choice nothing is drawn.
    """

    def __init__(self, draw: Callable[[int], int], *, seed: int = 0) -> None:
        """Prepare any number of executions.

        Args:
            draw: Called with the number of choices, at least 2; returns one of them,
                from 0.
            seed: Seed of the executions' random bytes, the same for all of them.
        """
        self._draw = draw
        self._seed = seed

    def start_execution(self) -> int | None:
        """Begin the next execution; there is always one."""
        return self._seed

    def choose(
        self, enabled: Sequence[SchedulingPoint], current: str | None
    ) -> Decision:
        """Draw one of the choices.

        Raises:
            ValueError: The number that was drawn is none of them.
        """
        # False comes before True, and the order is kept among the others.
        points = sorted(enabled, key=lambda point: point.actor != current)
        choices = [Decision(point.actor) for point in points]
        choices += [
            Decision(point.actor, fault) for point in points for fault in point.faults
        ]
        if len(choices) == 1:
            return choices[0]
        drawn = self._draw(len(choices))
        if not 0 <= drawn < len(choices):
            raise ValueError(f"drew {drawn} of {len(choices)} choices, from 0")
        return choices[drawn]

    def record(self, step: Step) -> None:
        """Learn nothing from single steps."""
        del step

    def finish_execution(self, steps: Sequence[Step]) -> None:
        """Learn nothing: what is drawn next is not decided here."""
        del steps
