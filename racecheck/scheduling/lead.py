"""Parts of an exhaustive search that can be made without the rest of it.

A part begins as what is left to try in a state on the way to the present execution. It
is covered by itself: what its executions show to be missing belongs to it, or to states
on the way, which are no part of it. What it depends on is what sleeps where it begins.
When its turn comes, more may have been tried there, and then it goes another way; but
seldom.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from racecheck.scheduling.nodes import Choice, Node, choices_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from racecheck.model import Footprint, SchedulingPoint


class Lead(NamedTuple):
    """How a part of a search begins.

    Attributes:
        way: What is taken first, to the step that the part begins with; nothing for the
            whole search.
        asleep: What need not be taken in place of that step, with what it touches.
    """

    way: tuple[Choice, ...] = ()
    asleep: Mapping[Choice, Footprint] = {}


WHOLE = Lead()
"""How the whole search begins."""


def leads(stack: Sequence[Node]) -> Iterator[tuple[int, Lead]]:
    """Yield how parts that come later begin, the next first.

    Args:
        stack: The states that the present execution goes through, as far as they were
            known before it.

    Yields:
        The number of the state that a part begins in, and how it begins.
    """
    # What the present execution does in the last state has not been seen yet, and of
    # what is left in the others, what comes second has to know the first.
    for depth in range(len(stack) - 2, -1, -1):
        node = stack[depth]
        others = (choice for choice in node.left() if choice != node.chosen)
        following = next(others, None)
        if following is not None:
            asleep = dict(node.asleep())
            asleep[node.chosen] = node.footprint
            way = (*(each.chosen for each in stack[:depth]), following)
            yield node.serial, Lead(way, asleep)


def present(stack: Sequence[Node]) -> tuple[int, Lead]:
    """Return how the part that the present execution is the first of begins."""
    way = tuple(each.chosen for each in stack)
    return stack[-1].serial, Lead(way, dict(stack[-1].asleep()))


def follow(points: Mapping[str, SchedulingPoint], lead: Lead, depth: int) -> Node:
    """Return a state on the way to where a part begins.

    Args:
        points: Who can go on from there.
        lead: How the part begins.
        depth: Index of the state.
    """
    asleep = dict(lead.asleep) if depth == len(lead.way) - 1 else {}
    chosen = lead.way[depth]
    return Node(choices_of(points), asleep, chosen, "", {chosen.actor: None})
