"""A scheduler that follows a recorded schedule, for confirming and for replaying."""

from __future__ import annotations

from typing import TYPE_CHECKING

from racecheck.model import Decision, Kind
from racecheck.scheduling.planned_faults import can_meet

if TYPE_CHECKING:
    from collections.abc import Sequence

    from racecheck.model import Schedule, SchedulingPoint, Step

_END = "the end"


class RecordedScheduler:
    """Follow a recorded schedule for one execution, as far as that is possible.

    A subject that was changed since, or that depends on something uncontrolled, may not
    do what was recorded. Then the rest of the recording still is followed where it can
    be, because a later part of it often fits again, and the first departure is kept.

    Attributes:
        left: Where the execution first left the recording: index of the step, what was
            recorded there, what was found. None while it has not.
    """

    left: tuple[int, str, str] | None

    def __init__(self, schedule: Schedule, kinds: Sequence[Kind]) -> None:
        """Prepare one execution.

        Args:
            schedule: The decisions to follow.
            kinds: Kind of the step that each decision led to, as many as there are
                decisions.
        """
        if len(kinds) != len(schedule.decisions):
            raise ValueError(f"{len(schedule.decisions)} decisions, {len(kinds)} kinds")
        self.left = None
        self._schedule = schedule
        self._kinds = tuple(kinds)
        self._next = 0
        self._started = False

    def start_execution(self) -> int | None:
        """Return the recorded seed the first time, and None from then on."""
        if self._started:
            return None
        self._started = True
        return self._schedule.seed

    def choose(
        self, enabled: Sequence[SchedulingPoint], current: str | None
    ) -> Decision:
        """Choose the next recorded actor that is enabled.

        Decisions for actors that are not enabled are skipped. After the last decision
        the current actor carries on, else the first that can.
        """
        points = {point.actor: point for point in enabled}
        while self._next < len(self._kinds):
            index = self._next
            self._next += 1
            point = points.get(self._schedule.decisions[index].actor)
            if point is not None:
                return self._follow(index, point)
            names = ", ".join(points)
            self._leave(index, self._recorded(index), f"only {names} enabled")
        point = points.get(current or "", enabled[0])
        self._leave(len(self._kinds), _END, f"{point.actor} {point.kind}")
        return Decision(point.actor)

    def record(self, step: Step) -> None:
        """Learn nothing from single steps."""
        del step

    def finish_execution(self, steps: Sequence[Step]) -> None:
        """Note a departure if the execution ended before its recording did."""
        if self._next < len(self._kinds):
            self._leave(len(steps), self._recorded(self._next), _END)

    def _follow(self, index: int, point: SchedulingPoint) -> Decision:
        """Return a recorded decision, without its fault where the call is another."""
        kind = self._kinds[index]
        # Crashes and stalls are steps of a kind of their own, which does not say what
        # call they came before.
        if kind not in (point.kind, Kind.CRASH, Kind.STALL):
            self._leave(index, self._recorded(index), f"{point.actor} {point.kind}")
            return Decision(point.actor)
        decision = self._schedule.decisions[index]
        if decision.fault is not None and not can_meet(decision.fault, point):
            # No search has recorded that: somebody has changed the token.
            recorded = f"{self._recorded(index)} with {decision.fault}"
            self._leave(index, recorded, f"{point.actor} {point.call}")
            return Decision(point.actor)
        return decision

    def _recorded(self, index: int) -> str:
        return f"{self._schedule.decisions[index].actor} {self._kinds[index]}"

    def _leave(self, index: int, recorded: str, found: str) -> None:
        # Only the first departure says something: what follows may be its result.
        if self.left is None:
            self.left = (index, recorded, found)
