"""What a check does: what failed before comes first, then everything else.

`Check.run` is the entry point, for calls of `check` and for scenarios that a test
runner has collected.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from racecheck import suite
from racecheck.api.exploring import engine_of
from racecheck.api.race import RaceFoundError
from racecheck.api.races import races_of
from racecheck.errors import ExpectedRaceError, NoVerdictError, TokenError
from racecheck.explore.traces import broken
from racecheck.model import Coverage, Finding, ScenarioResult, Verdict, context_switches
from racecheck.report import summary
from racecheck.storage import Failures, Token, decode, encode

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from racecheck.api.exploring import ReplayResult
    from racecheck.scenario import Scenario
    from racecheck.suite import Suite

_FOUND = (Verdict.VIOLATED, Verdict.DEADLOCKED)
_LEFT_OUT = "not of the token that is replayed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One scenario to be checked.

    Attributes:
        scenario: The scenario.
        explore: Explores it.
        replay: Replays a token of it.
        require: `complete` to accept nothing less as a pass.
        token: An execution to replay instead of exploring.
        about: What is checked, as it is written, where nobody has written it.
        workdir: Where the boxes are, or None for the default.
        observe: Told of the result of an exploration.
    """

    scenario: Scenario
    explore: Callable[[], ScenarioResult]
    replay: Callable[[str], ReplayResult]
    require: str = ""
    token: str = ""
    observe: Callable[[ScenarioResult], object] | None = None
    about: str = ""
    workdir: Path | None = None

    def run(self) -> ScenarioResult:
        """Replay what is asked for or failed before, or explore; return the result.

        Raises:
            RaceFoundError: An invariant broke that the scenario does not expect to.
            ExpectedRaceError: One did not that the scenario expects to.
            NoVerdictError: It is not known.
        """
        __tracebackhide__ = True
        around = suite.current()
        result, findings = self._findings(around)
        # Raised here and nowhere else: what finds the same in two ways finds the same.
        if findings:
            raise RaceFoundError(
                findings,
                result=result,
                command=self._command(around),
                about=self.about,
                pages=self._report(findings, result, around),
            )
        assert result is not None  # noqa: S101  there is one where nothing was found
        return result

    @staticmethod
    def was_left_out(result: ScenarioResult) -> bool:
        """Say whether nothing was done, as the token to replay is of something else."""
        return result.reason == _LEFT_OUT

    def _findings(
        self, around: Suite | None
    ) -> tuple[ScenarioResult | None, Sequence[Finding]]:
        """Return what came of it, and the surprises."""
        token = self.token or (around.token if around is not None else "")
        if around is not None:
            around.checks += 1
        if token:
            return self._replayed(token, around)
        kept = self._kept(around)
        if kept is not None:
            for each in kept.tokens():
                again = self._again(each)
                if again:
                    return None, again
                kept.discard(each)
        result = self.explore()
        if around is not None:
            around.told.append(summary(result))
        if self.observe is not None:
            self.observe(result)
        findings = [
            each
            for each in result.findings
            if each.invariant not in self.scenario.expect
        ]
        if result.verdict in _FOUND and findings:
            if kept is not None:
                # What free running has found has none.
                for token in filter(None, (each.token for each in findings)):
                    kept.add(token)
            return result, findings
        self._check_verdict(result)
        return result, ()

    def _replayed(
        self, token: str, around: Suite | None
    ) -> tuple[ScenarioResult, Sequence[Finding]]:
        """Replay the token that was asked for, if it is of this scenario."""
        try:
            engine_of(decode(token), self.scenario)
        except TokenError:
            if self.token or around is None:
                raise
            # It is of another check of this test; who asked looks that there was one.
            return self._nothing(_LEFT_OUT), ()
        if around is not None:
            around.replays += 1
        found = self.replay(token)
        if found.trace.verdict not in (*_FOUND, Verdict.PASSED):
            raise NoVerdictError(
                f"{self.scenario.name}: {found.trace.verdict}: {found.trace.reason}"
            )
        return self._nothing("one execution was replayed"), _surprises(
            found, self.scenario
        )

    def _again(self, token: str) -> Sequence[Finding]:
        """Return what an execution breaks that failed before."""
        try:
            return _surprises(self.replay(token), self.scenario)
        except TokenError:
            return ()

    def _kept(self, around: Suite | None) -> Failures | None:
        """Return what is kept of this scenario, if anything is."""
        if around is None or around.failures is None:
            return None
        # What hypothesis draws may differ where the shape does not, and it has a
        # database of its own, which would be told different things at each call.
        hypothesis = sys.modules.get("hypothesis")
        if hypothesis is not None and hypothesis.currently_in_test_context():
            return None
        return Failures(around.failures, self.scenario.name, self.scenario.shape())

    def _check_verdict(self, result: ScenarioResult) -> None:
        name = self.scenario.name
        seen = f"{result.coverage}, {result.executions} executions"
        if result.verdict not in (*_FOUND, Verdict.PASSED):
            raise NoVerdictError(f"{name}: {result.verdict}: {result.reason} ({seen})")
        if not result.as_expected:
            broken_ones = {each.invariant for each in result.findings}
            missing = ", ".join(sorted(self.scenario.expect - broken_ones))
            raise ExpectedRaceError(
                f"{name}: expected {missing} to be broken, but it holds ({seen})"
            )
        passed = result.verdict is Verdict.PASSED
        if passed and self.require and result.coverage is not Coverage.COMPLETE:
            raise NoVerdictError(
                f"{name}: passed, but {self.require} was required and it is only {seen}"
            )

    def _report(
        self,
        findings: Sequence[Finding],
        result: ScenarioResult | None,
        around: Suite | None,
    ) -> Sequence[Path]:
        """Write what was found to a folder, if that was asked for; return the pages."""
        if around is None or around.reports is None:
            return ()
        # Imported here so that other runs do not pay for the template engine.
        from racecheck.report.folder import write_races  # noqa: PLC0415

        told = result or self._nothing("one execution was replayed")
        told = msgspec.structs.replace(told, findings=tuple(findings))
        return write_races(around.reports, races_of(told, self.workdir))

    def _command(self, around: Suite | None) -> Callable[[str], str]:
        if around is not None and around.replay_with is not None:
            return around.replay_with
        return "racecheck.check(..., token={!r})".format

    def _nothing(self, reason: str) -> ScenarioResult:
        """Return the result of not having explored."""
        return ScenarioResult(
            name=self.scenario.name,
            engine=self.scenario.engine,
            verdict=Verdict.UNKNOWN,
            reason=reason,
            expected=tuple(sorted(self.scenario.expect)),
            as_expected=False,
            coverage=Coverage.SAMPLED,
            assumptions=(),
            bounds={},
            scheduler="",
            seed=0,
            executions=0,
            steps=0,
            seconds=0.0,
            findings=(),
        )


def _surprises(found: ReplayResult, scenario: Scenario) -> list[Finding]:
    """Return findings of a replayed execution, but those that are expected."""
    trace = found.trace
    messages = {each.invariant: each.message for each in trace.violations}
    return [
        Finding(
            invariant=name,
            message=messages.get(name, trace.reason),
            token=encode(Token.of(trace)),
            steps=len(trace.steps),
            context_switches=context_switches([step.actor for step in trace.steps]),
            confirmed=found.same,
            execution=1,
            trace=trace,
        )
        for name in broken(trace)
        if name not in scenario.expect
    ]
