"""Sorting the orders of a program by the executions of a search that stand for them."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from tests.orders.direct import show

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.footprint.stage import Played
    from tests.orders.direct import Outcome
    from tests.orders.every import Event, Found
    from tests.orders.small import Small

_ENDS = 2
"""Steps in which an operation and its process end."""

_WAY_BACK = 2
"""Steps that lead an actor back to its working directory; see `small.perform`."""


class _Class(NamedTuple):
    """An execution of the search, which stands for a number of orders.

    Attributes:
        pairs: Its dependent steps, the earlier one first.
        taken: How many calls each actor makes.
        shown: What came of it.
        order: Who took its steps.
    """

    pairs: tuple[tuple[Event, Event], ...]
    taken: Mapping[str, int]
    shown: str
    order: tuple[str, ...]


class Classes:
    """The executions of a search, each with the orders that it stands for."""

    def __init__(self, small: Small, found: Found, root: str) -> None:
        """Take the executions.

        Args:
            small: The programs.
            found: What the search has found.
            root: Path of the sandbox in which it ran.
        """
        self._small = small
        self._root = root
        self._classes = [
            self._class(played, sort) for sort, played in found.sorts.items()
        ]
        self._sizes: Counter[int] = Counter()

    def place(self, outcome: Outcome) -> list[str]:
        """Put an order where it belongs, and say what is wrong with that."""
        places: dict[Event, int] = {}
        taken: Counter[str] = Counter()
        hidden: set[Event] = set()
        for place, name in enumerate(outcome.order):
            event = name, taken[name]
            places[event] = place
            if place in outcome.private:
                hidden.add(event)
            taken[name] += 1
        fitting = [
            number
            for number, each in enumerate(self._classes)
            if each.taken == taken
            and all(places.get(a, 0) < places.get(b, 0) for a, b in each.pairs)
        ]
        self._sizes.update(fitting)
        if len(fitting) != 1:
            return [f"{len(fitting)} executions stand for {outcome.order}"]
        each = self._classes[fitting[0]]
        wrong = []
        if each.shown != outcome.shown:
            wrong.append(
                f"of {outcome.order} came\n{outcome.shown}\n"
                f"of {each.order}, which stands for it,\n{each.shown}"
            )
        if any(event in hidden for pair in each.pairs for event in pair):
            wrong.append(f"a step is not private: {outcome.order}")
        return wrong

    def empty(self) -> list[str]:
        """Name the executions that stand for no order, and so cannot be."""
        return [
            f"invented an order: {each.order}"
            for number, each in enumerate(self._classes)
            if not self._sizes[number]
        ]

    def _class(self, played: Played, sort: frozenset[tuple[Event, Event]]) -> _Class:
        # An actor that moves begins with a call that the program does not make.
        skipped = {name: int(self._small.moves(name)) for name in self._small.actors}
        idle = {each.split()[0] for each in played.waiting}
        steps = Counter(played.order)
        taken = {}
        for name, skip in skipped.items():
            end = 0 if name in idle else _ENDS + _WAY_BACK * skip
            taken[name] = steps[name] - skip - end
        pairs = sorted(
            ((one[0], one[1] - skipped[one[0]]), (two[0], two[1] - skipped[two[0]]))
            for one, two in sort
        )
        tree = {name: shown[1:] for name, shown in played.tree.items()}
        return _Class(
            tuple(pairs),
            {name: count for name, count in taken.items() if count},
            show(self._small, played.values, tree, idle, self._root),
            tuple(played.order),
        )
