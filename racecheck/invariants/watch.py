"""What invariants make of footprints: which steps they tell apart.

An invariant that is judged after each step sees every state, so that steps which
commute for the actors need not commute for it. A step is visible to an invariant if it
changed something that the invariant reads. A visible step reads all that the invariant
read before it and after it, and changes a resource that stands for the invariant's
answer; others get nothing. Weaker rules lose states, stronger ones cost executions.

An invariant that only bounds a number is coarser: it tells apart by how much a step
changes what is left of the bound. Equal changes commute, and nothing else is read.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from racecheck.footprint import conflicts
from racecheck.model import EMPTY, Footprint, Kind, Resource, Step, Write

if TYPE_CHECKING:
    from collections.abc import Iterable
    from collections.abc import Set as AbstractSet

    from racecheck.model import History, Invariant, View

ALL_ENDS = frozenset({Kind.RETURN, Kind.EXIT, Kind.CRASH})
"""The ends that can change what an invariant says though no file has changed."""

_ANY_STEP = Step(
    index=-1, actor="", operation=0, call="mkdir", kind=Kind.MKDIR, args={}, result=0
)


@runtime_checkable
class Bound(Protocol):
    """An invariant that bounds a number, and judges nothing else."""

    @property
    def name(self) -> str:
        """Its name."""
        ...

    def margin(self, view: View, history: History) -> int:
        """Return what is left of the bound; below 0 it is broken."""
        ...


class Watch:
    """What each invariant reads in the present state, for one execution.

    Invariants that read nothing in this way are about operations alone, whose order
    decides nothing for them.
    """

    def __init__(self) -> None:
        self._reads: dict[str, frozenset[Resource]] = {}
        self._seen: dict[str, frozenset[Resource]] = {}
        self._ends: dict[str, frozenset[Kind]] = {}
        self._bounds: dict[str, Bound] = {}
        self._margins: dict[str, int] = {}
        self._watching = False

    def clear(self) -> None:
        """Forget the last execution."""
        self._reads.clear()
        self._seen.clear()
        self._bounds.clear()
        self._watching = False

    def look(
        self, invariants: Iterable[Invariant], view: View, history: History
    ) -> None:
        """Find out what each invariant reads before the first step."""
        self._watching = True
        for each in invariants:
            if isinstance(each, Bound):
                self._bounds[each.name] = each
                self._margins[each.name] = each.margin(view, history)
                continue
            self._ends[each.name] = getattr(each, "ends", ALL_ENDS)
            view.forget_seen()
            # What it says of the start it says after the first step, or raises there.
            with contextlib.suppress(Exception):
                each.after_step(view, history, _ANY_STEP)
            if view.seen:
                self._reads[each.name] = frozenset(view.seen)

    def saw(self, name: str, resources: AbstractSet[Resource]) -> None:
        """Take note of what an invariant has just read."""
        if self._watching and name not in self._bounds:
            self._seen[name] = frozenset(resources)

    def after(self, step: Step, view: View, history: History) -> Footprint:
        """Return what a step adds to its footprint, once it has been judged."""
        if not self._watching:
            return EMPTY
        reads: set[Resource] = set()
        writes = []
        for name in self._reads.keys() | self._seen.keys():
            before = self._reads.get(name, frozenset())
            now = self._seen.get(name, before)
            ends = self._ends.get(name, ALL_ENDS)
            if step.kind in ends or conflicts(
                Footprint((), step.footprint.writes), Footprint(tuple(before))
            ):
                reads |= before | now
                writes.append(Write(Resource("invariant", name)))
            self._reads[name] = now
        self._seen.clear()
        for name, bound in self._bounds.items():
            margin = bound.margin(view, history)
            change = margin - self._margins[name]
            if change:
                self._margins[name] = margin
                writes.append(Write(Resource("invariant", name), f"{change:+d}"))
        return Footprint(tuple(sorted(reads)), tuple(sorted(writes)))

    def after_return(self) -> Footprint:
        """Return what the end of an operation adds: what was read because of it."""
        if not self._watching or not self._seen:
            return EMPTY
        reads: frozenset[Resource] = frozenset().union(*self._seen.values())
        self._seen.clear()
        return Footprint(tuple(sorted(reads)))
