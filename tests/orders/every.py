"""Every order of a few small programs, one execution each, and what a search finds.

`every_order` takes no account of what depends on what, and `search` relies on it. What
both have seen is sorted in the same way: by what came of an execution, and by the order
in which its dependent steps were taken, which is what makes two executions differ.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import msgspec

from racecheck.footprint import conflicts
from racecheck.model import Decision, Footprint, lane_of
from racecheck.scheduling import DPORScheduler

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    from racecheck.engine import Observer
    from racecheck.model import Scheduler, SchedulingPoint, Step
    from tests.footprint.stage import Played, Stage

Event = tuple[str, int]
"""A step: the lane that took it, and which of the lane's it is."""

Sorted = frozenset[tuple[Event, Event]]
"""Pairs of dependent steps, as they came."""


class UnsuitedError(Exception):
    """The programs are not for this: too many orders, or steps out of the sandbox."""


@dataclass
class Found:
    """What executions have shown.

    Attributes:
        executions: How many there were.
        blocked: How many more were given up as repetitions.
        outcomes: What came of them, each with the first that it came of.
        sorts: Orders of dependent steps, each with the first that had it.
        wrong: What cannot be if the footprints are right, a text each.
    """

    executions: int = 0
    blocked: int = 0
    outcomes: dict[str, Played] = field(default_factory=dict)
    sorts: dict[Sorted, Played] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)

    def add(self, played: Played, sort: Sorted) -> None:
        """Take note of an execution, and of how its dependent steps were ordered."""
        self.executions += 1
        self.outcomes.setdefault(outcome(played), played)
        first = self.sorts.setdefault(sort, played)
        if first is not played and (difference := differ(first, played)):
            self.wrong.append(f"equal orders differ: {difference}")


class EveryOrder:
    """A scheduler that takes the actors in every order there is."""

    def __init__(self, is_private: Callable[[SchedulingPoint, int], bool]) -> None:
        """Begin.

        Args:
            is_private: Steps that are taken at once, since their place makes no
                difference. `every_order` looks whether that is so.
        """
        self.order: list[str] = []
        self.private: set[int] = set()
        self._is_private = is_private
        self._stack: list[list[str]] = []
        self._taken: dict[str, int] = {}
        self._steps = 0
        self._finished = False

    def start_execution(self) -> int | None:
        """Begin the next execution; None when all have been made."""
        self.order = []
        self.private = set()
        self._taken = {}
        self._steps = 0
        return None if self._finished else 0

    def choose(
        self, enabled: Sequence[SchedulingPoint], current: str | None
    ) -> Decision:
        """Take what nobody else sees at once, and what others see in any order."""
        del current
        chosen = ""
        for point in enabled:
            if self._is_private(point, self._taken.get(point.actor, 0)):
                chosen = point.actor
                self.private.add(self._steps)
                break
        if not chosen:
            if len(self.order) == len(self._stack):
                self._stack.append([point.actor for point in enabled])
            chosen = self._stack[len(self.order)][0]
            self.order.append(chosen)
        self._steps += 1
        self._taken[chosen] = self._taken.get(chosen, 0) + 1
        return Decision(chosen)

    def record(self, step: Step) -> None:
        """Learn nothing."""

    def finish_execution(self, steps: Sequence[Step]) -> None:
        """Go back to the last place where another actor can go on."""
        del steps
        while self._stack:
            del self._stack[-1][0]
            if self._stack[-1]:
                return
            self._stack.pop()
        self._finished = True


class Noting:
    """A scheduler that does what another one does, and notes who could have gone on."""

    def __init__(self, scheduler: Scheduler, *, carry_on: bool = True) -> None:
        """Prepare.

        Args:
            scheduler: Who decides.
            carry_on: Whether it is told who took the last step.
        """
        self.enabled: list[frozenset[str]] = []
        self._scheduler = scheduler
        self._carry_on = carry_on
        self.record = scheduler.record
        self.finish_execution = scheduler.finish_execution

    def start_execution(self) -> int | None:
        """Begin the next execution."""
        self.enabled = []
        return self._scheduler.start_execution()

    def choose(
        self, enabled: Sequence[SchedulingPoint], current: str | None
    ) -> Decision | None:
        """Let the other one choose."""
        self.enabled.append(frozenset(point.actor for point in enabled))
        return self._scheduler.choose(enabled, current if self._carry_on else None)


class Blind(DPORScheduler):
    """The search, not told of some kinds of resources."""

    def __init__(self, kinds: Collection[str], *, sleep_sets: bool = True) -> None:
        """Prepare.

        Args:
            kinds: What it is not told of.
            sleep_sets: As for the search.
        """
        super().__init__(sleep_sets=sleep_sets)
        self._kinds = kinds

    def record(self, step: Step) -> None:
        """Take note of a step, as far as it is to be seen."""
        if self._kinds:
            seen = Footprint(
                tuple(r for r in step.footprint.reads if r.kind not in self._kinds),
                tuple(
                    write
                    for write in step.footprint.writes
                    if write.resource.kind not in self._kinds
                ),
            )
            step = msgspec.structs.replace(step, footprint=seen)
        super().record(step)


