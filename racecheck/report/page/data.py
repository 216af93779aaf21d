"""What the script of a page is given: an execution as plain lists and mappings.

Whatever a subject has put into names and outputs is made printable here, so that
nothing but what can be seen gets into a page.
"""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Final

from racecheck.model import FaultKind, Kind, Verdict, lane_of
from racecheck.report.calls import OpenFiles, describe_call
from racecheck.report.places import place_of
from racecheck.report.printable import printable
from racecheck.report.story import tell
from racecheck.report.text import describe_ending

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from racecheck.model import Detail, Moment, Node, Operation, Race, Step, Trace

_SHORT: Final = 96
_LONG: Final = 2000


def race_data(race: Race) -> dict[str, object]:
    """Return all that the page of a race shows when it is used."""
    finding = race.finding
    story = tell(finding.trace, finding.invariant, finding.message)
    views = [_view(finding.trace, finding.invariant)]
    if story.first is not None and story.second is not None:
        views[0]["pair"] = {
            "first": story.first.index,
            "second": story.second.index,
            "relied": story.relied.index if story.relied is not None else None,
        }
    if finding.original is not None:
        views.append(_view(finding.original, finding.invariant))
    return {
        "token": finding.token,
        "views": views,
        "curve": [[each.step, each.failing, each.total] for each in finding.curve],
    }


def _view(trace: Trace, invariant: str) -> dict[str, object]:
    lanes = {lane_of(each.name, 0): (each.name, 0) for each in trace.actors}
    for step in trace.steps:
        lanes.setdefault(lane_of(step.actor, step.task), (step.actor, step.task))
    order = {each.name: number for number, each in enumerate(trace.actors)}
    names = sorted(lanes, key=lambda lane: (order.get(lanes[lane][0], 0), lanes[lane]))
    roles = {each.name: f"{each.role}, pid {each.pid}" for each in trace.actors}
    numbers = {lane: number for number, lane in enumerate(names)}
    return {
        "lanes": [
            {
                "name": printable(lane),
                "about": f"task {lanes[lane][1]}"
                if lanes[lane][1]
                else printable(roles.get(lane, "")),
            }
            for lane in names
        ],
        "steps": _steps(trace, numbers),
        "violations": [
            {
                "invariant": printable(each.invariant),
                "message": printable(each.message),
                "step": each.step,
                "main": each.invariant == invariant,
            }
            for each in trace.violations
        ],
        "verdict": printable(trace.reason)
        if trace.verdict is Verdict.DEADLOCKED
        else "",
        "switches": trace.schedule.context_switches(),
        "pair": None,
        **(_detail(trace.detail) if trace.detail is not None else _NOTHING),
    }


def _steps(trace: Trace, lanes: Mapping[str, int]) -> list[dict[str, object]]:
    files = OpenFiles()
    ended = {
        (each.actor, each.last): each
        for each in trace.operations
        if each.last is not None
    }
    found = []
    for step in trace.steps:
        operation = ended.get((step.actor, step.index))
        short = _text(step, operation, files, _SHORT)
        full = _text(step, operation, files, _LONG)
        place = place_of(trace, step.index)
        made: dict[str, object] = {
            "lane": lanes[lane_of(step.actor, step.task)],
            "text": short,
            "mark": _mark(step, operation),
        }
        if full != short:
            made["full"] = full
        if place is not None and step.kind not in (Kind.RETURN, Kind.EXIT):
            made["where"] = printable(place.where)
            made["code"] = printable(place.text)
        if operation is not None and step.kind not in (Kind.RETURN, Kind.CRASH):
            made["ended"] = describe_ending(operation)
        found.append(made)
        files.follow(step)
    return found


def _text(step: Step, operation: Operation | None, files: OpenFiles, room: int) -> str:
    if step.kind is Kind.CRASH:
        return f"killed before {printable(str(step.args.get('before', '')))}"
    if step.kind is Kind.RETURN:
        return describe_ending(operation) if operation is not None else "returned"
    if step.kind is Kind.EXIT:
        return f"exits with status {step.args.get('status', '?')}"
    return describe_call(step, files, room)


def _mark(step: Step, operation: Operation | None) -> str:
    """Return what a step is marked as, one word."""
    if step.fault is not None:
        killed = step.fault.kind in (FaultKind.CRASH, FaultKind.TEAR)
        return "crash" if killed else "fault"
    if operation is not None and not operation.succeeded:
        return "expected" if operation.expected else "failed"
    if step.failed:
        return "failed"
    return "end" if step.kind in (Kind.RETURN, Kind.EXIT) else ""


_NOTHING: Final[dict[str, object]] = {
    "recorded": False,
    "moments": [],
    "stacks": [],
    "frames": [],
    "sources": {},
    "programs": [],
    "printed": {},
    "start": {},
    "contents": [],
    "note": "",
}


def _detail(detail: Detail) -> dict[str, object]:
    return {
        "recorded": True,
        "moments": [_moment(each) for each in detail.moments],
        "stacks": [list(each) for each in detail.stacks],
        "frames": [
            [printable(each.file), each.line, printable(each.function), each.library]
            for each in detail.frames
        ],
        "sources": {
            printable(file): {
                str(number): printable(text.expandtabs(4))
                for number, text in lines.items()
            }
            for file, lines in detail.sources.items()
        },
        "programs": [printable(each) for each in detail.programs],
        "printed": _printed(detail.printed),
        "start": _nodes(detail.start),
        "contents": [
            [
                each.base,
                each.start,
                each.removed,
                base64.b64encode(each.data).decode(),
                each.length,
            ]
            for each in detail.contents
        ],
        "note": detail.left_out,
    }


def _moment(moment: Moment) -> dict[str, object]:
    """Return what a step changed, without what it did not."""
    made: dict[str, object] = {}
    if moment.stack >= 0:
        made["stack"] = moment.stack
    if moment.program >= 0:
        made["program"] = moment.program
    if moment.changed:
        made["changed"] = _nodes(moment.changed)
    if moment.gone:
        made["gone"] = [printable(path) for path in moment.gone]
    if moment.locks is not None:
        made["locks"] = [
            {
                "lane": printable(each.lane),
                "path": printable(each.path),
                "how": f"{each.type}, {'exclusive' if each.exclusive else 'shared'}",
                "range": _range(each.type, each.start, each.end),
                "step": each.step,
            }
            for each in moment.locks
        ]
    if moment.waiting is not None:
        made["waiting"] = _printed(moment.waiting)
    if moment.printed:
        made["printed"] = _printed(moment.printed)
    return made


def _nodes(nodes: Mapping[str, Node]) -> dict[str, Sequence[object]]:
    return {
        printable(path): [
            node.kind,
            f"{node.mode:o}",
            printable(node.object),
            node.content,
            printable(node.target),
        ]
        for path, node in nodes.items()
    }


def _printed(texts: Mapping[str, str]) -> dict[str, str]:
    """Return texts by name; of what is not printable, lines are kept."""
    return {
        printable(name): "\n".join(
            printable(line.expandtabs()) for line in text.split("\n")
        )
        for name, text in texts.items()
    }


def _range(kind: str, start: int, end: int) -> str:
    if kind == "flock":
        return "whole file"
    return f"bytes {start} to {end or 'the end'}"
