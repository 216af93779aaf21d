"""What is asked of executions: what they break, whether actors meet, where two part."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from racecheck.model import EMPTY, Kind, Verdict, show_result
from racecheck.model.footprint import EXCLUSIVE
from racecheck.scenario.checks import DEADLOCK

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from racecheck.model import FaultBound, Resource, Step, Trace


def broken(trace: Trace) -> list[str]:
    """Return the names of the invariants that an execution breaks, and `deadlock`."""
    if trace.verdict is Verdict.VIOLATED:
        return [violation.invariant for violation in trace.violations]
    if trace.verdict is not Verdict.DEADLOCKED:
        # What is broken after a call was refused may be so because of that.
        return []
    # What is missing at the end is missing because nobody could go on.
    found = [each.invariant for each in trace.violations if each.step is not None]
    return [*found, DEADLOCK]


def actors_depend(steps: Sequence[Step]) -> bool:
    """Say whether two steps of different actors depend on each other.

    The end of a process touches nothing by itself, and neither does a return.
    """
    return any(True for _ in _meetings(steps))


def touches(trace: Trace) -> bool:
    """Say whether any step depends on anything, or an operation has failed.

    What has a path that is too long fails before anything is looked at.
    """
    ends = (Kind.RETURN, Kind.EXIT)
    real = (step for step in trace.steps if step.kind not in ends)
    failed = any(not each.succeeded for each in trace.operations)
    return failed or any(step.footprint != EMPTY for step in real)


def faults_met(steps: Sequence[Step], bounds: Sequence[FaultBound]) -> Iterator[int]:
    """Yield which of the faults that may come at a call came at one."""
    for index, bound in enumerate(bounds):
        if any(
            step.fault is not None
            and step.fault.kind is bound.fault.kind
            and step.fault.errno == bound.fault.errno
            and bound.on in (step.kind, step.call)
            and bound.actor in ("", step.actor)
            for step in steps
        ):
            yield index


def conflicting_calls(steps: Sequence[Step]) -> Iterator[str]:
    """Name the pairs of calls that two actors made and that depend on each other.

    Such as `openat/rename`. It says what the actors of an execution have to do with
    each other, whatever their order was.
    """
    for one, other in _meetings(steps):
        yield "/".join(sorted((one.call, other.call)))


class _Access(NamedTuple):
    """Who touches something and how: `label` is None for reading."""

    actor: str
    call: str
    label: str | None

    def depends_on(self, other: _Access) -> bool:
        """Say whether the two conflict where they touch the same."""
        if self.actor == other.actor or self.label is other.label is None:
            return False
        return self.label != other.label or self.label == EXCLUSIVE


def _meetings(steps: Sequence[Step]) -> Iterator[tuple[_Access, _Access]]:
    """Yield accesses of two actors that depend on each other; some more than once.

    Executions can have a hundred thousand steps, so that not every two of them can be
    compared. Here they are sorted by what they touch, and then by where that begins.
    """
    things: dict[tuple[str, str, str], set[tuple[int, int, _Access]]] = {}
    for step in steps:
        if step.kind in (Kind.RETURN, Kind.EXIT):
            continue
        for what, label in _touched(step):
            thing = (what.kind, what.object, what.name)
            access = _Access(step.actor, step.call, label)
            things.setdefault(thing, set()).add((what.start, what.end, access))
    for accesses in things.values():
        # Whoever begins no later than this one and ends after its beginning meets it.
        ends: dict[_Access, int] = {}
        equal: dict[tuple[int, int], set[_Access]] = {}
        for start, end, access in sorted(accesses, key=lambda each: each[:2]):
            same = equal.setdefault((start, end), set())
            for other, reached in ends.items():
                meets = other in same or reached > start
                if meets and access.depends_on(other):
                    yield other, access
            ends[access] = max(end, ends.get(access, end))
            same.add(access)


def _touched(step: Step) -> Iterator[tuple[Resource, str | None]]:
    for resource in step.footprint.reads:
        yield resource, None
    for write in step.footprint.writes:
        yield write.resource, write.label


def first_difference(recorded: Sequence[Step], found: Sequence[Step]) -> str:
    """Return where two executions part, as a line, or an empty string."""
    for one, other in zip(recorded, found, strict=False):
        if not one.same_call(other):
            return (
                f"step {one.index}: recorded {one.actor} {_detailed(one, other)}, "
                f"but found {other.actor} {_detailed(other, one)}"
            )
    if len(recorded) != len(found):
        longer = recorded if len(recorded) > len(found) else found
        where = min(len(recorded), len(found))
        return f"step {where}: only one of two executions has {longer[where]}"
    return ""


def _detailed(step: Step, other: Step) -> str:
    """Return a step as a line, with its outputs where those are what differs."""
    if str(step) != str(other) or step.actor != other.actor:
        return str(step)
    return f"{step.call} = {show_result(step.result)} {step.args} {step.outputs}"
