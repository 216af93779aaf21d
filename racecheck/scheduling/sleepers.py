"""Which calls sleep where, on the way of an exhaustive search to its present state.

A call sleeps in long stretches of states with one and the same footprint. So footprints
are compared once each and not state by state: an execution of ten thousand steps, most
of which are nobody else's concern, is gone through in a moment.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from racecheck.footprint import conflicts

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from racecheck.model import Footprint
    from racecheck.scheduling.nodes import Node


class Sleepers:
    """The ways that need not be taken from the states of one execution, in order."""

    def __init__(self, nodes: Iterable[Node]) -> None:
        self._length = 0
        # Footprints are told apart by identity, which costs less than their contents.
        # The states keep them alive.
        self._stretches: dict[tuple[str, int], _Stretch] = {}
        for node in nodes:
            self.add(node)

    def add(self, node: Node) -> None:
        """Add the next state."""
        inherited = len(node.sleep)
        for place, (choice, touched) in enumerate(node.asleep()):
            key = (choice.actor, id(touched))
            stretch = self._stretches.get(key)
            if stretch is None:
                stretch = self._stretches[key] = _Stretch(choice.actor, touched)
            if place >= inherited:
                # It was made from here, and falls asleep.
                stretch.fallen = len(stretch.places)
            stretch.places.append((-self._length, place))
        self._length += 1

    def racing(
        self, lane: str, footprint: Footprint
    ) -> Iterator[tuple[int, str, Footprint]]:
        """Yield where calls of others slept that conflict with the last state's step.

        Those that have slept until this step are left out: it wakes them, and so the
        present execution is one in which it comes first.

        Args:
            lane: Who took the step, and is no other.
            footprint: What the step touched.

        Yields:
            Indices of states, the last first, each with the actor that slept there and
            what its call touches.
        """
        last = self._length - 1
        found = [
            (*place, stretch.actor, stretch.touched)
            for stretch in self._stretches.values()
            if stretch.actor != lane and conflicts(stretch.touched, footprint)
            for place in stretch.before(last)
        ]
        for start, _, actor, touched in sorted(found, key=_by_place):
            yield -start, actor, touched


@dataclass(slots=True)
class _Stretch:
    """The states in which a call of an actor sleeps.

    Attributes:
        actor: The actor.
        touched: What the call touches.
        places: The states, as minus their index, and the call's place in each.
        fallen: Which of these is the one that it last fell asleep in.
    """

    actor: str
    touched: Footprint
    places: list[tuple[int, int]] = field(default_factory=list)
    fallen: int = 0

    def before(self, last: int) -> list[tuple[int, int]]:
        """Return the states in which it slept and from which it was woken by now.

        Args:
            last: Index of the present state.
        """
        sleeps = self.places[-1][0] == -last
        return self.places[: self.fallen] if sleeps else self.places


def _by_place(found: tuple[int, int, str, Footprint]) -> tuple[int, int]:
    return found[0], found[1]
