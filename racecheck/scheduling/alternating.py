"""A scheduler made of others that take turns."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Self

from racecheck.scheduling.ahead import key_of, samples_ahead

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Sequence

    from racecheck.model import Decision, Scheduler, SchedulingPoint, Step
    from racecheck.scheduling.ahead import Ahead, Lesson, TakesSamples


class AlternatingScheduler:
    """Give each execution to the next of several schedulers.

    They find different things: one switches often, another seldom. One that has nothing
    left to try drops out, and the others carry on.
    """

    def __init__(self, schedulers: Sequence[TakesSamples]) -> None:
        """Take the schedulers in the order of their turns."""
        if not schedulers:
            raise ValueError("there is no scheduler to take a turn")
        self._waiting = list(schedulers)
        self._active = schedulers[0]

    @property
    def needs_footprints(self) -> bool:
        """Whether the steps of the present execution need footprints."""
        return bool(getattr(self._active, "needs_footprints", False))

    @property
    def is_certain(self) -> bool:
        """Whether the present execution depends on nothing yet to be learned."""
        return self._active.is_certain

    @property
    def key(self) -> Hashable:
        """What tells the present execution from all others."""
        return key_of(self._active)

    def ahead(self) -> Iterator[Ahead]:
        """Yield the executions after the present one."""
        return samples_ahead(self)

    def copied(self) -> Self:
        """Return another one that goes on by itself from the next execution on."""
        other = copy.copy(self)
        active = self._active.copied()
        waiting = [
            active if each is self._active else each.copied() for each in self._waiting
        ]
        other._active, other._waiting = active, waiting  # noqa: SLF001  its own
        return other

    def alone(self) -> Scheduler:
        """Return what the scheduler needs whose turn it is."""
        return self._active.alone()

    def start_execution(self) -> int | None:
        """Begin an execution of the next scheduler that has one left."""
        while self._waiting:
            scheduler = self._waiting.pop(0)
            seed = scheduler.start_execution()
            if seed is not None:
                self._waiting.append(scheduler)
                self._active = scheduler
                return seed
        return None

    def choose(
        self, enabled: Sequence[SchedulingPoint], current: str | None
    ) -> Decision | None:
        """Let the scheduler decide whose turn it is."""
        return self._active.choose(enabled, current)

    def record(self, step: Step) -> None:
        """Tell the scheduler that decided."""
        self._active.record(step)

    def finish_execution(self, steps: Sequence[Step]) -> None:
        """Tell the scheduler that decided; the others count their own executions."""
        self._active.finish_execution(steps)

    def lesson(self) -> Lesson | None:
        """Return what there was to learn for who decided."""
        return self._active.lesson()

    def learn(self, lesson: Lesson) -> None:
        """Tell who would have decided."""
        self._active.learn(lesson)
