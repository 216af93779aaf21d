"""Where a race became certain: how often it is met from each point of an execution."""

from __future__ import annotations

import contextlib
import math
from typing import TYPE_CHECKING, Final

import msgspec

from racecheck.errors import ReplayDivergedError
from racecheck.explore.traces import broken
from racecheck.explore.trials import unplanned
from racecheck.model import Share
from racecheck.scheduling import (
    PlannedFaultsScheduler,
    RandomFaultsScheduler,
    RandomWalkScheduler,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from racecheck.explore.runner import Runner
    from racecheck.model import (
        Decision,
        ScenarioResult,
        Scheduler,
        SchedulingPoint,
        Step,
        Trace,
    )

MOST_POINTS: Final = 25
_POINTS_TO_SHOW: Final = 12
_SAMPLES_TO_SHOW: Final = 10
_STEPS_TO_SHOW: Final = 200_000
"""How many steps all executions for one curve may have, which takes half a minute."""


def curve(
    runner: Runner,
    trace: Trace,
    invariant: str,
    *,
    samples: int = 20,
    seed: int = 0,
    points: int = MOST_POINTS,
    reuse: bool = False,
    steps: float = math.inf,
) -> list[Share]:
    """Say how likely a violation is from each of several points of an execution on.

    From each point a random walk goes on, with the faults that an exploration would
    have added. The points are the start, the step that broke the invariant (or the end,
    if the end did), each context switch before it, and as many evenly spaced others as
    there is room for. It takes `points * samples` executions at the most.

    Args:
        runner: Runs the scenario.
        trace: An execution of it that breaks the invariant.
        invariant: Name of the invariant, or `deadlock`.
        samples: Executions from each point.
        seed: Seed of the random walks.
        points: How many points at the most, at least 2.
        reuse: Whether actors may run in processes that were used before.
        steps: How many steps all these executions may have.

    Returns:
        How many failed from each point on; nothing if the executions are too long, or
        one of them ran into a limit of time or of the machine.

    Raises:
        ReplayDivergedError: The subject did not follow the execution up to a point.
    """
    plan = runner.scenario.faults
    decisions = [unplanned(each, plan) for each in trace.schedule.decisions]
    shares: list[Share] = []
    for number, step in enumerate(_points(trace, invariant, points)):
        walk = RandomWalkScheduler(seed, first=number * samples)
        failing = 0
        for _ in range(samples):
            continued = _Continued(decisions[:step], RandomFaultsScheduler(walk))
            scheduler = PlannedFaultsScheduler(continued, plan)
            scheduler.start_execution()
            # Random bytes as they were, or what was done before would not be repeated.
            found = runner.run(scheduler, trace.schedule.seed, reuse=reuse)
            if found is None:
                continue
            failing += invariant in broken(found)
            steps -= len(found.steps)
            if steps < 0 or runner.ran_out:
                return []
        shares.append(Share(step, failing, samples))
    return shares


def with_curves(
    runner: Runner, result: ScenarioResult, *, reuse: bool
) -> ScenarioResult:
    """Return a result whose findings tell where each became certain.

    Args:
        runner: Runs the scenario.
        result: What was found.
        reuse: Whether actors may run in processes that were used before.
    """
    findings = []
    for finding in result.findings:
        shares: list[Share] = []
        if finding.confirmed:
            # One that cannot be repeated up to a point has no curve.
            with contextlib.suppress(ReplayDivergedError):
                shares = curve(
                    runner,
                    finding.trace,
                    finding.invariant,
                    samples=_SAMPLES_TO_SHOW,
                    points=_POINTS_TO_SHOW,
                    reuse=reuse,
                    steps=_STEPS_TO_SHOW,
                )
        findings.append(msgspec.structs.replace(finding, curve=tuple(shares)))
    return msgspec.structs.replace(result, findings=tuple(findings))


def _points(trace: Trace, invariant: str, most: int) -> list[int]:
    """Return the numbers of steps to begin with, in order."""
    broken_at = {each.invariant: each.step for each in trace.violations}
    at = broken_at.get(invariant)
    end = len(trace.steps) if at is None else at + 1
    lanes = [decision.actor for decision in trace.schedule.decisions]
    switches = [step for step in range(1, end) if lanes[step] != lanes[step - 1]]
    chosen = {0, end, *_spread(switches, most - 2)}
    others = [step for step in range(1, end) if step not in chosen]
    return sorted(chosen.union(_spread(others, most - len(chosen))))


def _spread(steps: Sequence[int], most: int) -> Sequence[int]:
    """Return some of the steps, evenly spaced, or all of them if they are few."""
    if len(steps) <= most:
        return steps
    return [steps[(2 * index + 1) * len(steps) // (2 * most)] for index in range(most)]


class _Continued:
    """Repeats the beginning of an execution, and lets a scheduler go on from there."""

    def __init__(self, decisions: Sequence[Decision], scheduler: Scheduler) -> None:
        self._decisions = decisions
        self._scheduler = scheduler
        self._next = 0

    def start_execution(self) -> int | None:
        return self._scheduler.start_execution()

    def choose(
        self, enabled: Sequence[SchedulingPoint], current: str | None
    ) -> Decision | None:
        if self._next == len(self._decisions):
            return self._scheduler.choose(enabled, current)
        decision = self._decisions[self._next]
        names = [point.actor for point in enabled]
        if decision.actor not in names:
            raise ReplayDivergedError(
                self._next,
                f"{decision.actor} to go on",
                f"only {', '.join(names)} enabled",
            )
        self._next += 1
        return decision

    def record(self, step: Step) -> None:
        self._scheduler.record(step)

    def finish_execution(self, steps: Sequence[Step]) -> None:
        self._scheduler.finish_execution(steps)
