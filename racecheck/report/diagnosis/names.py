"""Races about what a name means between two calls of one actor."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING

from racecheck.model import Kind
from racecheck.report.diagnosis.case import (
    bound,
    changed,
    makes,
    minds,
    name_of,
    path_of,
    removed,
    sees,
)
from racecheck.report.diagnosis.kinds import Known
from racecheck.report.diagnosis.looking import last_look

if TYPE_CHECKING:
    from racecheck.model import Step
    from racecheck.report.diagnosis.case import Case, Name
    from racecheck.report.diagnosis.diagnosis import Diagnosis

_MAKE = frozenset({Kind.SYMLINK, Kind.LINK, Kind.MKDIR, Kind.OPEN, Kind.RENAME})


def gap(case: Case) -> Diagnosis | None:
    """A name is removed and made again, and the violation lies in between."""
    for gone in reversed(case.steps):
        name = _cleared(case, gone)
        again = _again(case, gone, name) if name is not None else None
        if again is None or name is None:
            continue
        did = "found nothing to remove at" if gone.failed else "removed"
        path = path_of(gone, "oldpath") or path_of(gone)
        what = f"{case.lane(gone)} {did} {path} in step {gone.index}"
        if again.index in case.blamed and again.result == -errno.EEXIST:
            for step in case.between(gone, again):
                if step.actor != gone.actor and name in bound(step):
                    sentence = (
                        f"{what}, and before it made it anew in step {again.index}, "
                        f"{case.lane(step)} did so in step {step.index}."
                    )
                    return Known.GAP.between(step, again, sentence, gone)
        if gone.failed:
            continue
        if case.returns and case.actor != gone.actor:
            for step in case.between(gone, again):
                own = step.actor == case.actor and step.index <= case.at
                if own and sees(step, name) and _missing(step):
                    sentence = (
                        f"{what} and makes it anew only in step {again.index}; "
                        f"{case.lane(step)} found nothing in step {step.index}."
                    )
                    return Known.GAP.between(gone, step, sentence)
        looked = sees(case.trace.steps[case.at], name) and case.at < again.index
        if gone.index == case.at or (case.returns and looked):
            sentence = f"{what} and makes it anew only in step {again.index}."
            return Known.GAP.between(gone, again, sentence)
    return None


def _cleared(case: Case, gone: Step) -> Name | None:
    """Return the name that a step removed or moved away, or found to be none."""
    if gone.kind is Kind.UNLINK and gone.result == -errno.ENOENT:
        return name_of(gone)
    name = next(iter(removed(gone)), None)
    # Who moves its own new file to its place removes a name as well.
    own = gone.kind is Kind.RENAME and name is not None and _made(case, gone, name)
    return None if own else name


def _again(case: Case, gone: Step, name: Name) -> Step | None:
    """Return the step with which one makes anew, or tries to, what it removed."""
    for step in case.after(gone):
        if step.actor != gone.actor:
            continue
        if step.operation != gone.operation:
            return None
        if name in bound(step):
            return step
        target = name_of(step, "newpath") or name_of(step)
        made = step.kind in _MAKE
        if made and step.result == -errno.EEXIST and target == name:
            return step
    return None


def _missing(step: Step) -> bool:
    return step.result in (-errno.ENOENT, -errno.ENOTDIR)


def evicted_by_name(case: Case) -> Diagnosis | None:
    """A name is removed after another had given it to a new file."""
    for gone in reversed(case.steps):
        # Who moves its own new file to its place removes a name as well.
        name = next(iter(removed(gone)), None)
        if name is None or gone.kind is Kind.RMDIR or _made(case, gone, name):
            continue
        if _again(case, gone, name) is not None:
            continue
        seen = last_look(case, gone, name)
        if seen is None:
            continue
        made = [
            step
            for step in case.between(seen, gone)
            if step.actor != gone.actor and name in bound(step)
        ]
        if not made or not (
            gone.index == case.at
            or case.actor in (gone.actor, made[-1].actor)
            or _missed_since(case, gone, name)
        ):
            continue
        path = path_of(gone, "oldpath") or path_of(gone)
        sentence = (
            f"{case.lane(gone)} looked at {path} in step {seen.index} and "
            f"removed it in step {gone.index}, but in step {made[-1].index} "
            f"{case.lane(made[-1])} had put a new one there."
        )
        return Known.EVICTED.between(made[-1], gone, sentence, seen)
    return None


def _missed_since(case: Case, gone: Step, name: Name) -> bool:
    """Say whether the operation that broke it found a name gone after its removal."""
    return any(
        step.index > gone.index and sees(step, name) and _missing(step)
        for step in case.own
    )


def _made(case: Case, gone: Step, name: Name) -> bool:
    """Say whether who removes a name had made it, or written to it."""
    return any(
        step.actor == gone.actor and makes(step) and name_of(step) == name
        for step in case.before(gone)
    )


def check_then_act(case: Case) -> Diagnosis | None:
    """A call fails, or breaks it, because a name changed since it was looked at."""
    for act in case.acts:
        if not (act.failed or minds(act, case.invariant)):
            continue
        for which in ("path", "newpath", "oldpath"):
            name = name_of(act, which)
            seen = last_look(case, act, name, which) if name is not None else None
            if seen is None or name is None:
                continue
            came = [
                step
                for step in case.between(seen, act)
                if step.actor != act.actor and name in changed(step)
            ]
            if came and _explains(came[-1], act, name):
                path = path_of(act, which)
                did = "made" if name in bound(came[-1]) else "removed"
                sentence = (
                    f"{case.lane(act)} looked for {path} in step {seen.index} and "
                    f"relied on that in step {act.index}, but in between "
                    f"{case.lane(came[-1])} {did} it in step {came[-1].index}."
                )
                return Known.CHECK_THEN_ACT.between(came[-1], act, sentence, seen)
    return None


def _explains(change: Step, act: Step, name: Name) -> bool:
    """Say whether a step failed, or did not, because of the change of a name."""
    if act.result == -errno.EEXIST or _lands_on_a_full_folder(act):
        return name in bound(change)
    if _missing(act):
        return name in removed(change)
    return not act.failed


def _lands_on_a_full_folder(act: Step) -> bool:
    """Say whether a step would have moved a folder to where one with names stands."""
    return act.kind is Kind.RENAME and act.result == -errno.ENOTEMPTY


def filled_again(case: Case) -> Diagnosis | None:
    """A folder that was found empty, or made so, cannot be removed any more."""
    for act in case.acts:
        if act.kind is not Kind.RMDIR or act.result != -errno.ENOTEMPTY:
            continue
        held = {
            resource.object
            for resource in act.footprint.reads
            if resource.kind == "membership"
        }
        listed = [
            step
            for step in case.before(act)
            if step.actor == act.actor
            and step.operation == act.operation
            and step.kind is Kind.LISTING
            and any(
                resource.kind == "membership" and resource.object in held
                for resource in step.footprint.reads
            )
        ]
        if not listed:
            continue
        came = [
            step
            for step in case.between(listed[-1], act)
            if step.actor != act.actor and {name.folder for name in bound(step)} & held
        ]
        if came:
            sentence = (
                f"{case.lane(act)} listed {path_of(act)} in step {listed[-1].index} "
                f"and relied on that in step {act.index}, but in between "
                f"{case.lane(came[-1])} put something into it in step {came[-1].index}."
            )
            return Known.CHECK_THEN_ACT.between(came[-1], act, sentence, listed[-1])
    return None
