"""A wrapper that adds faults at random places to what another scheduler decides."""

from __future__ import annotations

import copy
import random
from typing import TYPE_CHECKING, Self, cast

import msgspec

from racecheck.scheduling.ahead import key_of, samples_ahead

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Sequence

    from racecheck.model import Decision, Scheduler, SchedulingPoint, Step
    from racecheck.scheduling.ahead import Ahead, Lesson, TakesSamples

_ONE_IN = 8


class RandomFaultsScheduler:
    """Give the chosen actor one of the faults allowed there, now and then."""

    def __init__(self, scheduler: TakesSamples) -> None:
        """Wrap a scheduler, whose seeds decide about the faults as well."""
        self._scheduler = scheduler
        self._seed: int | None = None
        # Made when it is needed: most executions meet no place for a fault.
        self._random: random.Random | None = None

    @property
    def needs_footprints(self) -> bool:
        """Whether the wrapped scheduler wants footprints."""
        return bool(getattr(self._scheduler, "needs_footprints", False))

    @property
    def is_certain(self) -> bool:
        """Whether the present execution depends on nothing yet to be learned."""
        return self._scheduler.is_certain

    @property
    def key(self) -> Hashable:
        """What tells the present execution from all others."""
        return key_of(self._scheduler)

    def ahead(self) -> Iterator[Ahead]:
        """Yield the executions after the present one."""
        return samples_ahead(self)

    def copied(self) -> Self:
        """Return another one that goes on by itself from the next execution on."""
        other = copy.copy(self)
        other._scheduler = self._scheduler.copied()  # noqa: SLF001  its own
        return other

    def alone(self) -> Scheduler:
        """Return the same around what the wrapped scheduler needs."""
        other = copy.copy(self)
        other._scheduler = cast("TakesSamples", self._scheduler.alone())  # noqa: SLF001  its own
        return other

    def start_execution(self) -> int | None:
        """Begin the wrapped scheduler's next execution."""
        self._seed = self._scheduler.start_execution()
        self._random = None
        return self._seed

    def choose(
        self, enabled: Sequence[SchedulingPoint], current: str | None
    ) -> Decision | None:
        """Return the wrapped scheduler's choice, now and then with a fault."""
        decision = self._scheduler.choose(enabled, current)
        if decision is None or decision.fault is not None:
            return decision
        for point in enabled:
            if point.actor == decision.actor:
                break
        else:
            return decision
        if not point.faults:
            return decision
        if self._random is None:
            self._random = random.Random(f"faults/{self._seed}")
        if self._random.randrange(_ONE_IN):
            return decision
        fault = self._random.choice(point.faults)
        return msgspec.structs.replace(decision, fault=fault)

    def record(self, step: Step) -> None:
        """Pass on a step that was taken."""
        self._scheduler.record(step)

    def finish_execution(self, steps: Sequence[Step]) -> None:
        """Pass on what came of the execution."""
        self._scheduler.finish_execution(steps)

    def lesson(self) -> Lesson | None:
        """Return what there was to learn for who decided."""
        return self._scheduler.lesson()

    def learn(self, lesson: Lesson) -> None:
        """Tell who would have decided."""
        self._scheduler.learn(lesson)
