"""Which calls sleep where, on the way of an exhaustive search to its present state.

A call sleeps in long stretches of states with one and the same footprint. So footprints
are compared once each and not state by state: an execution of ten thousand steps, most
of which are nobody else's concern, is gone through in a moment.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

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
        for place, (choice, touched) in enumerate(node.asleep()):
            key = (choice.actor, id(touched))
            stretch = self._stretches.get(key)
            if stretch is None:
                stretch = self._stretches[key] = _Stretch(choice.actor, touched, [])
            stretch.places.append((-self._length, place))
        self._length += 1

    def racing(self, lane: str, footprint: Footprint) -> Iterator[tuple[int, str]]:
        """Yield where calls of others sleep that conflict with a footprint.

        Args:
            lane: Who is no other.
            footprint: What the step touched.

        Yields:
            Indices of states, the last first, each with the actor that sleeps there.
        """
        found = [
            (*place, stretch.actor)
            for stretch in self._stretches.values()
            if stretch.actor != lane and conflicts(stretch.touched, footprint)
            for place in stretch.places
        ]
        for start, _, actor in sorted(found):
            yield -start, actor


class _Stretch(NamedTuple):
    """The states in which a call of an actor sleeps.

    Attributes:
        actor: The actor.
        touched: What the call touches.
        places: The states, as minus their index, and the call's place in each.
    """

    actor: str
    touched: Footprint
    places: list[tuple[int, int]]
