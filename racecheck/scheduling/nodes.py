"""The states that an exhaustive search comes through, and how it goes on from them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from racecheck.footprint import conflicts
from racecheck.model import EMPTY, Fault, from_lane

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from racecheck.model import Footprint, SchedulingPoint


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
        serial: Number of the state among all that the search has come to.
    """

    choices: tuple[Choice, ...]
    sleep: dict[Choice, Footprint]
    chosen: Choice
    lane: str
    backtrack: dict[str, None] = field(default_factory=dict)
    done: dict[Choice, Footprint] = field(default_factory=dict)
    footprint: Footprint = EMPTY
    serial: int = 0

    def enables(self, actor: str) -> bool:
        """Say whether an actor can go on from here."""
        return any(choice.actor == actor for choice in self.choices)

    def asleep(self) -> Iterator[tuple[Choice, Footprint]]:
        """Return the ways that need not be taken, with what they touch."""
        yield from self.sleep.items()
        yield from self.done.items()

    def left(self) -> Iterator[Choice]:
        """Yield what is left to try, in its order.

        That is the one in which actors were found to be worth trying, so that what is
        found later changes nothing of what comes before it.
        """
        for actor in self.backtrack:
            for choice in self.choices:
                if (
                    choice.actor == actor
                    and choice not in self.done
                    and choice not in self.sleep
                ):
                    yield choice

    def is_awake(self, actor: str) -> bool:
        """Say whether a way of an actor has neither been tried nor sleeps."""
        return any(
            choice.actor == actor
            and choice not in self.sleep
            and choice not in self.done
            for choice in self.choices
        )


def by_actor(
    enabled: Sequence[SchedulingPoint], lanes: Mapping[str, str]
) -> dict[str, SchedulingPoint]:
    """Return one point for each actor: that of the task it went on with last.

    Args:
        enabled: Who can go on.
        lanes: The task that each actor went on with last.
    """
    points: dict[str, SchedulingPoint] = {}
    for point in enabled:
        actor, _ = from_lane(point.actor)
        if actor not in points or point.actor == lanes.get(actor):
            points[actor] = point
    return points


def enter(
    points: Mapping[str, SchedulingPoint],
    current: str | None,
    sleep: dict[Choice, Footprint],
) -> Node | None:
    """Return a new state, with the way that is tried first; None if all are asleep.

    That is what is awake and goes well, the current actor's before others.
    """
    choices = choices_of(points)
    awake = [choice for choice in choices if choice not in sleep]
    if not awake:
        return None
    carry_on = Choice(from_lane(current)[0]) if current else None
    plain = [choice for choice in awake if choice.fault is None]
    chosen = carry_on if carry_on in plain else (plain or awake)[0]
    assert chosen is not None  # noqa: S101  awake is not empty
    return Node(choices, sleep, chosen, "", {chosen.actor: None})


def choices_of(points: Mapping[str, SchedulingPoint]) -> tuple[Choice, ...]:
    """Return all ways to go on from a state."""
    return tuple(
        Choice(actor, fault)
        for actor, point in points.items()
        for fault in (None, *point.faults)
    )


def inherited(parent: Node) -> dict[Choice, Footprint]:
    """Return what sleeps after the step from a state: what does not depend on it."""
    return {
        choice: touched
        for choice, touched in parent.asleep()
        if choice.actor != parent.chosen.actor
        and not conflicts(touched, parent.footprint)
    }
