"""Which two steps race: whose order decides that an invariant is broken."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, NamedTuple

from racecheck.footprint import conflicts, dependence
from racecheck.model import Kind, Verdict
from racecheck.report.resources import describe_resource

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from racecheck.model import Resource, Step, Trace

_ENDS = frozenset({Kind.RETURN, Kind.EXIT, Kind.START, Kind.WAKE})
# What every call with a path depends on, and what says least of a race.
_FAINT = (
    *("alive", "membership", "parent", "references", "times", "order", "links"),
    *("missing", "way", "named"),
)


class Racing(NamedTuple):
    """Two steps of different actors that do not commute.

    Attributes:
        first: Index of the one that came first.
        second: Index of the other.
        relied: Index of an earlier step of the second one's actor that touched the
            same, so that the first came between the two; None if there is none.
        what: What both touch.
    """

    first: int
    second: int
    relied: int | None
    what: str


_FAR = 500
"""Steps that are looked at before one, since executions can be long."""


def racing_pair(trace: Trace, invariant: str) -> Racing | None:
    """Return the two steps whose order matters most for a violation.

    It is the last step that had to do with the violation and does not commute with one
    of somebody else's, with the last such one; of several with the same step those are
    preferred where the other came between two steps that depend on each other.
    """
    if trace.verdict is Verdict.DEADLOCKED:
        return _deadlocked(trace)
    for later in itertools.islice(_suspects(trace, invariant), _FAR):
        found = None
        for pair in _pairs(trace, later):
            if pair.relied is not None:
                return pair
            found = found or pair
        if found is not None:
            return found
    return None


def _suspects(trace: Trace, invariant: str) -> Iterator[Step]:
    """Yield steps that may have to do with a violation, the likeliest first."""
    steps = trace.steps
    broken = [each for each in trace.violations if each.invariant == invariant]
    at = broken[0].step if broken and broken[0].step is not None else len(steps) - 1
    actor = (broken[0].actor if broken else None) or (steps[at].actor if steps else "")
    before = [step for step in reversed(steps[: at + 1]) if step.kind not in _ENDS]
    own = [step for step in before if step.actor == actor]
    # An operation that raised did so because of its last call that failed.
    raised = any(
        each.exception and each.actor == actor and each.last == at
        for each in trace.operations
    )
    if raised:
        yield from (step for step in own if step.failed)
    if steps and steps[at].kind not in _ENDS:
        yield steps[at]
    yield from (step for step in own if step.may_change)
    yield from own
    yield from before


def _pairs(trace: Trace, later: Step) -> Iterator[Racing]:
    steps = trace.steps
    for step in _before(steps, later):
        if step.actor == later.actor or step.kind in _ENDS:
            continue
        shared = _telling(dependence(step.footprint, later.footprint))
        if not shared:
            continue
        relied = next(
            (
                each.index
                for each in _before(steps, step)
                if each.actor == later.actor
                and each.kind not in _ENDS
                and conflicts(each.footprint, step.footprint)
                and any(
                    _same(shared[0], other)
                    for other in dependence(each.footprint, step.footprint)
                )
            ),
            None,
        )
        what = describe_resource(trace, shared[0], later.index)
        yield Racing(step.index, later.index, relied, what)


def _same(one: Resource, other: Resource) -> bool:
    """Say whether two resources are one, but for the range of bytes."""
    return (one.kind, one.object, one.name) == (other.kind, other.object, other.name)


def _before(steps: Sequence[Step], step: Step) -> Iterator[Step]:
    """Yield the steps before one, the last of them first."""
    return reversed(steps[max(0, step.index - _FAR) : step.index])


def _telling(shared: Iterable[Resource]) -> list[Resource]:
    """Return what says something to a person, that first which says most."""
    return sorted(
        (each for each in shared if each.kind != "invariant"),
        key=lambda each: (each.kind in _FAINT, each.kind != "entry"),
    )


def _deadlocked(trace: Trace) -> Racing | None:
    """Return the steps at which two who wait took what the other waits for."""
    if trace.detail is None:
        return None
    held = [each.locks for each in trace.detail.moments if each.locks is not None]
    last: dict[str, int] = {}
    names: dict[str, str] = {}
    for lock in held[-1] if held else ():
        last[lock.lane] = max(lock.step, last.get(lock.lane, 0))
        names[lock.lane] = lock.path
    taken = sorted((step, lane) for lane, step in last.items())
    if len(taken) < 2:  # noqa: PLR2004  two make a circle
        return None
    (first, one), (second, other) = taken[-2:]
    return Racing(first, second, None, f"locks on {names[one]} and {names[other]}")
