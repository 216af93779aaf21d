"""Races about lock files: removed while they are held, or staying after a crash."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING

from racecheck.model import Kind
from racecheck.report.diagnosis.case import (
    bound,
    looks,
    makes_anew,
    name_of,
    opens_to_write,
    path_of,
    removed,
    sees,
)
from racecheck.report.diagnosis.kinds import Known

if TYPE_CHECKING:
    from racecheck.model import Step
    from racecheck.report.diagnosis.case import Case, Name
    from racecheck.report.diagnosis.diagnosis import Diagnosis

_LOCKS = frozenset({Kind.FLOCK, Kind.LOCK})


def lock_file_removed(case: Case) -> Diagnosis | None:
    """A lock is taken on a file whose name is gone, and another on the new one."""
    for gone in reversed(case.steps):
        if gone.kind is not Kind.UNLINK or gone.failed:
            continue
        name = name_of(gone)
        opened = [
            step
            for step in case.steps
            if step.kind is Kind.OPEN and not step.failed and name_of(step) == name
        ]
        before = [step for step in opened if step.index < gone.index]
        anew = [
            lock
            for step in opened
            if step.index > gone.index and (lock := _lock(case, step)) is not None
        ]
        for step in before:
            lock = _lock(case, step)
            if lock is None or step.actor == gone.actor or not anew:
                continue
            new = anew[0]
            if new.actor == lock.actor or _finds_out(case, lock, gone):
                continue
            sentence = (
                f"{case.lane(gone)} removed {path_of(gone)} in step {gone.index}; "
                f"{case.lane(lock)} had opened it and locks that file in step "
                f"{lock.index}, {case.lane(new)} locks the new one of that name in "
                f"step {new.index}, and both go on."
            )
            later = max(lock, new, key=lambda each: each.index)
            return Known.LOCK_REMOVED.between(gone, later, sentence)
    return None


def _lock(case: Case, opened: Step) -> Step | None:
    """Return the step that locked an open file, if any did, before it was closed."""
    for step in case.after(opened):
        if step.actor != opened.actor or step.args.get("fd") != opened.result:
            continue
        if step.kind is Kind.CLOSE:
            return None
        if step.kind in _LOCKS and not step.failed:
            return step
    return None


def _finds_out(case: Case, lock: Step, gone: Step) -> bool:
    """Say whether who holds a lock looked, before it acted, what its name means."""
    name = name_of(gone)
    for step in case.after(lock):
        if step.index > case.at:
            break
        if step.actor != lock.actor:
            continue
        if step.args.get("fd") == lock.args.get("fd") and (
            step.kind is Kind.CLOSE or step.kind in _LOCKS
        ):
            break
        if name is None or step.index < gone.index or not looks(step):
            continue
        if sees(step, name):
            return True
    return False


def stale_lock(case: Case) -> Diagnosis | None:
    """A name that serves as a lock stays after a crash, or is taken for such a one."""
    for act in reversed(case.steps):
        name = name_of(act)
        if name is None:
            continue
        if makes_anew(act) and act.result == -errno.EEXIST and act.index in case.blamed:
            for crash in reversed(case.before(act)):
                if crash.kind is Kind.CRASH and crash.actor != act.actor:
                    made = _held_by(case, crash, name)
                    if made is not None:
                        sentence = (
                            f"{case.lane(crash)} made {path_of(made)} in step "
                            f"{made.index} as a lock and was killed, so "
                            f"{case.lane(act)} does not get it in step {act.index}."
                        )
                        return Known.STALE_LOCK.between(crash, act, sentence)
        if act.kind is Kind.UNLINK and not act.failed and _is_lock(case, name):
            found = _replaced(case, act, name)
            if found is not None:
                look, made = found
                sentence = (
                    f"{case.lane(act)} removed {path_of(act)} in step {act.index} "
                    f"because of what it found in step {look.index}, but since step "
                    f"{made.index} it is the lock of {case.lane(made)}."
                )
                return Known.STALE_LOCK.between(made, act, sentence, look)
    return None


def _held_by(case: Case, crash: Step, name: Name) -> Step | None:
    """Return the step with which one who crashed had made a name as a lock."""
    own = [step for step in case.steps if step.actor == crash.actor]
    made = [
        step
        for step in own
        if name in bound(step) and makes_anew(step) and step.index < crash.index
    ]
    if not made or any(
        name in removed(step) and made[-1].index < step.index < crash.index
        for step in own
    ):
        return None
    # A temporary file is moved, a lock only stands there while other names change.
    moved = any(
        step.kind is Kind.RENAME and name_of(step, "oldpath") == name
        for step in case.calls
    )
    works = any(
        step.index > made[-1].index and (bound(step) or opens_to_write(step))
        for step in own
    )
    return made[-1] if works and not moved else None


def _is_lock(case: Case, name: Name) -> bool:
    """Say whether somebody makes a name if it is free, and removes it in the end."""
    for made in case.calls:
        if name in bound(made) and makes_anew(made):
            own = [
                step
                for step in case.calls
                if step.actor == made.actor and step.index > made.index
            ]
            if any(step.kind is Kind.UNLINK and name in removed(step) for step in own):
                return True
    return False


def _replaced(case: Case, act: Step, name: Name) -> tuple[Step, Step] | None:
    """Return who looked at a name before it was removed, and who made it since."""
    before = case.before(act)
    seen = [
        step
        for step in before
        if step.actor == act.actor and looks(step) and sees(step, name)
    ]
    if not seen:
        return None
    made = [
        step
        for step in case.between(seen[-1], act)
        if step.actor != act.actor and name in bound(step)
    ]
    return (seen[-1], made[-1]) if made else None
