"""Exhaustive exploration: one execution for each inequivalent order, and no more.

Dynamic partial-order reduction with source sets and sleep sets, after Abdulla, Aronis,
Jonsson and Sagonas, *Optimal dynamic partial order reduction*, POPL 2014. It differs in
one thing. There a call reads the same in every order; a file-system call that fails
earlier reads less. The race that would have led to another order can be gone from an
execution while the actor whose turn would show it is asleep. So calls that sleep race
too, with the footprint that they had when they were last made (`_virtual_races`). There
is no finished proof; a mode without sleep sets, which needs none, is the cross-check.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from racecheck.errors import ReplayDivergedError
from racecheck.footprint import conflicts
from racecheck.model import EMPTY, Decision, Fault, Kind, from_lane
from racecheck.scheduling.events import Events

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from racecheck.model import Footprint, SchedulingPoint, Step


class Choice(NamedTuple):
    """One way to go on: an actor's next step, plain or with a fault."""

    actor: str
    fault: Fault | None = None


@dataclass(slots=True)
class Node:
    """A state that the present execution went through, and what was tried from it.

    Attributes:
        choices: All ways to go on.
        sleep: Ways that lead only to what has been seen, with what they touch.
        chosen: The way that the present execution took.
        lane: The task of the chosen actor that took the step.
        backtrack: Actors to try from here.
        done: Ways that have been tried, with what they touched.
        footprint: What the chosen step touched.
    """

    choices: tuple[Choice, ...]
    sleep: dict[Choice, Footprint]
    chosen: Choice
    lane: str
    backtrack: dict[str, None] = field(default_factory=dict)
    done: dict[Choice, Footprint] = field(default_factory=dict)
    footprint: Footprint = EMPTY

    def enables(self, actor: str) -> bool:
        """Say whether an actor can go on from here."""
        return any(choice.actor == actor for choice in self.choices)

    def asleep(self) -> Iterator[tuple[Choice, Footprint]]:
        """Return the ways that need not be taken, with what they touch."""
        yield from self.sleep.items()
        yield from self.done.items()

    def is_awake(self, actor: str) -> bool:
        """Say whether a way of an actor has neither been tried nor sleeps."""
        return any(
            choice.actor == actor
            and choice not in self.sleep
            and choice not in self.done
            for choice in self.choices
        )


class DPORScheduler:
    """Cover every inequivalent order of the actors' steps, and every allowed fault.

    Steps need footprints. The tasks of one actor are one lane: their order among
    themselves is not permuted, as what they share in memory is no resource.

    Attributes:
        blocked: Executions that were given up because all that could go on was asleep.
        finished: Whether everything has been covered.
        left_out: Whether several tasks of one actor could go on at the same time, so
            that there are orders which are not covered.
    """

    def __init__(self, seed: int = 0, *, sleep_sets: bool = True) -> None:
        """Prepare.

        Args:
            seed: Seed of the executions' random bytes, the same for all of them.
            sleep_sets: Whether to leave out what is known to lead to seen orders.
                Without, there are about twice as many executions.
        """
        self.blocked = 0
        self.finished = False
        self.left_out = False
        self._seed = seed
        self._sleep_sets = sleep_sets
        self._stack: list[Node] = []
        self._events = Events()
        self._depth = 0
        self._fresh = 0
        self._lanes: dict[str, str] = {}
        self._is_blocked = False

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
        points = self._by_actor(enabled)
        if self._depth < len(self._stack):
            node = self._stack[self._depth]
            if node.chosen.actor not in points:
                raise ReplayDivergedError(
                    self._depth,
                    f"{node.chosen.actor} to go on",
                    f"only {', '.join(points)} enabled",
                )
        else:
            found = self._enter(points, current)
            if found is None:
                self._is_blocked = True
                return None
            node = found
            self._stack.append(node)
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
        for index in range(self._fresh, len(self._events)):
            self._races(index)
            if self._sleep_sets:
                self._virtual_races(index)
        self._backtrack()

    # --- going on ---------------------------------------------------------------------

    def _by_actor(
        self, enabled: Sequence[SchedulingPoint]
    ) -> dict[str, SchedulingPoint]:
        """Return one point for each actor: that of the task it went on with last."""
        points: dict[str, SchedulingPoint] = {}
        for point in enabled:
            actor, _ = from_lane(point.actor)
            if actor not in points or point.actor == self._lanes.get(actor):
                points[actor] = point
        self.left_out = self.left_out or len(points) < len(enabled)
        return points

    def _enter(
        self, points: dict[str, SchedulingPoint], current: str | None
    ) -> Node | None:
        choices = tuple(
            Choice(actor, fault)
            for actor, point in points.items()
            for fault in (None, *point.faults)
        )
        sleep = self._inherited()
        awake = [choice for choice in choices if choice not in sleep]
        if not awake:
            return None
        carry_on = Choice(from_lane(current)[0]) if current else None
        plain = [choice for choice in awake if choice.fault is None]
        chosen = carry_on if carry_on in plain else (plain or awake)[0]
        assert chosen is not None  # noqa: S101  awake is not empty
        return Node(choices, sleep, chosen, "", {chosen.actor: None})

    def _inherited(self) -> dict[Choice, Footprint]:
        """Return what sleeps after the last step: what does not depend on it."""
        if not self._stack or not self._sleep_sets:
            return {}
        parent = self._stack[-1]
        return {
            choice: touched
            for choice, touched in parent.asleep()
            if choice.actor != parent.chosen.actor
            and not conflicts(touched, parent.footprint)
        }

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

    def _virtual_races(self, index: int) -> None:
        event = self._events[index]
        known: dict[int, bool] = {}
        for start in range(index, -1, -1):
            node = self._stack[start]
            for choice, touched in node.asleep():
                if choice.actor == event.lane:
                    continue
                if id(touched) not in known:
                    known[id(touched)] = conflicts(touched, event.footprint)
                if not known[id(touched)]:
                    continue
                if self._events.follows_lane(choice.actor, start, index):
                    continue
                mask = self._events.before(start, index)
                self._add(node, self._events.initials(mask))

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
        while self._stack:
            node = self._stack[-1]
            node.done[node.chosen] = node.footprint
            following = self._untried(node)
            if following is not None:
                node.chosen = following
                self._fresh = len(self._stack) - 1
                self._events.cut(self._fresh)
                return
            self._stack.pop()
        self.finished = True

    @staticmethod
    def _untried(node: Node) -> Choice | None:
        for choice in node.choices:
            if (
                choice.actor in node.backtrack
                and choice not in node.done
                and choice not in node.sleep
            ):
                return choice
        return None
