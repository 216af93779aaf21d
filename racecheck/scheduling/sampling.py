"""What all schedulers that take samples have in common."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, ClassVar, Self

from racecheck.scheduling.ahead import Lesson, samples_ahead
from racecheck.scheduling.numbering import (
    block_of,
    draw_seed,
    execution_numbers,
    execution_random,
)

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Sequence

    from racecheck.model import Decision, SchedulingPoint, Step
    from racecheck.scheduling.ahead import Ahead


class SamplingScheduler:
    """Draw each execution by itself, from the seed and the number that it has.

    This one learns nothing from an execution. Those that do say what in `lesson`, take
    it in in `learn`, and use it from the next block of executions on.

    Attributes:
        name: Goes into what is drawn, so that two with one seed are not in step.
    """

    name: ClassVar[str]

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
        self._random = execution_random(self.name, seed, first)

    @property
    def is_certain(self) -> bool:
        """Whether nothing is missing that the present execution depends on.

        What the key tells need not be there.
        """
        return True

    @property
    def key(self) -> Hashable:
        """What tells the present execution from all others."""
        return self.name, self._number

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
        if block_of(number) != block_of(self._number):
            self._begin_block()
        self._number = number
        self._random = execution_random(self.name, self._seed, number)
        seed = draw_seed(self._random)
        self._begin()
        return seed

    def choose(
        self, enabled: Sequence[SchedulingPoint], current: str | None
    ) -> Decision:
        """Choose among the enabled actors."""
        raise NotImplementedError

    def record(self, step: Step) -> None:
        """Learn nothing from single steps."""
        del step

    def finish_execution(self, steps: Sequence[Step]) -> None:
        """Learn nothing from an execution."""

    def lesson(self) -> Lesson:
        """Return that there is nothing to learn."""
        return Lesson()

    def learn(self, lesson: Lesson) -> None:
        """Learn nothing."""

    def _begin_block(self) -> None:
        """Use what was learned until now."""

    def _begin(self) -> None:
        """Draw what an execution has from its beginning."""
