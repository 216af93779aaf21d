"""Which faults the scheduler may choose at a scheduling point."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from racecheck.model import Fault, FaultKind, Kind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from racecheck.model import FaultBound, SchedulingPoint

_NO_CALLS: Final = frozenset(
    {Kind.RETURN, Kind.EXIT, Kind.START, Kind.WAKE, Kind.STALL, Kind.CRASH}
)
_DEADLY: Final = frozenset({FaultKind.CRASH, FaultKind.TEAR})


class AllowedFaults:
    """The bounds on faults, and what of them one execution has used up."""

    def __init__(self, bounds: Sequence[FaultBound]) -> None:
        self._bounds = tuple(bounds)
        self._left = [bound.most for bound in self._bounds]

    def at(
        self, actor: str, point: SchedulingPoint, *, has_written: bool
    ) -> tuple[Fault, ...]:
        """Return the faults that an actor may meet at the point it stands at.

        Args:
            actor: Its name.
            point: Where it stands.
            has_written: Whether its last step changed something.
        """
        found: list[Fault] = []
        for left, bound in zip(self._left, self._bounds, strict=True):
            if left and bound.actor in ("", actor):
                found += _instances(bound, point, has_written=has_written)
        return tuple(found)

    def use(self, fault: Fault, actor: str) -> None:
        """Take note of a fault that was chosen; planned ones count for nothing."""
        for index, bound in enumerate(self._bounds):
            same = fault.kind is bound.fault.kind and fault.errno == bound.fault.errno
            deadly = bound.fault.kind is FaultKind.CRASH and fault.kind in _DEADLY
            if (same or deadly) and bound.actor in ("", actor) and self._left[index]:
                self._left[index] -= 1
                return


def _instances(
    bound: FaultBound, point: SchedulingPoint, *, has_written: bool
) -> list[Fault]:
    kind = bound.fault.kind
    if kind is FaultKind.CRASH:
        found = [bound.fault] if has_written else []
        if point.kind is Kind.WRITE and point.size > 1:
            found.append(Fault(FaultKind.TEAR, length=point.size // 2))
        return found
    if point.kind in _NO_CALLS or bound.on not in ("", point.kind, point.call):
        return []
    if kind is FaultKind.SHORT:
        if point.size <= 1:
            return []
        return [Fault(FaultKind.SHORT, length=point.size // 2)]
    return [bound.fault]