def every_order(
    stage: Stage,
    *,
    limit: int,
    is_private: Callable[[SchedulingPoint, int], bool] = lambda point, taken: False,  # noqa: ARG005  nothing is
    look: Callable[[], Observer] | None = None,
) -> Found:
    """Run every order.

    Args:
        stage: Where the programs are.
        limit: The most orders that are worth it.
        is_private: See `EveryOrder`.
        look: Makes an onlooker for each execution.

    Raises:
        UnsuitedError: There are more, or something was not controlled.
    """
    found = Found()
    scheduler = EveryOrder(is_private)
    noting = Noting(scheduler)
    orders: dict[tuple[str, ...], tuple[Sorted, list[Event]]] = {}
    for played in _run(stage, noting, look):
        if len(orders) == limit:
            raise UnsuitedError("with too many orders")
        sort = sort_of(played.steps, noting.enabled)
        found.add(played, sort)
        events = events_of(played.steps)
        hidden = {events[index] for index in scheduler.private}
        if any(one in hidden or other in hidden for one, other in sort):
            found.wrong.append(f"a step is not private: {played.steps}")
        shown = [event for event in events if event not in hidden]
        orders[tuple(scheduler.order)] = sort, shown
    found.wrong += _not_closed(orders)
    return found


def search(
    stage: Stage,
    *,
    sleep_sets: bool = True,
    carry_on: bool = True,
    blind: Collection[str] = (),
    look: Callable[[], Observer] | None = None,
) -> Found:
    """Run the orders that the search takes for all that matter.

    Args:
        stage: Where the programs are.
        sleep_sets: Whether it leaves out what leads to seen orders.
        carry_on: Whether it goes on with the present actor where it can; else with the
            one that was declared first. Nothing may depend on that.
        blind: Kinds of resources that the search is not told of.
        look: Makes an onlooker for each execution.
    """
    found = Found()
    scheduler = Blind(blind, sleep_sets=sleep_sets)
    noting = Noting(scheduler, carry_on=carry_on)
    for played in _run(stage, noting, look):
        found.add(played, sort_of(played.steps, noting.enabled))
    found.blocked = scheduler.blocked
    return found


def sort_of(steps: Sequence[Step], enabled: Sequence[frozenset[str]]) -> Sorted:
    """Return the pairs of dependent steps of different lanes, as they came.

    Args:
        steps: The steps.
        enabled: Who could have taken each.
    """
    events = events_of(steps)
    pairs = set()
    for index, step in enumerate(steps):
        lane, _ = events[index]
        possible = True
        for earlier in range(index - 1, -1, -1):
            if events[earlier][0] == lane:
                possible = False
            elif possible and lane not in enabled[earlier]:
                # This is what it had to wait for.
                pairs.add((events[earlier], events[index]))
                possible = False
            elif conflicts(steps[earlier].footprint, step.footprint):
                pairs.add((events[earlier], events[index]))
    return frozenset(pairs)


def events_of(steps: Sequence[Step]) -> list[Event]:
    """Return steps by the lane that took them and their place in it."""
    taken: dict[str, int] = {}
    events = []
    for step in steps:
        lane = lane_of(step.actor, step.task)
        number = taken.get(lane, 0)
        taken[lane] = number + 1
        events.append((lane, number))
    return events


def outcome(played: Played) -> str:
    """Return what came of an execution: returned values, what is left, who waits."""
    values = sorted(played.values.items())
    # Since which step the lock is held depends on the order of independent steps.
    waiting = sorted(each.partition(", held by ")[0] for each in played.waiting)
    return f"{values} {sorted(played.tree.items())} {waiting}"


def differ(first: Played, second: Played) -> str:
    """Say how two executions differ that took dependent steps in one order."""
    ours, theirs = (
        dict(zip(events_of(played.steps), map(_seen, played.steps), strict=True))
        for played in (first, second)
    )
    for event in sorted(ours.keys() | theirs.keys()):
        if ours.get(event) != theirs.get(event):
            return f"{event} is {ours.get(event)}, then {theirs.get(event)}"
    if outcome(first) != outcome(second):
        return f"{outcome(first)}, then {outcome(second)}"
    return ""


def _seen(step: Step) -> tuple[object, ...]:
    # Without the arguments: paths are shown as they lead at the moment.
    return step.call, step.result, step.outputs, step.footprint


def _not_closed(orders: dict[tuple[str, ...], tuple[Sorted, list[Event]]]) -> list[str]:
    """Say where two neighbours that are independent cannot change places."""
    wrong = []
    for order, (sort, events) in orders.items():
        for index in range(len(order) - 1):
            one, other = events[index : index + 2]
            if one[0] == other[0] or (one, other) in sort:
                continue
            swapped = list(order)
            swapped[index : index + 2] = swapped[index + 1], swapped[index]
            found = orders.get(tuple(swapped))
            if found is None or found[0] != sort:
                wrong.append(f"{one} and {other} cannot change places in {order}")
    return wrong


def _run(
    stage: Stage, scheduler: Scheduler, look: Callable[[], Observer] | None
) -> Iterator[Played]:
    """Run all executions of a scheduler that are not given up."""
    while scheduler.start_execution() is not None:
        observer = look() if look else None
        played = stage.run(scheduler, reuse=True, observer=observer)
        if played is not None:
            if played.uncontrolled:
                raise UnsuitedError("that lead out of the sandbox")
            if played.unordered:
                raise UnsuitedError(f"not ordered: {played.unordered[0]}")
            yield played
