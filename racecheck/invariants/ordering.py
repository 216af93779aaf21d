"""Whether calls can be put into an order in which a model does the same.

`linear_order` is the search of Wing and Gong ("Testing and verifying concurrent
objects", 1993) with the memory of Lowe ("Testing for linearizability", 2017): what was
done so far and the state it led to are never looked at twice. `serial_order` is the
same for actors as a whole, without regard to time.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final, NamedTuple

from racecheck.errors import NoVerdictError
from racecheck.invariants.models import NEVER, Call, Model, key_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_LOOK_AT_CLOCK_EVERY: Final = 256


class Limit:
    """How long a search may go on; more is no answer.

    Args:
        tries: Calls of the model.
        seconds: Wall-clock time.
    """

    def __init__(self, tries: int, seconds: float) -> None:
        self._tries = tries
        self._seconds = seconds
        self._tried = 0
        self._until = time.monotonic() + seconds

    def count(self) -> None:
        """Count one more.

        Raises:
            NoVerdictError: It is too many, or too late.
        """
        self._tried += 1
        if self._tried > self._tries:
            raise NoVerdictError(f"gave up after {self._tries} calls of the model")
        if self._tried % _LOOK_AT_CLOCK_EVERY == 0 and time.monotonic() > self._until:
            raise NoVerdictError(f"gave up after {self._seconds:g} s")


class Found(NamedTuple):
    """What a search has found.

    Attributes:
        order: The calls in an order that explains them, or the most that one explains.
        explains: Whether it explains all.
    """

    order: tuple[Call, ...]
    explains: bool


class _Node(NamedTuple):
    """A place in a search: what was dealt with, the state, and how it came there."""

    done: int
    state: object
    order: tuple[Call, ...]


def linear_order(calls: Sequence[Call], model: Model, limit: Limit) -> Found:
    """Look for an order of all calls that keeps to their times.

    A call that ended before another began comes before it. What is not known to have
    taken effect may be left out, or come at any time from its beginning on.

    Raises:
        NoVerdictError: The limit was reached.
    """
    calls = sorted(calls, key=lambda call: (call.start, call.end))
    required = sum(1 << index for index, call in enumerate(calls) if call.is_known)

    def next_nodes(node: _Node) -> Iterator[_Node]:
        left = [index for index in range(len(calls)) if not node.done >> index & 1]
        # Whoever ended first has to come before all that began later.
        horizon = min((_bound(calls[index]) for index in left), default=NEVER)
        for index in left:
            call = calls[index]
            if call.start > horizon:
                break
            limit.count()
            state = model.apply(node.state, call)
            if state is not None:
                yield _Node(node.done | 1 << index, state, (*node.order, call))

    return _search(next_nodes, required, model)


def serial_order(calls: Sequence[Call], model: Model, limit: Limit) -> Found:
    """Look for an order of actors, each of which does all it does at once.

    What is not known to have taken effect may be left out.

    Raises:
        NoVerdictError: The limit was reached.
    """
    by_actor: dict[str, list[Call]] = {}
    for call in calls:
        by_actor.setdefault(call.actor, []).append(call)
    actors = list(by_actor.values())

    def next_nodes(node: _Node) -> Iterator[_Node]:
        for index, made in enumerate(actors):
            if node.done >> index & 1:
                continue
            # Whether what is unknown took effect doubles what may have come of it.
            states: list[tuple[object, tuple[Call, ...]]] = [(node.state, ())]
            for call in made:
                after = [] if call.is_known else list(states)
                for state, order in states:
                    limit.count()
                    applied = model.apply(state, call)
                    if applied is not None:
                        after.append((applied, (*order, call)))
                states = after
            for state, order in states:
                yield _Node(node.done | 1 << index, state, (*node.order, *order))

    return _search(next_nodes, (1 << len(actors)) - 1, model)


def _search(next_nodes: object, required: int, model: Model) -> Found:
    """Go through nodes in depth, none twice, until what is required is done."""
    assert callable(next_nodes)  # noqa: S101  for the type checker
    start = model.start()
    best: tuple[Call, ...] = ()
    seen = {(0, key_of(start))}
    waiting = [iter([_Node(0, start, ())])]
    while waiting:
        node = next(waiting[-1], None)
        if node is None:
            waiting.pop()
            continue
        if node.done & required == required:
            return Found(node.order, explains=True)
        key = node.done, key_of(node.state)
        if node.done and key in seen:
            continue
        seen.add(key)
        if len(node.order) > len(best):
            best = node.order
        waiting.append(next_nodes(node))
    return Found(best, explains=False)


def _bound(call: Call) -> int:
    """Return the time before which a call has to have taken effect."""
    return call.end if call.is_known else NEVER
