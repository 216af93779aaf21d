"""Whether what a trace file holds hangs together, before anybody relies on it.

The types of its fields are checked as it is decoded. What is left is that its parts
mean each other: steps are numbered as they come, each is somebody's, and what is
referred to by number is there. Reports look things up without asking again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from racecheck.model import Verdict, lane_of

if TYPE_CHECKING:
    from collections.abc import Container, Iterable

    from racecheck.model import Content, Detail, Finding, Moment, Node, Race, Trace

_NODES: Final = frozenset({"file", "folder", "link", "other"})
_LONGEST: Final = 200
_MOST_TASKS: Final = 1 << 20
_MOST_BYTES: Final = 1 << 62
_MODES: Final = range(0o10000)


def check_race(race: Race) -> None:
    """Refuse a race whose parts contradict each other.

    Raises:
        ValueError: They do; it says which, and where.
    """
    finding = race.finding
    _check_trace(finding.trace)
    _check_finding(finding)
    for share in finding.curve:
        _expect(
            0 <= share.step <= len(finding.trace.steps)
            and 0 <= share.failing <= share.total
            and share.total > 0,
            f"{share.failing} of {share.total} executions from step {share.step} on",
        )


def _check_finding(finding: Finding) -> None:
    trace, original = finding.trace, finding.original
    _expect(
        trace.verdict is Verdict.DEADLOCKED
        or any(each.invariant == finding.invariant for each in trace.violations),
        f"{finding.invariant!r} is not broken",
    )
    _expect(
        (finding.steps, finding.context_switches) == _length(trace),
        f"it is told to have {finding.steps} steps and {finding.context_switches}"
        " context switches",
    )
    _expect(
        finding.execution >= 0 and finding.seen >= 0,
        f"execution {finding.execution} was found {finding.seen} times",
    )
    if original is None:
        return
    try:
        _check_trace(original)
    except ValueError as error:
        raise ValueError(f"{error}, in the execution as it was found") from None
    _expect(
        (finding.found_steps, finding.found_context_switches) == _length(original),
        f"it is told to have had {finding.found_steps} steps and"
        f" {finding.found_context_switches} context switches",
    )


def _length(trace: Trace) -> tuple[int, int]:
    return len(trace.steps), trace.schedule.context_switches()


def _check_trace(trace: Trace) -> None:
    actors = {actor.name for actor in trace.actors}
    _expect(len(actors) == len(trace.actors), "two actors have one name")
    _check_steps(trace, actors)
    steps = range(len(trace.steps))
    for operation in trace.operations:
        _expect(
            operation.actor in actors,
            f"an operation is of {operation.actor!r}, none of the actors",
        )
        for step in (operation.first, operation.last):
            _expect(
                step is None or step in steps,
                f"an operation of {operation.actor!r} has step {step}",
            )
    for violation in trace.violations:
        _expect(
            violation.step is None or violation.step in steps,
            f"{violation.invariant!r} is broken at step {violation.step}",
        )
        _expect(
            violation.actor is None or violation.actor in actors,
            f"{violation.invariant!r} is broken by {violation.actor!r}",
        )
    _check_names(
        [end.actor for end in trace.ends] + list(trace.outputs),
        actors,
        "ends or prints",
    )
    if trace.detail is not None:
        _check_detail(trace.detail, actors, len(trace.steps))


def _check_steps(trace: Trace, actors: Container[str]) -> None:
    decisions = trace.schedule.decisions
    _expect(
        len(decisions) == len(trace.steps),
        f"{len(trace.steps)} steps come of {len(decisions)} decisions",
    )
    for index, (step, decision) in enumerate(zip(trace.steps, decisions, strict=True)):
        _expect(step.index == index, f"step {index} has the number {step.index}")
        _expect(
            step.actor in actors,
            f"step {index} is of {step.actor!r}, none of the actors",
        )
        _expect(
            0 <= step.task < _MOST_TASKS and step.operation >= 0,
            f"step {index} is of task {step.task}, operation {step.operation}",
        )
        _expect(
            decision.actor == lane_of(step.actor, step.task)
            and decision.fault == step.fault,
            f"step {index} is not what was decided",
        )
        _expect(
            step.fault is None or 0 <= step.fault.length <= _MOST_BYTES,
            f"step {index} has an impossible fault",
        )


def _check_detail(detail: Detail, actors: Container[str], steps: int) -> None:
    _expect(
        len(detail.moments) == steps,
        f"{len(detail.moments)} of {steps} steps were recorded",
    )
    _check_contents(detail.contents)
    for number, stack in enumerate(detail.stacks):
        _expect(
            bool(stack) and all(0 <= each < len(detail.frames) for each in stack),
            f"stack {number} has frames that are not there",
        )
    _check_names(detail.printed, actors, "prints")
    _check_nodes(detail.start, detail, "at the start")
    for index, moment in enumerate(detail.moments):
        _check_moment(index, moment, detail, actors, steps)


def _check_contents(contents: Iterable[Content]) -> None:
    """Check that each content can be made of the one that it comes of."""
    lengths: list[int] = []
    for number, each in enumerate(contents):
        _expect(
            -1 <= each.base < number,
            f"content {number} comes of content {each.base}",
        )
        before = lengths[each.base] if each.base >= 0 else 0
        length = before - each.removed + len(each.data)
        _expect(
            min(each.start, each.removed) >= 0
            and each.start + each.removed <= before
            and length <= each.length <= _MOST_BYTES,
            f"content {number} replaces {each.removed} of {before} bytes from byte"
            f" {each.start} on",
        )
        lengths.append(length)


def _check_moment(
    index: int, moment: Moment, detail: Detail, actors: Container[str], steps: int
) -> None:
    _expect(
        -1 <= moment.stack < len(detail.stacks)
        and -1 <= moment.program < len(detail.programs),
        f"step {index} has stack {moment.stack} or program {moment.program}",
    )
    _check_nodes(moment.changed, detail, f"after step {index}")
    _check_names(moment.printed, actors, f"prints at step {index}")
    _check_names(map(_actor, moment.waiting or ()), actors, f"waits at step {index}")
    for lock in moment.locks or ():
        _check_names([_actor(lock.lane)], actors, f"has a lock at step {index}")
        _expect(0 <= lock.step < steps, f"a lock was taken at step {lock.step}")


def _check_nodes(nodes: dict[str, Node], detail: Detail, when: str) -> None:
    for path, node in nodes.items():
        _expect(
            node.kind in _NODES
            and node.mode in _MODES
            and -1 <= node.content < len(detail.contents),
            f"{path!r} is {node.kind!r} with content {node.content} {when}",
        )


def _check_names(names: Iterable[str], actors: Container[str], what: str) -> None:
    for name in names:
        _expect(name in actors, f"{name!r}, who {what}, is none of the actors")


def _actor(lane: str) -> str:
    return lane.partition(":")[0]


def _expect(holds: bool, found: str) -> None:  # noqa: FBT001  as an assertion has it
    if not holds:
        # Names in it can be of any length.
        raise ValueError(f"it contradicts itself: {found:.{_LONGEST}}")
