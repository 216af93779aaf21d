"""Races about what is written to files: in place, through links, over another's."""

from __future__ import annotations

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
from racecheck.report.diagnosis.filling import (
    gives,
    is_cut_off,
    last_fill,
    moved_names,
    opener,
    written_in_place,
)
from racecheck.report.diagnosis.kinds import Known

if TYPE_CHECKING:
    from collections.abc import Iterator

    from racecheck.report.diagnosis.case import Case
    from racecheck.report.diagnosis.diagnosis import Diagnosis


def through_link(case: Case) -> Diagnosis | None:
    """A step that broke it wrote to what a symbolic link led to."""
    for act in _fills(case):
        opened = opener(case, act)
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
        last = last_fill(case, opened)
        return Known.THROUGH_LINK.between(opened, last, sentence)
    return None


def in_place(case: Case) -> Diagnosis | None:
    """A step that broke it wrote to a file under the name that others read it by."""
    moved = moved_names(case)
    for act in _fills(case):
        opened = opener(case, act)
        if opened is None or name_of(opened) in moved:
            continue
        last = last_fill(case, opened)
        if last.index != opened.index and _is_piece(case, opened, last):
            return written_in_place(case, opened, last)
    return None


def _is_piece(case: Case, opened: Step, last: Step) -> bool:
    """Say whether the file was no whole one when it was found so.

    It is not while it is filled, nor since that was cut off, nor where two fill it.
    """
    if opened.index <= case.at <= last.index or is_cut_off(last):
        return True
    name = name_of(opened)
    return any(
        step.actor != opened.actor
        and filled(step)
        and (other := opener(case, step)) is not None
        and name_of(other) == name
        for step in case.between(opened, last)
    )


def lost_update(case: Case) -> Diagnosis | None:
    """What was read is written anew although another has written since."""
    if case.failed:
        return None
    for act in case.acts:
        opened = opener(case, act)
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
            if step.actor != act.actor and gives(case, step, name)
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
            and is_cut_off(last_fill(case, step))
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
