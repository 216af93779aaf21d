"""Races about what stands in files: written where it is read, or of two versions."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

from racecheck.model import Kind, Step
from racecheck.model.footprint import EXCLUSIVE
from racecheck.report.diagnosis.case import (
    bound,
    filled,
    minds,
    name_of,
    opens_to_read,
    opens_to_write,
    path_of,
)
from racecheck.report.diagnosis.kinds import Known

if TYPE_CHECKING:
    from collections.abc import Iterator

    from racecheck.report.diagnosis.case import Case, Name
    from racecheck.report.diagnosis.diagnosis import Diagnosis


def through_link(case: Case) -> Diagnosis | None:
    """A step that broke it wrote to what a symbolic link led to."""
    for act in _fills(case):
        opened = _opened(case, act)
        name = name_of(opened) if opened is not None else None
        if opened is None or name is None:
            continue
        link = case.linked_at(name, opened)
        if not link:
            continue
        what = f"step {opened.index} of {case.lane(opened)} writes through it"
        if isinstance(link, Step):
            sentence = (
                f"{case.lane(link)} made {path_of(opened)} a symbolic link in step "
                f"{link.index}, and {what}."
            )
            own = [
                step
                for step in case.before(link)
                if step.actor == opened.actor
                and step.actor != link.actor
                and name_of(step) == name
            ]
            relied = own[-1] if own else None
            return Known.THROUGH_LINK.between(link, opened, sentence, relied)
        sentence = f"{path_of(opened)} was a symbolic link, and {what}."
        last = _last_fill(case, opened)
        return Known.THROUGH_LINK.between(opened, last, sentence)
    return None


def in_place(case: Case) -> Diagnosis | None:
    """A step that broke it wrote to a file under the name that others read it by."""
    moved = {
        name_of(step, "oldpath")
        for step in case.calls
        if step.kind in (Kind.RENAME, Kind.LINK)
    }
    for act in _fills(case):
        opened = _opened(case, act)
        if opened is None or name_of(opened) in moved:
            continue
        last = _last_fill(case, opened)
        if last.index == opened.index:
            continue
        if last.kind is Kind.CRASH:
            until = f"was killed in step {last.index}, before it was whole"
        elif last.failed:
            until = f"fails in step {last.index}, before it is whole"
        else:
            until = f"writes its last bytes in step {last.index}"
        sentence = (
            f"{case.lane(opened)} opens {path_of(opened)} for writing in step "
            f"{opened.index} and {until}: in between others find a piece."
        )
        return Known.IN_PLACE.between(opened, last, sentence)
    return None


def torn_read(case: Case) -> Diagnosis | None:
    """Between two opens of one operation somebody gave what they read anew."""
    if not case.returns:
        return None
    own = [
        step for step in case.steps if step.actor == case.actor and opens_to_read(step)
    ]
    for one, two in combinations(reversed(own), 2):
        second, first = one, two
        names = name_of(first), name_of(second)
        if first.operation != second.operation or None in names:
            continue
        between = [
            step for step in case.between(first, second) if step.actor != case.actor
        ]
        changes = [step for step in between if _gives(case, step, names[1])]
        if not changes or not any(_gives(case, step, names[0]) for step in between):
            continue
        sentence = (
            f"{case.lane(first)} opens {path_of(first)} in step {first.index} and "
            f"{path_of(second)} in step {second.index}, and in between, in step "
            f"{changes[-1].index}, {case.lane(changes[-1])} gave it anew."
        )
        return Known.TORN_READ.between(changes[-1], second, sentence, first)
    return None


def lost_update(case: Case) -> Diagnosis | None:
    """What was read is written anew although another has written since."""
    if case.failed:
        return None
    for act in case.acts:
        opened = _opened(case, act)
        name = (
            name_of(act, "newpath")
            if act.kind is Kind.RENAME
            else name_of(opened)
            if opened is not None
            else None
        )
        if name is None:
            continue
        before = [
            step
            for step in case.before(act)
            if step.actor == act.actor
            and step.operation == act.operation
            and opens_to_read(step)
            and name_of(step) == name
        ]
        if not before:
            continue
        came = [
            step
            for step in case.between(before[-1], act)
            if step.actor != act.actor and _gives(case, step, name)
        ]
        if came:
            path = path_of(before[-1])
            sentence = (
                f"{case.lane(act)} read {path} from step {before[-1].index} on and "
                f"wrote it in step {act.index}, and what {case.lane(came[-1])} wrote "
                f"in step {came[-1].index} is lost."
            )
            return Known.LOST_UPDATE.between(came[-1], act, sentence, before[-1])
    return None


def _gives(case: Case, step: Step, name: Name | None) -> bool:
    """Say whether a step gives a name to a new file, or fills the one it means."""
    if name in bound(step):
        return True
    opened = _opened(case, step)
    return opened is not None and name_of(opened) == name


def _fills(case: Case) -> tuple[Step, ...]:
    """Return the steps that filled what the violation is about, the last one first."""
    at = case.trace.steps[case.at]
    if case.at_end:
        return tuple(_cut_off(case))
    if filled(at):
        return (at,) if _decides(at, case.invariant) else ()
    if bound(at) and opens_to_write(at):
        return (at,) if _decides(at, case.invariant) else ()
    if at.kind not in (Kind.RETURN, Kind.EXIT, Kind.CRASH):
        return ()
    read = {each.object for each in at.footprint.reads if each.kind == "data"}
    return tuple(
        step
        for step in reversed(case.steps)
        if filled(step) & read or (filled(step) and _decides(step, case.invariant))
    )


def _cut_off(case: Case) -> Iterator[Step]:
    """Yield what opened a file that others write too, and got no further."""
    for step in reversed(case.steps):
        if (
            opens_to_write(step)
            and not step.failed
            and ((last := _last_fill(case, step)).kind is Kind.CRASH or last.failed)
            and any(
                opens_to_write(each) and name_of(each) == name_of(step)
                for each in case.steps
                if each.actor != step.actor
            )
        ):
            yield step


def _decides(step: Step, invariant: str) -> bool:
    """Say whether an invariant looks at the bytes a step wrote, and does not count."""
    return minds(step, invariant) and any(
        write.resource.kind == "invariant"
        and write.resource.object == invariant
        and write.label == EXCLUSIVE
        for write in step.footprint.writes
    )


def _opened(case: Case, act: Step) -> Step | None:
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


def _last_fill(case: Case, opened: Step) -> Step:
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
