"""One execution of an exhaustive search, made without the rest of the search."""

from __future__ import annotations

from typing import TYPE_CHECKING

from racecheck.errors import ReplayDivergedError
from racecheck.model import Decision
from racecheck.scheduling.nodes import Choice, Node, by_actor, enter, inherited

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from racecheck.model import Footprint, SchedulingPoint, Step


class Lead:
    """Follow a way, then go on as the search would.

    Attributes:
        needs_footprints: Steps are to have footprints.
    """

    needs_footprints = True

    def __init__(
        self, way: Sequence[Choice], asleep: Mapping[Choice, Footprint] | None
    ) -> None:
        """Prepare.

        Args:
            way: What to take first.
            asleep: What need not be taken in place of the last step of the way, with
                what it touches. None if nothing ever sleeps.
        """
        self._way = list(way)
        self._asleep = asleep
        self._depth = 0
        self._lanes: dict[str, str] = {}
        self._last = Node((), dict(asleep or {}), self._way[-1], "")

    def start_execution(self) -> int | None:
        """Say that there is no other execution."""
        return None

    def choose(
        self, enabled: Sequence[SchedulingPoint], current: str | None
    ) -> Decision | None:
        """Follow the way, then take what is awake, the current actor first."""
        points = by_actor(enabled, self._lanes)
        if self._depth < len(self._way):
            chosen = self._way[self._depth]
            if chosen.actor not in points:
                raise ReplayDivergedError(
                    self._depth,
                    f"{chosen.actor} to go on",
                    f"only {', '.join(points)} enabled",
                )
        else:
            asleep = {} if self._asleep is None else inherited(self._last)
            found = enter(points, current, asleep)
            if found is None:
                return None
            self._last = found
            chosen = found.chosen
        point = points[chosen.actor]
        self._lanes[chosen.actor] = point.actor
        self._depth += 1
        return Decision(point.actor, chosen.fault)

    def record(self, step: Step) -> None:
        """Take note of what the last step touched."""
        self._last.footprint = step.footprint

    def finish_execution(self, steps: Sequence[Step]) -> None:
        """Learn nothing."""
