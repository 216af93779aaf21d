"""What an exploration says of one scenario."""

from __future__ import annotations

import msgspec

from racecheck.model.trace import Trace
from racecheck.model.verdict import Coverage, Verdict


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One invariant found false, with the execution that shows it.

    Attributes:
        invariant: Name of the invariant.
        message: What was expected and what was found.
        token: The execution in a form that `racecheck replay` takes.
        steps: Steps of the execution.
        context_switches: Places where another actor went on.
        found_steps: Steps of the execution as it was found, before it was shrunk.
        found_context_switches: Its context switches.
        confirmed: Whether a second execution from the token gave the same steps.
        execution: Which execution found it, from 1.
        trace: The execution itself.
    """

    invariant: str
    message: str
    token: str
    steps: int
    context_switches: int
    found_steps: int = 0
    found_context_switches: int = 0
    confirmed: bool
    execution: int
    trace: Trace


class ScenarioResult(msgspec.Struct, frozen=True, kw_only=True):
    """What an exploration says of one scenario.

    Attributes:
        name: Full name of the scenario.
        engine: Name of the engine that ran it.
        verdict: What the invariants say.
        reason: Why there is no verdict, or what else needs saying; else empty.
        expected: Invariants that the scenario says are broken; none means it passes.
        as_expected: Whether exactly the expected invariants were found false.
        coverage: How much the answer covers.
        assumptions: What the answer takes for granted, a sentence each.
        bounds: Limits that applied, by name.
        scheduler: Name of the scheduler.
        seed: Seed of the exploration.
        executions: Executions made.
        steps: Steps taken in all of them.
        seconds: Wall-clock time.
        findings: The invariants found false, one finding each.
    """

    name: str
    engine: str
    verdict: Verdict
    reason: str
    expected: tuple[str, ...]
    as_expected: bool
    coverage: Coverage
    assumptions: tuple[str, ...]
    bounds: dict[str, int | float | str]
    scheduler: str
    seed: int
    executions: int
    steps: int
    seconds: float
    findings: tuple[Finding, ...]


class Progress(msgspec.Struct, frozen=True, kw_only=True):
    """How far an exploration is, for people who wait for it."""

    name: str
    executions: int
    seconds: float
    found: tuple[str, ...]
