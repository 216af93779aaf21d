"""Exploring a scenario under stress: many executions, each with another seed.

Nothing found here can be repeated call by call, so that there are no tokens; the seed
repeats delays and the moments of kills, and the system decides the rest.
"""

from __future__ import annotations

import contextlib
import gc
import os
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from racecheck.engine.asked_to_end import AskedToEnd
from racecheck.engine.sandbox import Sandbox
from racecheck.engine.template import Streams
from racecheck.errors import EngineError
from racecheck.explore.setting_up import set_up
from racecheck.explore.traces import broken
from racecheck.invariants import Judge
from racecheck.model import (
    ActorInfo,
    Counts,
    Coverage,
    Finding,
    Progress,
    ScenarioResult,
    Schedule,
    Trace,
    Verdict,
)
from racecheck.stress import ASSUMPTIONS, StressExecution, beyond
from racecheck.stress.crowd import adopt_orphans
from racecheck.stress.delays import PACES
from racecheck.stress.execution import WATCHER

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from racecheck.scenario import Budget, Scenario

ENGINE: Final = "stress"

_PROGRESS_EVERY_S: Final = 0.2
_FIRST_LASTS_S: Final = 0.05
_MOST_UNKNOWN: Final = 3


@dataclass(slots=True)
class _Tally:
    """What the executions add up to."""

    executions: int = 0
    steps: int = 0
    lasted_s: float = _FIRST_LASTS_S
    crashes: int = 0
    overlapped: bool = False
    unknown: list[str] = field(default_factory=list)
    finished: set[str] = field(default_factory=set)
    seen: Counter[str] = field(default_factory=Counter)
    found: dict[str, tuple[int, Trace]] = field(default_factory=dict)
    made: dict[str, list[int]] = field(default_factory=dict)
    failed: dict[str, list[int]] = field(default_factory=dict)


def explore_under_stress(
    scenario: Scenario,
    *,
    workdir: Path | None,
    cpus: Sequence[int] = (),
    seed: int,
    budget: Budget,
    on_progress: Callable[[Progress], None],
    patience_s: float = 60.0,
) -> ScenarioResult:
    """Run executions until the budget ends, whatever they find.

    Args:
        scenario: What is run.
        workdir: Where its box is made, or None for the default.
        cpus: Processors to run on; none leaves them as they are.
        seed: Seed of the exploration.
        budget: When to stop.
        on_progress: Called a few times a second.
        patience_s: Real time in which somebody has to get on.

    Raises:
        ScenarioError: It cannot be set up.
        CannotRunError: There is no place for its box.
    """
    adopt_orphans()
    if cpus:
        with contextlib.suppress(OSError):
            os.sched_setaffinity(0, cpus)
    started = told = time.monotonic()
    tally = _Tally()
    with AskedToEnd() as ending, Sandbox(workdir) as sandbox:
        sandbox.move_in()
        programs = set_up(scenario, sandbox)
        reason = beyond(
            programs, scenario.faults, scenario.fault_bounds, scenario.invariants
        )
        judge = Judge(scenario.invariants)
        streams = [Streams(sandbox.outputs / program.name) for program in programs]
        gc.collect()
        gc.freeze()
        while not reason and not _is_hopeless(tally):
            now = time.monotonic()
            if budget.is_spent(tally.executions, now - started):
                break
            if now - told > _PROGRESS_EVERY_S:
                told = now
                on_progress(
                    Progress(
                        name=scenario.name,
                        executions=tally.executions,
                        seconds=now - started,
                        found=tuple(tally.found),
                    )
                )
            number = tally.executions
            execution = StressExecution(
                sandbox,
                programs,
                streams,
                # Far apart, so that explorations with close seeds share no execution.
                seed=seed * 1_000_003 + number,
                pace=PACES[number % len(PACES)],
                bounds=scenario.fault_bounds,
                lasts_s=tally.lasted_s,
                max_cpu_s=scenario.max_cpu_s,
                patience_s=patience_s,
                ending=ending,
            )
            try:
                execution.run(judge)
            except EngineError as error:
                execution.notes.append(str(error))
            _add(tally, scenario, execution, judge, sandbox)
    for each in streams:
        each.close()
    return _result(scenario, tally, reason, seed, budget, time.monotonic() - started)


def _is_hopeless(tally: _Tally) -> bool:
    return len(tally.unknown) >= _MOST_UNKNOWN


