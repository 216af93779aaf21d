"""Results as annotations, which GitHub shows at the lines of a change."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from racecheck.model import Verdict
from racecheck.report.story import tell
from racecheck.report.summary import summary

if TYPE_CHECKING:
    from collections.abc import Iterator

    from racecheck.model import Finding, ScenarioResult

_AT_START: Final = re.compile(r"^(\s*)::", re.MULTILINE)
_ANYWHERE: Final = re.compile(r"##\[")
_NO_VERDICT = (Verdict.UNKNOWN, Verdict.DIVERGED)


def annotate(result: ScenarioResult) -> Iterator[str]:
    """Yield the lines that annotate a result; none if it is as expected.

    A race that was not expected is put at the line of its second step, since that is
    where the program relied on what was true no more.
    """
    if result.verdict in _NO_VERDICT:
        yield _command("warning", result.name, _line(result))
        return
    if result.as_expected:
        return
    surprises = [
        each for each in result.findings if each.invariant not in result.expected
    ]
    if not surprises:
        yield _command("error", result.name, _line(result))
    for finding in surprises:
        yield _finding(result, finding)


def defused(text: str) -> str:
    """Return text in which GitHub finds no command, whatever an actor has printed.

    It looks for one kind at the start of a line, behind blanks too, and for another
    kind anywhere.
    """
    return _ANYWHERE.sub("##|[", _AT_START.sub(r"\1|::", text))


def _finding(result: ScenarioResult, finding: Finding) -> str:
    story = tell(finding.trace, finding.invariant, finding.message)
    where: dict[str, str] = {}
    for _, act in reversed(story.acts):
        frame = act.place.frame if act.place is not None else None
        if frame is not None and not frame.library:
            where = {"file": frame.file, "line": str(frame.line)}
            break
    parts = [story.verdict, story.cause]
    parts += [
        f"step {act.index}, {act.lane}: {act.call}"
        + (f" at {act.place.where}" if act.place is not None else "")
        for _, act in story.acts
    ]
    if finding.token:
        parts.append(f"racecheck replay {finding.token}")
    title = f"{result.name}: {finding.invariant}"
    return _command("error", title, "\n".join(parts), **where)


def _line(result: ScenarioResult) -> str:
    return summary(result).partition(" ")[2].strip()


def _command(kind: str, title: str, text: str, **where: str) -> str:
    """Return a line that GitHub takes for a command, whatever is in its parts."""
    values = ",".join(
        f"{name}={_value(value)}" for name, value in {**where, "title": title}.items()
    )
    return f"::{kind} {values}::{_text(text)}"


def _text(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _value(text: str) -> str:
    return _text(text).replace(":", "%3A").replace(",", "%2C")
