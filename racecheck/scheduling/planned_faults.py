"""A wrapper that adds the faults of an explicit plan to another scheduler's choices."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from racecheck.errors import UsageError
from racecheck.model import FaultKind, Kind, from_lane
from racecheck.scheduling.ahead import ahead_of, key_of, learn, lesson_of

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Sequence

    from racecheck.model import (
        Decision,
        Fault,
        PlannedFault,
        Scheduler,
        SchedulingPoint,
        Step,
    )
    from racecheck.scheduling.ahead import Ahead, Lesson

_NO_CALLS = frozenset({Kind.RETURN, Kind.EXIT, Kind.CRASH})
# A task that has just begun, or whose wait is over, is held up by nothing: it makes no
# call yet.
_AT_NO_CALL = frozenset({Kind.START, Kind.WAKE})
_TRANSFERS = frozenset({Kind.READ, Kind.WRITE, Kind.COPY})


class PlannedFaultsScheduler:
    """Let another scheduler choose, and make planned steps of the chosen go wrong.

    The plan holds for every execution anew. An entry counts the steps that its actor
    takes, from the start of the execution: those whose call or kind is `on`, or all of
    them where `on` is empty, the ends of operations and of the actor included. A stall
    is no step of that kind: the call that it comes before counts when it is made.

    An entry that falls on a step which cannot go wrong in that way (no call, no bytes
    to cut) has no effect, nor has one whose step meets another fault already: that of
    the wrapped scheduler or of an earlier entry. Both stay among the `unmet`.
    """

    def __init__(self, scheduler: Scheduler, plan: Sequence[PlannedFault]) -> None:
        """Wrap a scheduler.

        Args:
            scheduler: Who chooses the actors.
            plan: The faults to add.

        Raises:
            UsageError: An entry asks for an occurrence before the first.
        """
        for planned in plan:
            if planned.occurrence < 1:
                raise UsageError(
                    f"the planned {planned.fault} in {planned.actor!r} has occurrence"
                    f" {planned.occurrence}, but they count from 1"
                )
        self._scheduler = scheduler
        self._plan = tuple(plan)
        self._counts = [0] * len(self._plan)
        self._met = [False] * len(self._plan)
        self._met_now: set[int] = set()

    @property
    def needs_footprints(self) -> bool:
        """Whether the wrapped scheduler wants footprints."""
        return bool(getattr(self._scheduler, "needs_footprints", False))

    @property
    def unmet(self) -> tuple[PlannedFault, ...]:
        """The entries whose fault took effect in no execution so far."""
        return tuple(
            planned
            for planned, met in zip(self._plan, self._met, strict=True)
            if not met
        )

    @property
    def key(self) -> Hashable:
        """What tells the present execution from all others."""
        return key_of(self._scheduler)

    def ahead(self) -> Iterator[Ahead]:
        """Yield what the wrapped scheduler is to ask for next, with the plan for it."""
        for each in ahead_of(self._scheduler):
            planned = PlannedFaultsScheduler(each.scheduler, self._plan)
            yield each._replace(scheduler=planned)

    def start_execution(self) -> int | None:
        """Begin the wrapped scheduler's next execution and count from 1 again."""
        self._counts = [0] * len(self._plan)
        self._met_now = set()
        return self._scheduler.start_execution()

    def choose(
        self, enabled: Sequence[SchedulingPoint], current: str | None
    ) -> Decision | None:
        """Return the wrapped scheduler's choice, with the fault planned for it."""
        decision = self._scheduler.choose(enabled, current)
        if decision is None or not self._plan:
            return decision
        point = next(point for point in enabled if point.actor == decision.actor)
        before = list(self._counts)
        for entry, planned in enumerate(self._plan):
            if not _matches(planned, point):
                continue
            self._counts[entry] += 1
            if (
                self._counts[entry] == planned.occurrence
                and decision.fault is None
                and can_meet(planned.fault, point)
            ):
                self._met[entry] = True
                self._met_now.add(entry)
                decision = msgspec.structs.replace(decision, fault=planned.fault)
                if planned.fault.kind is FaultKind.STALL:
                    # The call is still to come, and counts when it is made.
                    self._counts = before
                    self._counts[entry] += 1
                    break
        return decision

    def record(self, step: Step) -> None:
        """Pass on a step that was taken."""
        self._scheduler.record(step)

    def finish_execution(self, steps: Sequence[Step]) -> None:
        """Pass on what came of the execution."""
        self._scheduler.finish_execution(steps)

    def lesson(self) -> Lesson | None:
        """Return what there was to learn for the wrapped scheduler, and of the plan."""
        found = lesson_of(self._scheduler)
        if found is None or not self._met_now:
            return found
        return msgspec.structs.replace(found, met=tuple(sorted(self._met_now)))

    def learn(self, lesson: Lesson) -> None:
        """Take note of the faults that took effect, and tell the wrapped scheduler."""
        for entry in lesson.met:
            self._met[entry] = True
        learn(self._scheduler, lesson)


def _matches(planned: PlannedFault, point: SchedulingPoint) -> bool:
    """Say whether an entry counts the pending step, whichever task of its is at it."""
    actor, _ = from_lane(point.actor)
    return planned.actor == actor and planned.on in ("", point.call, point.kind)


def can_meet(fault: Fault, point: SchedulingPoint) -> bool:
    """Say whether the pending step can go wrong in this way."""
    if fault.kind is FaultKind.CRASH:
        return True
    if fault.kind is FaultKind.STALL:
        return point.kind not in _AT_NO_CALL
    if fault.kind is FaultKind.ERRNO:
        return point.kind not in _NO_CALLS
    if fault.kind is FaultKind.TEAR:
        return point.kind is Kind.WRITE or (point.kind is Kind.COPY and point.size > 0)
    return point.kind in _TRANSFERS
