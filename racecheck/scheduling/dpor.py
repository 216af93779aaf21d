"""Exhaustive exploration: one execution for each inequivalent order, and no more.

Dynamic partial-order reduction with source sets and sleep sets, after Abdulla, Aronis,
Jonsson and Sagonas, *Optimal dynamic partial order reduction*, POPL 2014. It differs in
one thing. There a call reads the same in every order; a file-system call that fails
earlier reads less. The race that would have led to another order can be gone from an
execution while the actor whose turn would show it is asleep. So calls that sleep race
too, with the footprint that they had when they were last made (`_virtual_races`), with
steps that came after they had been woken by another one. There is no finished proof; a
mode without sleep sets, which needs none, is the cross-check.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

from racecheck.errors import ReplayDivergedError
from racecheck.model import Decision, Kind
from racecheck.scheduling.ahead import Ahead
from racecheck.scheduling.events import Events
from racecheck.scheduling.lead import WHOLE, Lead, follow, leads, present
from racecheck.scheduling.nodes import by_actor, enter, inherited
from racecheck.scheduling.sleepers import Sleepers

if TYPE_CHECKING:
    from collections.abc import Collection, Hashable, Iterator, Sequence

    from racecheck.model import SchedulingPoint, Step
    from racecheck.scheduling.nodes import Node


class DPORScheduler:
    """Cover every inequivalent order of the actors' steps, and every allowed fault.

    Steps need footprints. The tasks of one actor are one lane: their order among
    themselves is not permuted, as what they share in memory is no resource.

    Attributes:
        blocked: Executions that were given up because all that could go on was asleep.
        finished: Whether everything has been covered.
        left_out: Whether several tasks of one actor could go on at the same time, so
            that there are orders which are not covered.
        needs_footprints: Steps are to have footprints.
    """

    needs_footprints = True

    def __init__(
        self,
        seed: int = 0,
        *,
        sleep_sets: bool = True,
        lead: Lead = WHOLE,
    ) -> None:
        """Prepare.

        Args:
            seed: Seed of the executions' random bytes, the same for all of them.
            sleep_sets: Whether to leave out what is known to lead to seen orders.
                Without, there are about twice as many executions.
            lead: What part to cover: that which begins in this way.
        """
        self.blocked = 0
        self.finished = False
        self.left_out = False
        self._seed = seed
        self._sleep_sets = sleep_sets
        self._lead = lead
        self._stack: list[Node] = []
        self._events = Events()
        self._depth = 0
        self._fresh = max(0, len(lead.way) - 1)
        self._lanes: dict[str, str] = {}
        self._is_blocked = False
        self._entered = 0

    @property
    def key(self) -> Hashable:
        """What tells the present execution from all others of the search."""
        if not self._stack:
            return "search", 0, None
        node = self._stack[-1]
        return "search", node.serial, node.chosen

    def ahead(self, *, started: bool = True) -> Iterator[Ahead]:
        """Yield parts of the search that come after the present execution.

        Args:
            started: Whether the present one is under way, and not to be made itself.
        """
        found = leads(self._stack)
        if not started and self._stack and not self.finished:
            found = chain([present(self._stack)], found)
        for serial, lead in found:
            part = DPORScheduler(self._seed, sleep_sets=self._sleep_sets, lead=lead)
            key = ("search", serial, lead.way[-1])
            yield Ahead(key, self._seed, part, len(lead.way) - 1)

    def start_execution(self) -> int | None:
        """Begin the next execution; None when all have been made."""
        if self.finished:
            return None
        self._depth = 0
        self._lanes = {}
        self._is_blocked = False
        return self._seed

    def choose(
        self, enabled: Sequence[SchedulingPoint], current: str | None
    ) -> Decision | None:
        """Repeat the prefix, then go on with what is awake, the current actor first."""
        points = by_actor(enabled, self._lanes)
        self.left_out = self.left_out or len(points) < len(enabled)
        if self._depth < len(self._stack):
            node = self._stack[self._depth]
        elif self._depth < len(self._lead.way):
            node = follow(points, self._lead, self._depth)
            self._stack.append(node)
        else:
            found = self._enter(points, current)
            if found is None:
                self._is_blocked = True
                return None
            node = found
            self._entered += 1
            node.serial = self._entered
            self._stack.append(node)
        if node.chosen.actor not in points:
            raise ReplayDivergedError(
                self._depth,
                f"{node.chosen.actor} to go on",
                f"only {', '.join(points)} enabled",
            )
        point = points[node.chosen.actor]
        node.lane = point.actor
        self._lanes[node.chosen.actor] = point.actor
        self._depth += 1
        return Decision(point.actor, node.chosen.fault)

    def record(self, step: Step) -> None:
        """Take note of a step as it was taken, with its footprint."""
        index = self._depth - 1
        node = self._stack[index]
        node.footprint = step.footprint
        if index >= len(self._events):
            enabler = self._enabler(node.chosen.actor, index)
            if step.kind is Kind.WAKE and step.args.get("timed out"):
                # Time passes only when nobody else can go on: whatever came before has
                # led to that.
                enabler = index - 1
            self._events.add(node.chosen.actor, step.footprint, enabler)

    def finish_execution(self, steps: Sequence[Step]) -> None:
        """Find the orders that this execution shows to be missing, and the next one."""
        del steps
        self.blocked += self._is_blocked
        sleepers = Sleepers(self._stack[: self._fresh])
        for index in range(self._fresh, len(self._events)):
            self._races(index)
            if self._sleep_sets:
                sleepers.add(self._stack[index])
                self._virtual_races(index, sleepers)
        self._backtrack()

    # --- going on ---------------------------------------------------------------------

    def _enter(
        self, points: dict[str, SchedulingPoint], current: str | None
    ) -> Node | None:
        sleep = inherited(self._stack[-1]) if self._stack and self._sleep_sets else {}
        return enter(points, current, sleep)

    def _enabler(self, actor: str, index: int) -> int:
        """Return the step before which an actor could not go on, or -1."""
        for earlier in range(index - 1, -1, -1):
            node = self._stack[earlier]
            if node.chosen.actor == actor:
                return -1
            if not node.enables(actor):
                return earlier
        return -1

    # --- after an execution -----------------------------------------------------------

    def _races(self, index: int) -> None:
        for earlier in self._events.races(index):
            node = self._stack[earlier]
            initials = self._events.initials(self._events.not_after(earlier, index))
            self._add(node, initials)

    def _virtual_races(self, index: int, sleepers: Sleepers) -> None:
        event = self._events[index]
        for start, actor, touched in sleepers.racing(event.lane, event.footprint):
            mask = self._events.before(start, index)
            if not self._events.meets(mask & ~(1 << index), actor, touched):
                self._add(self._stack[start], self._events.initials(mask))

    @staticmethod
    def _add(node: Node, initials: Collection[str]) -> None:
        names = list(initials)
        if any(actor in node.backtrack for actor in names):
            return
        possible = [actor for actor in names if node.enables(actor)]
        if not possible:
            # Nobody who could begin the other order can go on here: try everybody.
            node.backtrack.update(dict.fromkeys(c.actor for c in node.choices))
            return
        awake = [actor for actor in possible if node.is_awake(actor)]
        node.backtrack[(awake or possible)[0]] = None

    def _backtrack(self) -> None:
        """Go back to the last state from which something is left to try."""
        while len(self._stack) > len(self._lead.way):
            node = self._stack[-1]
            node.done[node.chosen] = node.footprint
            following = next(node.left(), None)
            if following is not None:
                node.chosen = following
                self._fresh = len(self._stack) - 1
                self._events.cut(self._fresh)
                return
            self._stack.pop()
        self.finished = True
