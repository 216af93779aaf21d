"""Which call opened a file that is filled, when it was filled, and who gave it anew."""

from __future__ import annotations

from typing import TYPE_CHECKING

from racecheck.model import FaultKind, Kind
from racecheck.report.diagnosis.case import (
    bound,
    filled,
    name_of,
    opens_to_write,
    path_of,
)
from racecheck.report.diagnosis.kinds import Known

if TYPE_CHECKING:
    from racecheck.model import Step
    from racecheck.report.diagnosis.case import Case, Name
    from racecheck.report.diagnosis.diagnosis import Diagnosis


def gives(case: Case, step: Step, name: Name | None) -> bool:
    """Say whether a step gives a name to a new file, or fills the one it means."""
    if name in bound(step):
        return True
    opened = opener(case, step)
    return opened is not None and name_of(opened) == name


def opener(case: Case, act: Step) -> Step | None:
    """Return the step that opened, for writing, the file that a step filled."""
    if act.kind is Kind.OPEN:
        return act if opens_to_write(act) and not act.failed else None
    if not filled(act):
        return None
    descriptor = act.args.get("outfd", act.args.get("fd"))
    for step in reversed(case.before(act)):
        if (
            step.actor == act.actor
            and step.kind is Kind.OPEN
            and step.result == descriptor
        ):
            return step
    return None


def last_fill(case: Case, opened: Step) -> Step:
    """Return the last step that filled an open file, or what came of filling it.

    That is the crash of who did, or the call on it that was made to fail.
    """
    last = opened
    for step in case.after(opened):
        if step.actor != opened.actor:
            continue
        if step.kind is Kind.CRASH:
            return step
        descriptor = step.args.get("outfd", step.args.get("fd"))
        if descriptor != opened.result:
            continue
        if step.fault is not None and step.failed:
            return step
        if step.kind is Kind.CLOSE:
            break
        if filled(step):
            last = step
    return last


def first_fill(case: Case, opened: Step) -> Step | None:
    """Return the step since which an open file is no longer what it was, if any.

    That is its opening where this makes or empties it, else the first write to it.
    """
    if filled(opened) or bound(opened):
        return opened
    for step in case.after(opened):
        descriptor = step.args.get("outfd", step.args.get("fd"))
        if step.actor != opened.actor or descriptor != opened.result:
            continue
        if step.kind is Kind.CLOSE:
            break
        if filled(step):
            return step
    return None


def is_cut_off(last: Step) -> bool:
    """Say whether a file was left as it was after a step, filled or not.

    Args:
        last: What `last_fill` tells.
    """
    torn = last.fault is not None and last.fault.kind is FaultKind.TEAR
    return torn or last.failed or last.kind is Kind.CRASH


def moved_names(case: Case) -> frozenset[Name | None]:
    """Return the names under which files are only made, to be given another."""
    return frozenset(
        name_of(step, "oldpath")
        for step in case.calls
        if step.kind in (Kind.RENAME, Kind.LINK)
    )


def written_in_place(case: Case, opened: Step, last: Step) -> Diagnosis:
    """Return the diagnosis of a file that was filled under the name it is found by.

    Args:
        case: The execution.
        opened: Who opened it to fill it.
        last: What `last_fill` tells of that.
    """
    if is_cut_off(last):
        how = "fails" if last.failed else "was killed"
        until = f"{how} in step {last.index}, before it was whole: since then"
    else:
        until = f"writes its last bytes in step {last.index}: in between"
    sentence = (
        f"{case.lane(opened)} opens {path_of(opened)} for writing in step "
        f"{opened.index} and {until} others find a piece."
    )
    return Known.IN_PLACE.between(opened, last, sentence)
