"""One execution as text: a line a step, an actor a column, time downwards."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING

from racecheck.model import Ending, Kind, Verdict
from racecheck.report.calls import OpenFiles, describe_call, mark_fault
from racecheck.report.circle import circle
from racecheck.report.printable import cut, plural, printable
from racecheck.report.tones import Tone, paint

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from racecheck.model import Operation, Step, Trace, Violation

WIDTH = 100
"""Characters to a line where nobody says otherwise."""

_NUMBER = 6
# What the last column needs for a call with two short paths.
_LAST_COLUMN = 44
_NARROWEST = 10
_ENDS = frozenset({Kind.RETURN, Kind.EXIT, Kind.CRASH})
_OUTPUT_LINES = 40
_MOST_STEPS = 1000
_STEPS_SHOWN = 200
"""How many of a longer execution: at its beginning, and up to whatever broke."""


@dataclass(frozen=True, slots=True)
class _Line:
    text: str
    tone: Tone = Tone.PLAIN


def render(trace: Trace, *, width: int = WIDTH, color: bool = False) -> str:
    """Return an execution as text.

    A column starts below the name of its actor. Only one actor takes a step at a time,
    so a text may run on over the columns to its right.

    Args:
        trace: The execution.
        width: Characters to a line; less than 80 is taken as 80.
        color: Whether to set off parts of it with the codes of a terminal.
    """
    return "\n".join(
        paint(line.text.rstrip(), line.tone, color=color)
        for line in _Renderer(trace, max(width, 80)).lines()
    )


class _Renderer:
    """Lays out one trace."""

    def __init__(self, trace: Trace, width: int) -> None:
        self._trace = trace
        self._width = width
        names = [actor.name for actor in trace.actors]
        room = width - _NUMBER
        column = room // max(1, len(names))
        if len(names) > 1:
            spread = (room - _LAST_COLUMN) // (len(names) - 1)
            column = max(_NARROWEST, min(column, spread))
        self._column = column
        self._start = {name: _NUMBER + column * i for i, name in enumerate(names)}
        self._files = OpenFiles()
        broken = {each.step for each in trace.violations if each.step is not None}
        self._told = sorted(broken | {len(trace.steps) - 1})
        self._ended = {
            (each.actor, each.last): each
            for each in trace.operations
            if each.last is not None
        }

    def lines(self) -> Iterator[_Line]:
        trace = self._trace
        yield _Line(f"{printable(trace.scenario)}: {_verdict(trace)}", Tone.TITLE)
        yield _Line(
            f"{plural(len(trace.steps), 'step')}, "
            f"{plural(trace.schedule.context_switches(), 'context switch')}, "
            f"seed {trace.schedule.seed}",
            Tone.FAINT,
        )
        yield _Line("")
        yield from self._headings()
        left_out = 0
        for step in trace.steps:
            if not self._is_shown(step):
                left_out += 1
                self._files.follow(step)
                continue
            if left_out:
                yield _Line(f"{'...':>{_NUMBER - 2}}  {left_out:,} steps", Tone.FAINT)
                left_out = 0
            yield from self._step(step)
        yield from self._tail()

    def _is_shown(self, step: Step) -> bool:
        """Say whether a step has a line, as all have unless there are very many."""
        if len(self._trace.steps) <= _MOST_STEPS or step.index < _STEPS_SHOWN:
            return True
        return any(end - _STEPS_SHOWN < step.index <= end for end in self._told)

    def _headings(self) -> Iterator[_Line]:
        """Name the columns; the texts must not run into each other here."""
        actors = self._trace.actors
        room = self._column - 1
        names = [cut(printable(actor.name), room) for actor in actors]
        roles = [cut(f"{actor.role}, pid {actor.pid}", room) for actor in actors]
        number = "step".rjust(_NUMBER - 2) + "  "
        yield _Line(number + "".join(n.ljust(self._column) for n in names), Tone.TITLE)
        yield _Line(
            " " * _NUMBER + "".join(role.ljust(self._column) for role in roles),
            Tone.FAINT,
        )

    def _step(self, step: Step) -> Iterator[_Line]:
        start = self._start.get(step.actor, _NUMBER)
        ended = self._ended.get((step.actor, step.index))
        # Which thread or child of the actor it is, unless it is the first.
        mark = f":{step.task} " if step.task else ""
        text, tone = self._cell(step, ended, self._width - start - len(mark))
        text = mark + text
        margin = f"{step.index:>{_NUMBER - 2}}"
        # What an operation ended with is worth more lines, a call is not.
        for part in textwrap.wrap(text, self._width - start, max_lines=3):
            yield _Line(margin.ljust(start) + part, tone)
            margin = ""
        if ended is not None and step.kind not in _ENDS:
            yield _Line(
                " " * start + cut(describe_ending(ended), self._width - start), tone
            )
        for violation in self._trace.violations:
            if violation.step == step.index:
                yield from self._broken(violation, "")
        self._files.follow(step)

    def _cell(self, step: Step, ended: Operation | None, room: int) -> tuple[str, Tone]:
        """Return what stands in the actor's column for a step."""
        tone = Tone.PLAIN
        if step.fault is not None:
            tone = Tone.FAULT
        elif step.failed or (ended is not None and not ended.succeeded):
            tone = Tone.FAILED
        if step.kind is Kind.CRASH:
            return cut(f"CRASHED before {_before(step)}", room), tone
        if step.kind is Kind.RETURN:
            text = describe_ending(ended) if ended is not None else "returned"
            return text + mark_fault(step.fault), tone
        if step.kind is Kind.EXIT:
            failed = ended is not None and not ended.succeeded
            text = f"exits with status {step.args.get('status', '?')}"
            return cut(f"{text}, which is no success" if failed else text, room), tone
        return describe_call(step, self._files, room), tone

    def _broken(self, violation: Violation, when: str) -> Iterator[_Line]:
        """Mark the place where an invariant broke, across all columns."""
        text = f"{violation.invariant} broken{when}: {violation.message}"
        for line in textwrap.wrap(
            printable(text),
            self._width,
            initial_indent="*** ".rjust(_NUMBER),
            subsequent_indent=" " * _NUMBER,
        ):
            yield _Line(line, Tone.BROKEN)

    def _circle(self) -> Iterator[_Line]:
        """Tell who waits for whom, with the lines of code."""
        for part in circle(self._trace):
            yield _Line(cut(f"  *** {printable(part.text)}", self._width), Tone.BROKEN)
            if part.place is not None:
                # The name of the function may be long, and the line says more.
                text = f"{part.place.where} {part.place.text}".strip()
                yield _Line(cut(f"      {printable(text)}", self._width))

    def _tail(self) -> Iterator[_Line]:
        """Tell what belongs to no step."""
        trace = self._trace
        for violation in trace.violations:
            if violation.step is None:
                yield from self._broken(violation, " at the end")
        if trace.verdict is Verdict.DEADLOCKED:
            yield from self._circle()
        for operation in trace.operations:
            if operation.last is None:
                yield _Line(
                    f"{printable(operation.actor)} operation {operation.index} "
                    f"{describe_ending(operation)}, without a step"
                )
        for end in trace.ends:
            if end.status != 0 and not end.crashed:
                yield _Line(f"{printable(end.actor)} ended with {_status(end.status)}")
        if trace.uncontrolled:
            yield _Line(f"not controlled: {printable('; '.join(trace.uncontrolled))}")
        for actor, output in trace.outputs.items():
            if output:
                yield _Line("")
                yield _Line(f"output of {printable(actor)}:", Tone.TITLE)
                yield from map(_Line, _shown_output(output))


