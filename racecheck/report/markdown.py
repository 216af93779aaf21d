"""A race in Markdown, to paste into an issue."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from racecheck.report.printable import plural, printable
from racecheck.report.story import tell
from racecheck.report.summary import machine, totals
from racecheck.report.text import render

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from racecheck.model import Race, ScenarioResult
    from racecheck.report.story import Act

_MOST_STEPS = 200


def summarize(race: Race) -> str:
    """Return a race as Markdown, ending in a line break."""
    finding = race.finding
    story = tell(finding.trace, finding.invariant, finding.message)
    lines = [
        f"### {_escape(finding.trace.scenario)}: {_escape(finding.invariant)}",
        "",
        _escape(story.verdict),
        "",
        f"**{_escape(story.cause)}**",
        "",
    ]
    if story.acts:
        lines += [_act(act) for _, act in story.acts] + [""]
    if story.diagnosis is not None:
        lines += [f"**{story.diagnosis.title}.** {story.diagnosis.why}", ""]
        if story.diagnosis.repair:
            lines += [f"Repair: {story.diagnosis.repair}", ""]
    length = (
        f"{plural(finding.steps, 'step')}, "
        f"{plural(finding.context_switches, 'context switch')}"
    )
    lines += [
        f"{length}.",
        "",
    ]
    if finding.token:
        command = f"racecheck replay {finding.token}"
        lines += ["To run it again:", "", *_fenced(command), ""]
    if finding.steps <= _MOST_STEPS:
        lines += ["<details><summary>The execution</summary>", ""]
        lines += [*_fenced(render(finding.trace)), "", "</details>", ""]
    about = ", ".join(f"{name} {value}" for name, value in sorted(race.about.items()))
    if about:
        lines += [f"<sub>{_escape(about)}</sub>", ""]
    return "\n".join(lines)


def summarize_run(results: Sequence[ScenarioResult], races: Iterable[Race]) -> str:
    """Return a run as Markdown: a table of all scenarios, then each surprise in full.

    Args:
        results: What came of the scenarios.
        races: What was found in them.
    """
    return summarize_run_of(
        results, [summarize(race) for race in races if is_surprise(race)]
    )


def is_surprise(race: Race) -> bool:
    """Say whether a race is none that its scenario expects."""
    return race.finding.invariant not in race.expected


def summarize_run_of(
    results: Sequence[ScenarioResult], surprises: Iterable[str]
) -> str:
    """Return a run as Markdown, given what `summarize` makes of each surprise."""
    lines = [
        f"## {totals(list(results))}",
        "",
        "| scenario | verdict | coverage | executions |",
        "| --- | --- | --- | ---: |",
    ]
    for each in results:
        wrong = "" if each.as_expected else "**"
        broken = ", ".join(finding.invariant for finding in each.findings)
        verdict = _escape(f"{each.verdict} {broken}".strip())
        lines.append(
            f"| {_escape(each.name)} | {wrong}{verdict}{wrong} "
            f"| {machine(each, ', ')}{each.coverage} "
            f"| {each.executions} |"
        )
    return "\n".join([*lines, "", *surprises])


def _act(act: Act) -> str:
    text = f"- step {act.index}, {_escape(act.lane)}: {_code(act.call)}"
    if act.place is None:
        return text
    text += f", {_escape(str(act.place))}"
    if act.place.frame is not None and act.place.text:
        text += f": {_code(printable(act.place.text))}"
    return text


def _escape(text: str) -> str:
    """Return text in which nothing means anything to Markdown, or to HTML in it."""
    return re.sub(r"([\\`*_{}\[\]<>#|~&@])", r"\\\1", printable(text))


def _code(text: str) -> str:
    """Return text as code, whatever ticks it has."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    ticks = "`" * (longest + 1)
    return f"{ticks} {text} {ticks}" if longest else f"`{text}`"


def _fenced(text: str) -> list[str]:
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return [f"{fence}text", *text.split("\n"), fence]
