"""What an exploration says of one scenario."""

from __future__ import annotations

import msgspec

from racecheck.model.trace import Trace
from racecheck.model.verdict import Coverage, Verdict


class Share(msgspec.Struct, frozen=True, array_like=True, order=True):
    """How often an invariant is broken in executions that begin alike.

    Attributes:
        step: How many steps they have in common.
        failing: How many of them break the invariant.
        total: How many there were.
    """

    step: int
    failing: int
    total: int


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
        seen: How many executions broke it, where all were made whatever they found.
        trace: The execution itself.
        original: The execution as it was found, if it was made simpler since.
        curve: How often the invariant is broken from points of the execution on, if
            that was asked for.
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
    seen: int = 0
    trace: Trace
    original: Trace | None = None
    curve: tuple[Share, ...] = ()


class Counts(msgspec.Struct, frozen=True, kw_only=True):
    """How the operations of one actor went, where executions are compared by number.

    Attributes:
        actor: Name of the actor.
        operations: How many it made, in each execution.
        failed: How many of those did not succeed, in each execution.
    """

    actor: str
    operations: tuple[int, ...]
    failed: tuple[int, ...]


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
        conflicts: Pairs of calls of two actors that were seen to depend on each other.
        counts: How the operations of each actor went, under stress.
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
    conflicts: tuple[str, ...] = ()
    counts: tuple[Counts, ...] = ()


class Race(msgspec.Struct, frozen=True, kw_only=True):
    """A finding with what is to be known of where it was found: a trace file.

    Attributes:
        finding: The invariant found false, with the execution that shows it.
        expected: The invariants that the scenario says are broken.
        about: How and where it was found: versions and settings by name.
    """

    finding: Finding
    expected: tuple[str, ...] = ()
    about: dict[str, str] = {}


class Progress(msgspec.Struct, frozen=True, kw_only=True):
    """How far an exploration is, for people who wait for it."""

    name: str
    executions: int
    seconds: float
    found: tuple[str, ...]