def _add(
    tally: _Tally,
    scenario: Scenario,
    execution: StressExecution,
    judge: Judge,
    sandbox: Sandbox,
) -> None:
    record = execution.record
    tally.executions += 1
    tally.steps += len(record.steps)
    tally.lasted_s = (tally.lasted_s + execution.seconds) / 2 or _FIRST_LASTS_S
    tally.crashes += execution.crashes
    tally.overlapped = tally.overlapped or execution.overlapped
    tally.finished.update(end.actor for end in record.ends if not end.crashed)
    for program in record.programs:
        name = program.name
        own = [each for each in record.operations if each.actor == name]
        tally.made.setdefault(name, []).append(len(own))
        tally.failed.setdefault(name, []).append(
            sum(not (each.succeeded or each.ending == "crashed") for each in own)
        )
    trace = _trace(scenario, execution, judge, sandbox)
    if trace.verdict is Verdict.UNKNOWN and trace.reason not in tally.unknown:
        tally.unknown.append(trace.reason)
    for name in broken(trace):
        tally.seen[name] += 1
        tally.found.setdefault(name, (tally.executions, trace))


def _trace(
    scenario: Scenario, execution: StressExecution, judge: Judge, sandbox: Sandbox
) -> Trace:
    record = execution.record
    verdict, reason = judge.verdict()
    if execution.notes:
        # Something was broken all the same if it was broken by then, unless nobody
        # can say what a killed or unreported operation would have come to.
        verdict, reason = Verdict.UNKNOWN, "; ".join(execution.notes)
    looked = any(step.actor == WATCHER for step in record.steps)
    return Trace(
        scenario=scenario.name,
        shape=scenario.shape(),
        actors=(
            *(
                ActorInfo(program.name, program.role, execution.pids[program.name])
                for program in record.programs
                if program.name in execution.pids
            ),
            *((ActorInfo(WATCHER, "looks on", 0),) if looked else ()),
        ),
        schedule=Schedule(execution.seed, tuple(execution.decisions)),
        steps=tuple(record.steps),
        operations=tuple(record.operations),
        ends=tuple(record.ends),
        verdict=verdict,
        reason=reason,
        violations=judge.violations,
        uncontrolled=tuple(execution.notes),
        outputs=sandbox.read_outputs(program.name for program in record.programs),
    )


def _result(
    scenario: Scenario,
    tally: _Tally,
    reason: str,
    seed: int,
    budget: Budget,
    seconds: float,
) -> ScenarioResult:
    verdict, why = _verdict(scenario, tally, reason)
    found = frozenset(tally.found)
    as_expected = (
        bool(found) and found <= scenario.expect
        if scenario.expect
        else verdict is Verdict.PASSED
    ) and verdict is not Verdict.UNKNOWN
    unmet = sorted(scenario.expect - found)
    if verdict is Verdict.VIOLATED and unmet:
        why = "; ".join(filter(None, [why, f"not met here: {', '.join(unmet)}"]))
    return ScenarioResult(
        name=scenario.name,
        engine=ENGINE,
        verdict=verdict,
        reason=why,
        expected=tuple(sorted(scenario.expect)),
        as_expected=as_expected,
        coverage=Coverage.SAMPLED,
        assumptions=ASSUMPTIONS,
        bounds={
            "budget": str(budget),
            "max_cpu_s": scenario.max_cpu_s,
            "crashes": tally.crashes,
        },
        scheduler="none",
        seed=seed,
        executions=tally.executions,
        steps=tally.steps,
        seconds=seconds,
        findings=tuple(
            _finding(name, number, trace, tally.seen[name])
            for name, (number, trace) in tally.found.items()
        ),
        counts=tuple(
            Counts(
                actor=name,
                operations=tuple(made),
                failed=tuple(tally.failed[name]),
            )
            for name, made in tally.made.items()
        ),
    )


def _verdict(scenario: Scenario, tally: _Tally, reason: str) -> tuple[Verdict, str]:
    unknown = "; ".join(tally.unknown)
    if reason:
        return Verdict.UNKNOWN, reason
    if tally.found:
        return Verdict.VIOLATED, unknown
    if tally.unknown:
        return Verdict.UNKNOWN, unknown
    if not tally.executions:
        return Verdict.UNKNOWN, "budget: no execution was made"
    if scenario.fault_bounds and not tally.crashes:
        return Verdict.UNKNOWN, "vacuous: nobody was killed"
    idle = [name for name in tally.made if name not in tally.finished]
    if idle:
        return Verdict.UNKNOWN, f"vacuous: never ran to its end: {', '.join(idle)}"
    if len(tally.made) > 1 and not tally.overlapped:
        return Verdict.UNKNOWN, "vacuous: no two operations ran at the same time"
    return Verdict.PASSED, ""


def _finding(name: str, number: int, trace: Trace, seen: int) -> Finding:
    message = next(
        (each.message for each in trace.violations if each.invariant == name),
        trace.reason,
    )
    return Finding(
        invariant=name,
        message=message,
        token="",
        steps=len(trace.steps),
        context_switches=trace.schedule.context_switches(),
        # There is no replay, but what happened twice was no accident.
        confirmed=seen > 1,
        execution=number,
        seen=seen,
        trace=trace,
    )
