"""Races about what an operation read: a piece of a file, or parts of two versions."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

from racecheck.model import Kind, show
from racecheck.report.diagnosis.case import (
    bound,
    name_of,
    opens_to_read,
    opens_to_write,
    path_of,
)
from racecheck.report.diagnosis.filling import (
    first_fill,
    gives,
    is_cut_off,
    last_fill,
    moved_names,
    written_in_place,
)
from racecheck.report.diagnosis.kinds import Known

if TYPE_CHECKING:
    from racecheck.model import Step
    from racecheck.report.diagnosis.case import Case
    from racecheck.report.diagnosis.diagnosis import Diagnosis


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
        changes = [step for step in between if gives(case, step, names[1])]
        if not changes or not any(gives(case, step, names[0]) for step in between):
            continue
        sentence = (
            f"{case.lane(first)} opens {path_of(first)} in step {first.index} and "
            f"{path_of(second)} in step {second.index}, and in between, in step "
            f"{changes[-1].index}, {case.lane(changes[-1])} gave it anew."
        )
        return Known.TORN_READ.between(changes[-1], second, sentence, first)
    return None


def piece_read(case: Case) -> Diagnosis | None:
    """The operation that broke it read a file that another was filling in place."""
    if not case.own:
        return None
    end = case.trace.steps[case.at]
    moved = moved_names(case)
    for opened in reversed(case.before(end)):
        if opened.actor == end.actor or opened.failed or not opens_to_write(opened):
            continue
        # What is appended leaves all as it was that was there to be read before.
        if name_of(opened) in moved or "O_APPEND" in show(opened.args.get("flags")):
            continue
        first, last = first_fill(case, opened), last_fill(case, opened)
        # One write that nothing went before puts all there at once.
        if first is None or (first.index == last.index and not is_cut_off(last)):
            continue
        if any(_meets(case, step, opened, first, last) for step in case.own):
            return written_in_place(case, opened, last)
    return None


def _meets(case: Case, read: Step, opened: Step, first: Step, last: Step) -> bool:
    """Say whether a step read a file between its first filling and its last."""
    source = _source(case, read)
    if source is None or name_of(source) != name_of(opened) or read.index < first.index:
        return False
    anew = any(
        name_of(opened) in bound(step) and step.index < source.index
        for step in case.after(opened)
    )
    return not anew and (is_cut_off(last) or read.index < last.index)


def _source(case: Case, read: Step) -> Step | None:
    """Return the step that opened the file which a step read from, if it read."""
    if read.kind is not Kind.READ or read.failed:
        return None
    opened = [
        step
        for step in case.before(read)
        if step.actor == read.actor
        and step.kind is Kind.OPEN
        and step.result == read.args.get("fd")
    ]
    return opened[-1] if opened and opens_to_read(opened[-1]) else None
