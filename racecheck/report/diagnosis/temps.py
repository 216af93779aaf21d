"""Races about temporary files: shared, removed while in use, or left behind."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING

from racecheck.model import Kind
from racecheck.report.diagnosis.case import (
    Name,
    bound,
    changed,
    filled,
    makes,
    minds,
    name_of,
    path_of,
    removed,
)
from racecheck.report.diagnosis.kinds import Known

if TYPE_CHECKING:
    from collections.abc import Iterator

    from racecheck.model import Step
    from racecheck.report.diagnosis.case import Case
    from racecheck.report.diagnosis.diagnosis import Diagnosis


def shared_temp(case: Case) -> Diagnosis | None:
    """Two writers open one name before the first has moved it to its place."""
    for opened, used, name in _uses(case):
        others = [
            step
            for step in case.before(used)
            if _who(step) != _who(used) and makes(step) and name_of(step) == name
        ]
        if opened.failed:
            # Made only if it is not there, it stops at the file of another writer.
            made = [step for step in others if name in bound(step)]
            if made and opened.result == -errno.EEXIST:
                return _shared(case, made[-1], opened, None)
            continue
        touching = [
            step
            for step in case.between(opened, used)
            if _who(step) in {_who(each) for each in others}
            and (name in changed(step) or filled(step) & _inodes(case, opened, used))
        ]
        if touching:
            return _shared(case, touching[-1], used, opened)
    return None


def _shared(case: Case, first: Step, second: Step, opened: Step | None) -> Diagnosis:
    path = path_of(second, "oldpath") or path_of(second)
    sentence = (
        f"{case.lane(first)} and {case.lane(second)} both use {path} as their "
        f"temporary file, and step {first.index} of the one came before step "
        f"{second.index} of the other, which takes the file for its own."
    )
    pids = {each.name: each.pid for each in case.trace.actors}
    pid = pids.get(second.actor)
    # Tasks of one process have its id, whatever actor they are of.
    same = pid is not None and pids.get(first.actor) == pid
    known = Known.WRONG_PID if same and str(pid) in path else Known.SHARED_TEMP
    return known.between(first, second, sentence, opened)


def live_temp_removed(case: Case) -> Diagnosis | None:
    """Somebody who is no writer of it takes a file away before it is published."""
    for opened, used, name in _uses(case):
        if opened.failed:
            continue
        for step in case.between(opened, used):
            if step.actor != used.actor and name in removed(step):
                sentence = (
                    f"{case.lane(step)} removed {path_of(opened)} in step {step.index} "
                    f"while {case.lane(used)}, who had made it, still needed it in "
                    f"step {used.index}."
                )
                return Known.LIVE_TEMP.between(step, used, sentence, opened)
    return None


def left_behind(case: Case) -> Diagnosis | None:
    """A file that its maker neither moved nor removed before it failed or crashed."""
    gone = frozenset[Name]().union(*(removed(step) for step in case.steps))
    for made in reversed(case.steps):
        if not (makes(made) and bound(made)) or bound(made) & gone:
            continue
        if not (minds(made, case.invariant) or (case.failed and _own(case, made))):
            continue
        for step in case.after(made):
            if step.index > case.at:
                break
            if step.actor == made.actor and (
                step.kind is Kind.CRASH or (step.fault is not None and step.failed)
            ):
                how = "was killed" if step.kind is Kind.CRASH else "failed"
                sentence = (
                    f"{case.lane(made)} made {path_of(made)} in step {made.index} and "
                    f"{how} in step {step.index}; nobody removed the file."
                )
                return Known.LEFT_BEHIND.between(made, step, sentence)
    return None


def _own(case: Case, step: Step) -> bool:
    return step.actor == case.actor


def _who(step: Step) -> tuple[str, int]:
    """Return who took a step, a thread as one of its own."""
    return step.actor, step.task


def _uses(case: Case) -> Iterator[tuple[Step, Step, Name]]:
    """Yield where a file was opened and then moved, each with the name it had.

    It is only those that have to do with the violation: their actor is the one whose
    operation it was, or what they changed is looked at. Where opening failed it stands
    in both places.
    """
    moved = {
        name_of(step, "oldpath") for step in case.calls if step.kind is Kind.RENAME
    }
    for used in case.calls:
        if not _matters(case, used):
            continue
        if makes(used) and used.failed and case.failed:
            name = name_of(used)
            if name is not None and name in moved and used.index in case.blamed:
                yield used, used, name
        if used.kind is not Kind.RENAME:
            continue
        name = name_of(used, "oldpath")
        opened = [
            step
            for step in case.before(used)
            if _who(step) == _who(used)
            and makes(step)
            and not step.failed
            and name_of(step) == name
        ]
        if opened and name is not None:
            yield opened[-1], used, name


def _matters(case: Case, used: Step) -> bool:
    """Say whether a step has to do with the violation."""
    if used.index == case.at or used.actor == case.actor:
        return True
    at = case.trace.steps[case.at]
    if any(
        used.kind is Kind.RENAME and name_of(used, "oldpath") == name
        for name in removed(at)
    ):
        return True
    name = name_of(used, "newpath")
    return (
        used.index < case.at
        and name is not None
        and (
            any(
                resource.kind == "entry" and (resource.object, resource.name) == name
                for resource in at.footprint.reads
            )
        )
    )


def _inodes(case: Case, opened: Step, used: Step) -> frozenset[str]:
    """Return the inodes that were filled under the descriptor of an opened file."""
    found = filled(opened)
    for step in case.between(opened, used):
        if _who(step) == _who(opened) and step.args.get("fd") == opened.result:
            if step.kind is Kind.CLOSE:
                break
            found |= filled(step)
    return found
