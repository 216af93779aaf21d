"""What invariants make of footprints: which steps they tell apart.

An invariant that is judged after each step sees every state, so that steps which
commute for the actors need not commute for it. A step is visible to an invariant if it
changed something that the invariant reads. A visible step reads all that the invariant
read before it and after it, and changes a resource that stands for the invariant's
answer; others get nothing. Weaker rules lose states, stronger ones cost executions.

Some are judged once somebody has succeeded, and from then on for good. Whoever succeeds
later could have been the first, before what has changed meanwhile: so each success
reads what the invariant reads, but changes nothing of what it says. The end of a
process that has returned is none to it.

What is judged by who is at work as a step is taken says itself which steps depend on
which ends of operations, as no file tells.

An invariant that only bounds a number is coarser: it tells apart by how much a step
changes what is left of the bound. Equal changes commute, and nothing else is read. As
long as nobody has more than his own share, the bound holds whatever the others do, so
that shares are told apart first, which orders far fewer steps. Once somebody has more,
`Watch.is_too_coarse` asks for the exploration to begin anew with the number itself.

What has happened so far is no file. An invariant that asks which operations have ended
sees each end, as far as it reads no file, too, and one that asks for the steps sees
every step: the earlier ones as well, so that an exploration begins anew if it turns out
in the middle of an execution.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple, Protocol, runtime_checkable

import msgspec

from racecheck.errors import PASSING
from racecheck.footprint import conflicts
from racecheck.invariants.asking import Asked, asked_of, noting
from racecheck.invariants.steps import is_crash
from racecheck.model import EMPTY, Footprint, Kind, Resource, Step, Write

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from collections.abc import Set as AbstractSet

    from racecheck.model import History, Invariant, View

ALL_ENDS = frozenset({Kind.RETURN, Kind.EXIT, Kind.CRASH})
"""The ends that can change what an invariant says though no file has changed."""

_END = "an operation ends"

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

    def margins(self, view: View, history: History) -> Mapping[str, int]:
        """Return what is left of each one's share; the bound is on their sum.

        While no share is below 0 the bound holds.
        """
        ...


@runtime_checkable
class Gated(Protocol):
    """An invariant that is judged from the moment on when somebody has succeeded."""

    @property
    def name(self) -> str:
        """Its name."""
        ...

    @property
    def is_judged(self) -> bool:
        """Whether somebody has."""
        ...


@runtime_checkable
class Timely(Protocol):
    """An invariant that judges some steps by which operations are under way."""

    def depends(self, view: View, history: History, step: Step) -> Footprint:
        """Return what a step reads or changes of which operations are under way."""
        ...


class Fineness(msgspec.Struct, frozen=True):
    """How finely orders are told apart for invariants.

    Attributes:
        exact: Whether bounds are told apart by their numbers, not by shares.
        asked: How much each invariant asks of the history, if it asks at all.
    """

    exact: bool = False
    asked: dict[str, int] = {}

    def and_of(self, name: str, asked: int) -> Fineness:
        """Return the same for an invariant that asks so much of the history."""
        return Fineness(self.exact, {**self.asked, name: asked})


class _Kept(NamedTuple):
    """What a `Watch` knows of an execution that changes with its steps."""

    reads: dict[str, frozenset[Resource]]
    seen: dict[str, frozenset[Resource]]
    margins: dict[tuple[str, str], int]
    begun: frozenset[tuple[str, int]]
    judged: frozenset[str]
    ended: int
    needed: Fineness


class Watch:
    """What each invariant reads in the present state, for one execution.

    Invariants that read and ask for nothing in this way are about operations alone,
    whose order decides nothing for them, unless they say that they are about operations
    `in_time`: then the end of one and the beginning of another cannot be exchanged,
    while two ends can, and two beginnings.

    Attributes:
        fineness: How finely orders are told apart.
        needed: How finely they should have been.
    """

    def __init__(self) -> None:
        self._reads: dict[str, frozenset[Resource]] = {}
        self._seen: dict[str, frozenset[Resource]] = {}
        self._ends: dict[str, frozenset[Kind]] = {}
        self._bounds: dict[str, Bound] = {}
        self._gated: dict[str, Gated] = {}
        self._judged: frozenset[str] = frozenset()
        self._ended = 0
        self._margins: dict[tuple[str, str], int] = {}
        self._in_time: list[Resource] = []
        self._timely: list[Timely] = []
        self._begun: set[tuple[str, int]] = set()
        self._watching = False
        self.fineness = Fineness()
        self.needed = self.fineness

    @property
    def is_too_coarse(self) -> bool:
        """Whether orders that differ may have been taken for the same."""
        return self.needed != self.fineness

    def refine(self) -> None:
        """Tell apart from now on what had to be."""
        self.fineness = self.needed

    def clear(self) -> None:
        """Forget the last execution."""
        self._reads.clear()
        self._seen.clear()
        self._bounds.clear()
        self._in_time.clear()
        self._timely.clear()
        self._begun.clear()
        self._gated.clear()
        self._judged = frozenset()
        self._ended = 0
        self._watching = False

    def keep(self) -> object:
        """Return what is known of the present execution."""
        return _Kept(
            dict(self._reads),
            dict(self._seen),
            dict(self._margins),
            frozenset(self._begun),
            self._judged,
            self._ended,
            self.needed,
        )

    def resume(self, kept: object) -> None:
        """Go on from where `keep` was called, be it in an execution before this."""
        assert isinstance(kept, _Kept)  # noqa: S101  it comes from `keep`
        self._reads = dict(kept.reads)
        self._seen = dict(kept.seen)
        self._margins = dict(kept.margins)
        self._begun = set(kept.begun)
        self._judged = kept.judged
        self._ended = kept.ended
        exact = self.needed.exact or kept.needed.exact
        self.needed = Fineness(exact, self.needed.asked)
        for name, asked in kept.needed.asked.items():
            self.asked(name, asked)

    def look(
        self, invariants: Iterable[Invariant], view: View, history: History
    ) -> None:
        """Find out what each invariant reads before the first step."""
        self._watching = True
        own = os.getpid()
        for each in invariants:
            if isinstance(each, Bound):
                self._bounds[each.name] = each
                for owner, margin in self._margins_of(each, view, history).items():
                    self._margins[each.name, owner] = margin
                continue
            if isinstance(each, Timely):
                self._timely.append(each)
            if getattr(each, "in_time", False):
                self._in_time.append(Resource("invariant", each.name))
            self._ends[each.name] = getattr(each, "ends", ALL_ENDS)
            if isinstance(each, Gated) and self._ends[each.name]:
                self._gated[each.name] = each
            view.forget_seen()
            told = noting(history, each)
            # What it says of the start it says after the first step, or raises there.
            try:
                each.after_step(view, told, _ANY_STEP)
            except PASSING:
                raise
            except BaseException:  # noqa: BLE001, S110  the judge hears of it, too
                pass
            if view.seen:
                self._reads[each.name] = frozenset(view.seen)
            was_enough = not self.is_too_coarse
            self.asked(each.name, asked_of(told))
            if was_enough:
                # Nothing has happened yet that would have had to be told apart.
                self.refine()
        if os.getpid() != own:
            # What an invariant has forked is not to go on as a second judge.
            os._exit(1)

    def asked(self, name: str, asked: int) -> None:
        """Take note of how much an invariant has just asked of the history."""
        if self._watching and asked > self.needed.asked.get(name, Asked.NOTHING):
            self.needed = self.needed.and_of(name, asked)

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
        shown = self._shown(step, history)
        asking = self.fineness.asked
        for name in self._reads.keys() | self._seen.keys() | asking.keys():
            before = self._reads.get(name, frozenset())
            now = self._seen.get(name, before)
            is_end = bool(before or now) and step.kind in self._ends.get(name, ALL_ENDS)
            if is_end and name in self._gated:
                is_end = shown is Asked.OPERATIONS
                if is_end and name in self._judged:
                    reads |= before | now
                    is_end = False
            is_asked = asking.get(name, Asked.NOTHING) >= shown
            if (
                is_end
                or is_asked
                or conflicts(
                    Footprint((), step.footprint.writes), Footprint(tuple(before))
                )
            ):
                reads |= before | now
                writes.append(Write(Resource("invariant", name)))
            self._reads[name] = now
        self._seen.clear()
        self._judged = self._who_is_judged()
        for name, bound in self._bounds.items():
            for owner, margin in self._margins_of(bound, view, history).items():
                change = margin - self._margins.get((name, owner), 0)
                if change:
                    self._margins[name, owner] = margin
                    share = Resource("invariant", name, owner)
                    writes.append(Write(share, f"{change:+d}"))
        for timely in self._timely:
            more = timely.depends(view, history, step)
            reads.update(more.reads)
            writes.extend(more.writes)
        reads.update(self._begins(step))
        if step.kind in ALL_ENDS:
            writes.extend(Write(resource, _END) for resource in self._in_time)
        return Footprint(tuple(sorted(reads)), tuple(sorted(writes)))

    def _shown(self, step: Step, history: History) -> Asked:
        """Return how much has to be asked of the history for a step to show."""
        more = len(history.operations) > self._ended
        self._ended = len(history.operations)
        # The end of a process is none of an operation that has returned.
        if step.kind is Kind.RETURN or more:
            return Asked.OPERATIONS
        is_end = step.kind in ALL_ENDS or is_crash(step)
        return Asked.ENDS if is_end else Asked.STEPS

    def _begins(self, step: Step) -> Iterable[Resource]:
        """Return what a step reads because an operation begins with it."""
        operation = step.actor, step.operation
        if operation in self._begun:
            return ()
        self._begun.add(operation)
        return self._in_time

    def _margins_of(
        self, bound: Bound, view: View, history: History
    ) -> Mapping[str, int]:
        shares = bound.margins(view, history)
        if self.fineness.exact:
            return {"": sum(shares.values())}
        if min(shares.values(), default=0) < 0:
            self.needed = Fineness(exact=True, asked=self.needed.asked)
        return shares

    def _who_is_judged(self) -> frozenset[str]:
        return frozenset(name for name, each in self._gated.items() if each.is_judged)

    def after_return(self, history: History) -> Footprint:
        """Return what the end of an operation adds: what was read because of it.

        It need not have had an end of its own: an actor can be killed by another one.
        """
        self._ended = len(history.operations)
        if not self._watching:
            return EMPTY
        writes = [Write(Resource("invariant", name)) for name in self.fineness.asked]
        reads: frozenset[Resource] = frozenset()
        if self._seen:
            for name in self._gated.keys() & self._seen.keys():
                self._reads[name] = self._seen[name]
            self._judged = self._who_is_judged()
            reads = reads.union(*self._seen.values())
            self._seen.clear()
        return Footprint(tuple(sorted(reads)), tuple(sorted(writes)))
