"""Which faults the scheduler may choose at a scheduling point."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from racecheck.model import TORN, Fault, FaultKind, Kind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from racecheck.model import FaultBound, SchedulingPoint

_NO_CALLS: Final = frozenset(
    {Kind.RETURN, Kind.EXIT, Kind.START, Kind.WAKE, Kind.STALL, Kind.CRASH}
)


class AllowedFaults:
    """The bounds on faults, and what of them one execution has used up."""

    def __init__(self, bounds: Sequence[FaultBound]) -> None:
        self._bounds = tuple(bounds)
        self._left = [bound.most for bound in self._bounds]
        # For each lane, which bound allows what where it stands. One that says more of
        # the call comes first: the other allows faults elsewhere as well.
        self._offers: dict[str, list[tuple[int, list[Fault]]]] = {}
        self._narrow_first = sorted(
            range(len(self._bounds)),
            key=lambda at: (not self._bounds[at].on, not self._bounds[at].actor),
        )

    def at(
        self, actor: str, point: SchedulingPoint, *, has_written: bool
    ) -> tuple[Fault, ...]:
        """Return the faults that an actor may meet at the point it stands at.

        Args:
            actor: Its name.
            point: Where it stands.
            has_written: Whether its last step changed something.
        """
        offers = self._offers[point.actor] = [
            (index, _instances(bound, point, has_written=has_written))
            for index, bound in enumerate(self._bounds)
            if self._left[index] and bound.actor in ("", actor)
        ]
        return tuple(dict.fromkeys(fault for _, faults in offers for fault in faults))

    def use(self, fault: Fault, lane: str) -> None:
        """Take note of a fault that was chosen where a lane stands.

        It counts for one bound that allows it there; what none allows was planned.
        """
        offers = dict(self._offers.get(lane, ()))
        for index in self._narrow_first:
            if fault in offers.get(index, ()):
                self._left[index] -= 1
                return


def _instances(
    bound: FaultBound, point: SchedulingPoint, *, has_written: bool
) -> list[Fault]:
    kind = bound.fault.kind
    if kind is FaultKind.CRASH:
        found = [bound.fault] if has_written else []
        if point.kind in TORN and point.size > 1:
            found.append(Fault(FaultKind.TEAR, length=point.size // 2))
        return found
    if point.kind in _NO_CALLS or bound.on not in ("", point.kind, point.call):
        return []
    if kind is FaultKind.SHORT:
        if point.size <= 1:
            return []
        return [Fault(FaultKind.SHORT, length=point.size // 2)]
    return [bound.fault]
