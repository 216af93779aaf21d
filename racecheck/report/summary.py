"""What an exploration says of a scenario, in a line or a few."""

from __future__ import annotations

from typing import TYPE_CHECKING

from racecheck.model import Coverage, Verdict
from racecheck.report.printable import plural, printable
from racecheck.report.tones import Tone, paint

if TYPE_CHECKING:
    from racecheck.model import Finding, ScenarioResult


_NO_VERDICT = (Verdict.UNKNOWN, Verdict.DIVERGED)


def summary(result: ScenarioResult, *, color: bool = False) -> str:
    """Return the line of a scenario: whether it did as expected, and how much was seen.

    Args:
        result: What the exploration says.
        color: Whether to set off parts of it with the codes of a terminal.
    """
    word, tone = _word(result)
    # Where there was none, nothing was covered in whatever way it was to be.
    covered = f"{result.coverage}, " if result.executions else ""
    seen = (
        f"{machine(result, ', ')}{covered}{plural(result.executions, 'execution')}, "
        f"{result.seconds:.1f} s"
    )
    text = f"{printable(result.name)}: {_verdict(result)}"
    return f"{paint(f'{word:<7}', tone, color=color)} {text} ({seen})"


def machine(result: ScenarioResult, then: str = "") -> str:
    """Return what ran a scenario, and nothing if that is what runs scenarios anyway.

    Args:
        result: What the exploration says.
        then: What follows if there is something to say.
    """
    if result.engine == "process":
        return ""
    platform = result.bounds.get("platform", "")
    return printable(f"{result.engine} {platform}".strip()) + then


def finding_line(finding: Finding) -> str:
    """Return the line of a finding, with the token that replays it if one can."""
    if not finding.token:
        return printable(
            f"{finding.invariant} in {plural(finding.seen, 'execution')}, first in "
            f"execution {finding.execution}: {finding.message}"
        )
    sure = "" if finding.confirmed else ", not confirmed"
    return (
        f"{finding.invariant} in {plural(finding.steps, 'step')} with "
        f"{plural(finding.context_switches, 'context switch')}{sure}: {finding.token}"
    )


def totals(results: list[ScenarioResult]) -> str:
    """Return the last line: how many scenarios did as expected, and how many not."""
    counts = {"ok": 0, "WRONG": 0, "UNKNOWN": 0}
    for result in results:
        counts[_word(result)[0]] += 1
    parts = [f"{plural(len(results), 'scenario')}: {counts['ok']} as expected"]
    if counts["WRONG"]:
        parts.append(f"{counts['WRONG']} not")
    if counts["UNKNOWN"]:
        parts.append(f"{counts['UNKNOWN']} without a verdict")
    return ", ".join(parts)


def _word(result: ScenarioResult) -> tuple[str, Tone]:
    if result.verdict in _NO_VERDICT:
        return "UNKNOWN", Tone.FAILED
    if result.as_expected:
        return "ok", Tone.GOOD
    return "WRONG", Tone.BROKEN


def _verdict(result: ScenarioResult) -> str:
    found = [finding.invariant for finding in result.findings]
    text = str(result.verdict)
    if found and result.verdict is Verdict.VIOLATED:
        text += f" {', '.join(found)}"
    if result.expected and result.as_expected:
        text += ", as expected"
    missing = [name for name in result.expected if name not in found]
    surprises = [name for name in found if name not in result.expected]
    if result.verdict in _NO_VERDICT:
        # Why there is no verdict comes first; what is missing for want of it says less.
        missing = []
    if missing and not result.as_expected:
        text += f", but expected {', '.join(missing)}"
        if not surprises and result.coverage is not Coverage.COMPLETE:
            # Not that they hold, only that they were not seen to break.
            text += f", not found within {result.bounds.get('budget', 'its budget')}"
    if result.expected and surprises and not result.as_expected:
        text += f", not expected {', '.join(surprises)}"
    return printable(f"{text}; {result.reason}" if result.reason else text)
