"""The error of a check that found a race: what, how, and how to see it again."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from racecheck.errors import RacecheckError
from racecheck.report import WIDTH, explain, finding_line, render
from racecheck.report.printable import plural

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from racecheck.model import Finding, ScenarioResult, Trace


class RaceFoundError(RacecheckError, AssertionError):
    """A check found an execution that breaks an invariant, or a deadlock.

    Attributes:
        result: All that the exploration says; None if a recorded execution was
            replayed.
        findings: The invariants found false, the simplest execution first.
        trace: The simplest execution.
        token: What replays it; empty if nothing does, as after free running.
        command: The line that replays it, if any does.
        about: What was checked, where nobody has written it.
        pages: Reports that were written of it.
    """

    exit_code: ClassVar[int] = 1

    def __init__(
        self,
        findings: Sequence[Finding],
        *,
        result: ScenarioResult | None = None,
        command: Callable[[str], str] = str,
        about: str = "",
        pages: Sequence[Path] = (),
    ) -> None:
        """Make it of what was found.

        Args:
            findings: At least one.
            result: All that the exploration says.
            command: Returns the line that replays a token.
            about: What was checked, where nobody has written it.
            pages: Reports that were written of it.
        """
        # Few switches first, as each is something to keep in mind.
        self.findings = tuple(
            sorted(findings, key=lambda each: (each.context_switches, each.steps))
        )
        self.result = result
        self.command = command(self.token) if self.token else ""
        self.about = about
        self.pages = tuple(pages)
        super().__init__(findings, result)

    @property
    def trace(self) -> Trace:
        """The simplest execution."""
        return self.findings[0].trace

    @property
    def token(self) -> str:
        """What replays it."""
        return self.findings[0].token

    def __str__(self) -> str:
        """Return the simplest execution in full, and the others as lines."""
        names = ", ".join(sorted(each.invariant for each in self.findings))
        first = self.findings[0]
        length = plural(first.steps, "step")
        switches = plural(first.context_switches, "context switch")
        lines = [f"{names} broken in {length} with {switches}"]
        lines += [self.about] if self.about else []
        told = explain(first.trace, first.invariant, first.message, width=WIDTH)
        lines += ["", render(self.trace), "", told, ""]
        lines += [finding_line(each) for each in self.findings]
        lines += ["", f"to replay it: {self.command}"] if self.command else []
        lines += [f"report: {page}" for page in self.pages]
        return "\n".join(lines)
