"""A scheduler that lets chance decide at every step."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Self

from racecheck.model import Decision
from racecheck.scheduling.ahead import Lesson, samples_ahead
from racecheck.scheduling.numbering import (
    draw_below,
    draw_seed,
    execution_numbers,
    execution_random,
)

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Sequence

    from racecheck.model import SchedulingPoint, Step
    from racecheck.scheduling.ahead import Ahead


class RandomWalkScheduler:
    """Choose among the enabled actors at each step, all of them equally likely.

    It is fair: every actor that stays enabled takes a step sooner or later, so programs
    that poll come to an end. It is uniform over actors and not over orders: an order in
    which one actor takes many steps in a row while others wait is rare, which is what
    PCT is there for.
    """

    def __init__(
        self,
        seed: int,
        *,
        executions: int | None = None,
        first: int = 0,
        stride: int = 1,
    ) -> None:
        """Prepare the executions `first`, `first + stride`, ... below `executions`.

        Args:
            seed: Seed of the exploration.
            executions: Executions in the whole exploration; None for no limit.
            first: Number of the first execution made here.
            stride: Distance between the numbers of executions made here.
        """
        self._seed = seed
        self._numbers = execution_numbers(first, stride, executions)
        self._number = first
        self._random = execution_random("random", seed, first)

    @property
    def is_certain(self) -> bool:
        """That there is nothing to learn."""
        return True

    @property
    def key(self) -> Hashable:
        """What tells the present execution from all others."""
        return "random", self._number

    def ahead(self) -> Iterator[Ahead]:
        """Yield the executions after the present one."""
        return samples_ahead(self)

    def copied(self) -> Self:
        """Return another one that goes on by itself from the next execution on."""
        other = copy.copy(self)
        other._numbers = copy.copy(self._numbers)  # noqa: SLF001  its own
        return other

    def alone(self) -> Self:
        """Return itself: all that it has is what it needs."""
        return self

    def start_execution(self) -> int | None:
        """Begin the next execution, or say with None that the limit is reached."""
        number = next(self._numbers, None)
        if number is None:
            return None
        self._number = number
        self._random = execution_random("random", self._seed, number)
        return draw_seed(self._random)

    def choose(
        self,
        enabled: Sequence[SchedulingPoint],
        current: str | None,  # noqa: ARG002 - a walk does not care where it comes from
    ) -> Decision:
        """Choose any of the enabled actors."""
        return Decision(enabled[draw_below(self._random, len(enabled))].actor)

    def record(self, step: Step) -> None:
        """Learn nothing from single steps."""
        del step

    def finish_execution(self, steps: Sequence[Step]) -> None:
        """Learn nothing: one execution of a walk says nothing of the next."""

    def lesson(self) -> Lesson:
        """Return that there is nothing to learn."""
        return Lesson()

    def learn(self, lesson: Lesson) -> None:
        """Learn nothing."""