def _verdict(trace: Trace) -> str:
    text = str(trace.verdict)
    if trace.verdict is Verdict.VIOLATED:
        text += f" {', '.join(each.invariant for each in trace.violations)}"
    return printable(f"{text} ({trace.reason})" if trace.reason else text)


def describe_ending(operation: Operation) -> str:
    """Return how an operation ended, as it stands in its actor's column."""
    match operation.ending:
        case Ending.RETURNED:
            text = f"returned {operation.shown}".rstrip()
            failed = not operation.succeeded
            return printable(f"{text}, which is no success" if failed else text)
        case Ending.RAISED:
            expected = ", as it may" if operation.expected else ""
            return printable(f"raised {operation.shown}{expected}")
        case Ending.CRASHED:
            return "CRASHED"
        case _:
            return printable(f"{operation.ending} {operation.shown}".rstrip())


def _before(step: Step) -> str:
    return printable(str(step.args.get("before", "its next step")))


def _status(status: int) -> str:
    return f"signal {-status}" if status < 0 else f"status {status}"


def _shown_output(output: str) -> Iterable[str]:
    lines = output.splitlines()
    for line in lines[:_OUTPUT_LINES]:
        yield f"    {printable(line.expandtabs())}"
    if len(lines) > _OUTPUT_LINES:
        yield f"    ... {plural(len(lines) - _OUTPUT_LINES, 'more line')}"
