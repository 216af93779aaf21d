"""Exploring a scenario: many executions, until the question is answered.

`explore` is the entry point. It runs inside a worker process; `client` is the side that
people call.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from racecheck.engine.repeated import NotRepeatedError
from racecheck.errors import ReplayDivergedError
from racecheck.explore.findings import look_into, repeat
from racecheck.explore.habits import Habits, StateKeptError
from racecheck.explore.made import Outline, take_in
from racecheck.explore.traces import broken, conflicting_calls
from racecheck.model import (
    Coverage,
    Finding,
    Progress,
    ScenarioResult,
    Verdict,
)
from racecheck.scenario.checks import DEADLOCK
from racecheck.scheduling import (
    SCHEDULERS,
    ExhaustiveScheduler,
    PlannedFaultsScheduler,
    RandomFaultsScheduler,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from racecheck.explore.runner import Runner
    from racecheck.explore.team import Team
    from racecheck.model import Scheduler
    from racecheck.scenario import Budget

ASSUMED_OF_TASKS: Final = (
    "the order of one actor's tasks among themselves was sampled, not gone through"
)
ASSUMED_OF_ONE_ORDER: Final = (
    "the order of one actor's tasks among themselves was not permuted"
)
ASSUMED_OF_WAITS: Final = "time passes only when nobody else can go on"
ASSUMED_OF_BOUNDS: Final = "what comes after an execution was broken off is not known"
ASSUMED_OF_SPINS: Final = "who looks in vain again and again waits until that changes"

_PROGRESS_EVERY_S: Final = 0.2
_MOST_UNKNOWN: Final = 20
_MOST_WITH_FOOTPRINTS: Final = 20
_MOST_COMPARED: Final = 5
_RUN_BOTH_WAYS: Final = 3
_CHECK_EVERY: Final = 100


@dataclass(slots=True)
class _Tally:
    """What an exploration has seen so far."""

    executions: int = 0
    steps: int = 0
    unknown: dict[str, int] = field(default_factory=dict)
    met: set[int] = field(default_factory=set)
    diverged: str = ""
    dependent: bool = False
    looked: int = 0
    finished: set[str] = field(default_factory=set)
    findings: dict[str, Finding] = field(default_factory=dict)
    fresh: bool = False
    shrink: bool = True
    given_up: int = 0
    tasks: bool = False
    unordered: set[str] = field(default_factory=set)
    conflicts: set[str] = field(default_factory=set)
    waits: bool = False
    spun: bool = False
    judging: set[str] = field(default_factory=set)
    broken_off: bool = False

    def count(self, outline: Outline | None) -> None:
        """Take in an execution; None is one that the scheduler gave up."""
        if outline is None:
            self.given_up += 1
            return
        self.executions += 1
        self.steps += outline.steps
        self.finished.update(outline.finished)
        self.unordered.update(outline.unordered)
        self.tasks = self.tasks or outline.tasks
        self.waits = self.waits or outline.waits
        self.dependent = self.dependent or outline.dependent
        self.spun = self.spun or outline.spun
        self.judging.update(outline.judging)
        self.met.update(outline.met)
        self.broken_off = self.broken_off or outline.broken_off


class _TooCoarseError(Exception):
    """Orders that differ for an invariant were taken for the same; see `Watch`."""


def explore(
    runner: Runner,
    *,
    seed: int,
    budget: Budget,
    scheduler_name: str,
    fresh: bool = False,
    shrink: bool = True,
    on_progress: Callable[[Progress], None],
    team: Team | None = None,
) -> ScenarioResult:
    """Sample executions until every expected invariant is broken or the budget ends.

    Args:
        runner: Runs the executions.
        seed: Seed of the exploration; with a budget of executions it decides all.
        budget: When to stop.
        scheduler_name: One of `SCHEDULERS`.
        fresh: Whether each execution starts all its processes anew.
        shrink: Whether what is found is made simpler. That takes executions which do
            not count.
        on_progress: Called a few times a second.
        team: Makes executions ahead, which changes nothing but the time it takes.
    """
    options = (seed, budget, scheduler_name, on_progress, team)
    while True:
        if team:
            team.begin()
        runner.habits = None if fresh else Habits()
        try:
            return _explore(runner, *options, fresh=fresh, shrink=shrink)
        except StateKeptError:
            fresh = True
        except _TooCoarseError:
            runner.watch.refine()
        except NotRepeatedError:
            runner.repeats = False


def _explore(
    runner: Runner,
    seed: int,
    budget: Budget,
    scheduler_name: str,
    on_progress: Callable[[Progress], None],
    team: Team | None,
    *,
    fresh: bool,
    shrink: bool,
) -> ScenarioResult:
    scenario = runner.scenario
    scheduler = SCHEDULERS[scheduler_name](seed)
    if not isinstance(scheduler, ExhaustiveScheduler):
        # The search goes through the allowed faults by itself.
        scheduler = RandomFaultsScheduler(scheduler)
    planned = PlannedFaultsScheduler(scheduler, scenario.faults)
    tally = _Tally(fresh=fresh, shrink=shrink)
    started = told = time.monotonic()
    while not _is_answered(tally, scenario.expect):
        now = time.monotonic()
        if budget.is_spent(tally.executions + tally.given_up, now - started):
            break
        if now - told > _PROGRESS_EVERY_S:
            told = now
            on_progress(
                Progress(
                    name=scenario.name,
                    executions=tally.executions,
                    seconds=now - started,
                    found=tuple(tally.findings),
                )
            )
        execution_seed = planned.start_execution()
        if execution_seed is None:
            break
        try:
            _explore_one(runner, planned, execution_seed, tally, team)
        except ReplayDivergedError as error:
            if not tally.fresh:
                raise StateKeptError from error
            tally.diverged = str(error)
    return _result(
        runner,
        tally,
        scheduler,
        seed=seed,
        budget=budget,
        scheduler_name=scheduler_name,
        seconds=time.monotonic() - started,
        unmet=tuple(
            f"{fault.fault} at {fault.on or 'step'} {fault.occurrence} of {fault.actor}"
            for fault in planned.unmet
        ),
    )


def _explore_one(
    runner: Runner,
    planned: PlannedFaultsScheduler,
    seed: int,
    tally: _Tally,
    team: Team | None,
) -> None:
    # Footprints cost time. Where the scheduler does not ask for them they serve only to
    # show that actors do meet, so they are taken until one execution has shown it.
    look = not tally.dependent and tally.looked < _MOST_WITH_FOOTPRINTS
    footprints = look or planned.needs_footprints
    # Processes are used again where that makes no difference. The first executions are
    # run both ways to see whether it does, and one in many later.
    turn = tally.executions
    both = turn < _RUN_BOTH_WAYS or turn % _CHECK_EVERY == 0
    reuse = not tally.fresh and not both
    # So are the first few with footprints, to tell which calls meet.
    compare = footprints and turn < _MOST_COMPARED
    scheduler: Scheduler = planned
    if team:
        # The first executions are made here in any case. Whoever were given them would
        # be at them while others wait.
        if not look and turn + 1 >= _MOST_COMPARED:
            team.keep_busy(planned, reuse=not tally.fresh)
        made = None
        if look or both or compare:
            team.forget(planned)
        else:
            made = team.find(planned)
        if made is not None:
            resumed = take_in(made, planned)
            if resumed is None:
                tally.count(made.outline)
                return
            team.part(planned)
            scheduler = resumed
    trace = runner.run(
        scheduler,
        seed,
        footprints=footprints,
        reuse=reuse,
        repeats=True,
        compare=both,
    )
    if runner.watch.is_too_coarse:
        raise _TooCoarseError
    if trace is None:
        tally.count(None)
        return
    judging, broken_off = runner.judging, runner.broken_off
    if both and not tally.fresh and repeat(runner, trace, reuse=True)[1]:
        raise StateKeptError
    bounds = runner.scenario.fault_bounds
    outline = Outline.of(
        trace,
        spun=runner.spun,
        look=look,
        judging=judging,
        bounds=bounds,
        broken_off=broken_off,
    )
    tally.count(outline)
    tally.looked += look
    if compare:
        tally.conflicts.update(conflicting_calls(trace.steps))
    if trace.verdict is Verdict.UNKNOWN:
        tally.unknown[trace.reason] = tally.unknown.get(trace.reason, 0) + 1
    if all(name in tally.findings for name in broken(trace)):
        return
    findings, difference = look_into(
        runner,
        trace,
        known=tally.findings,
        execution=tally.executions,
        reused=reuse,
        fresh=tally.fresh,
        shrink=tally.shrink,
    )
    tally.findings.update((finding.invariant, finding) for finding in findings)
    tally.diverged = tally.diverged or difference


def _is_answered(tally: _Tally, expect: frozenset[str]) -> bool:
    found = set(tally.findings)
    if found - expect or tally.diverged:
        return True
    if sum(tally.unknown.values()) >= _MOST_UNKNOWN:
        return True
    return bool(expect) and found == expect


def _result(
    runner: Runner,
    tally: _Tally,
    scheduler: Scheduler,
    *,
    seed: int,
    budget: Budget,
    scheduler_name: str,
    seconds: float,
    unmet: tuple[str, ...],
) -> ScenarioResult:
    scenario = runner.scenario
    verdict, reason = _verdict(runner, tally, unmet)
    expected = tuple(sorted(scenario.expect))
    found = tuple(sorted(tally.findings))
    as_expected = found == expected and verdict in (
        (Verdict.VIOLATED, Verdict.DEADLOCKED) if expected else (Verdict.PASSED,)
    )
    bounds: dict[str, int | float | str] = {
        "budget": str(budget),
        "max_steps": scenario.max_steps,
        "max_cpu_s": scenario.max_cpu_s,
        "planned_faults": len(scenario.faults),
    }
    if runner.platform:
        bounds["platform"] = runner.platform
    for bound in scenario.fault_bounds:
        bounds[f"most {bound.fault}"] = bound.most
    coverage = Coverage.SAMPLED
    of_tasks = ASSUMED_OF_TASKS
    if isinstance(scheduler, ExhaustiveScheduler):
        bounds["exhaustive"] = scheduler.exhaustive
        bounds["sampled"] = scheduler.sampled
        bounds["given_up"] = scheduler.blocked
        coverage = Coverage.CUT
        if not scheduler.sampled:
            of_tasks = ASSUMED_OF_ONE_ORDER
        left_out = tally.tasks or tally.waits or tally.unordered or tally.unknown
        if scheduler.finished and not (left_out or tally.spun or tally.broken_off):
            coverage = Coverage.COMPLETE
    return ScenarioResult(
        name=scenario.name,
        engine=runner.engine,
        verdict=verdict,
        reason=reason,
        expected=expected,
        as_expected=as_expected,
        coverage=coverage,
        assumptions=(
            *runner.assumptions,
            *((of_tasks,) if tally.tasks else ()),
            *((ASSUMED_OF_WAITS,) if tally.waits or tally.spun else ()),
            *((ASSUMED_OF_SPINS,) if tally.spun else ()),
            *((ASSUMED_OF_BOUNDS,) if tally.broken_off else ()),
            *(
                f"not every order was tried of {what}"
                for what in sorted(tally.unordered)
            ),
        ),
        bounds=bounds,
        scheduler=scheduler_name,
        seed=seed,
        executions=tally.executions,
        steps=tally.steps,
        seconds=seconds,
        findings=tuple(tally.findings.values()),
        conflicts=tuple(sorted(tally.conflicts)),
    )


def _verdict(
    runner: Runner, tally: _Tally, unmet: tuple[str, ...]
) -> tuple[Verdict, str]:
    if tally.diverged:
        return Verdict.DIVERGED, tally.diverged
    unknown = "; ".join(tally.unknown)
    if tally.findings:
        deadlocked = list(tally.findings) == [DEADLOCK]
        return Verdict.DEADLOCKED if deadlocked else Verdict.VIOLATED, unknown
    if tally.unknown:
        return Verdict.UNKNOWN, unknown
    if not tally.executions:
        return Verdict.UNKNOWN, "budget: no execution was made"
    if unmet:
        return Verdict.UNKNOWN, f"vacuous: never met its call: {', '.join(unmet)}"
    idle = [name for name in runner.actors if name not in tally.finished]
    crashed = {fault.actor for fault in runner.scenario.faults}
    if any(name not in crashed for name in idle):
        names = ", ".join(name for name in idle if name not in crashed)
        return Verdict.UNKNOWN, f"vacuous: never ran to its end: {names}"
    if not tally.dependent:
        missing = "nothing was touched"
        if len(runner.actors) > 1:
            missing = "no two actors touched the same thing"
        return Verdict.UNKNOWN, f"vacuous: {missing}"
    return Verdict.PASSED, "; ".join(_remarks(runner, tally))


def _remarks(runner: Runner, tally: _Tally) -> Iterator[str]:
    """Yield what a pass says little about."""
    idle = [
        each.name
        for each in runner.scenario.invariants
        if each.name not in tally.judging
    ]
    if idle:
        yield f"found nothing to judge: {', '.join(idle)}"
    unmet = [
        f"{bound.fault} on {bound.on}"
        for index, bound in enumerate(runner.scenario.fault_bounds)
        if bound.on and index not in tally.met
    ]
    if unmet:
        yield f"never met: {', '.join(unmet)}"
