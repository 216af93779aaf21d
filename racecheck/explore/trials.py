"""Trying candidates out: each is run for real, once, and what happened is kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from racecheck.explore.passes import Turn, Turns
from racecheck.explore.traces import broken
from racecheck.model import Decision, Kind, Schedule
from racecheck.scheduling import PlannedFaultsScheduler, RecordedScheduler

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from racecheck.model import (
        PlannedFault,
        Scheduler,
        SchedulingPoint,
        Step,
        Trace,
    )

    Run = Callable[[Scheduler, int], Trace | None]
    """Runs one execution that has been started, given its seed: `Runner.run`."""


class Outcome(NamedTuple):
    """What came of a candidate.

    Attributes:
        trace: The execution.
        turns: Its turns, without what the scenario's plan adds to them anyway.
        preemptions: How often an actor was stopped that could have gone on.
        broken: The invariants that it breaks.
    """

    trace: Trace
    turns: Turns
    preemptions: int
    broken: frozenset[str]


class Trials:
    """Candidates of one found execution, and what came of those that were run.

    Attributes:
        executions: Executions made.
        outcomes: What came of them, and the execution that was found, which is the
            first of them.
    """

    def __init__(
        self, run: Run, found: Trace, plan: Sequence[PlannedFault] = ()
    ) -> None:
        """Begin with an execution.

        Args:
            run: Runs one execution.
            found: The execution whose candidates are tried.
            plan: Faults that every execution of its scenario meets. A candidate
                cannot get rid of them, as it would be of another scenario then.
        """
        self.executions = 0
        # How often it was preempted is not recorded; not more than it was switched.
        first = self._outcome(found, plan, found.schedule.context_switches())
        self.outcomes = [first]
        self._run = run
        self._plan = plan
        self._known: dict[Turns, Outcome | None] = {first.turns: first}

    def knows(self, turns: Turns) -> bool:
        """Say whether it is known what comes of a candidate."""
        return turns in self._known

    def outcome(self, turns: Turns) -> Outcome | None:
        """Return what comes of a candidate; None if it does not come to an end."""
        if turns not in self._known:
            self._known[turns] = outcome = self._try(turns)
            if outcome is not None:
                self.outcomes.append(outcome)
                self._known.setdefault(outcome.turns, outcome)
        return self._known[turns]

    def broken(self) -> list[str]:
        """Return all that was seen broken, in the order in which it was."""
        names = (name for each in self.outcomes for name in sorted(each.broken))
        return list(dict.fromkeys(names))

    def _try(self, turns: Turns) -> Outcome | None:
        padded = _to_the_end(turns)
        schedule = Schedule(
            self.outcomes[0].trace.schedule.seed,
            tuple(turn.decision for turn in padded),
        )
        recorded = RecordedScheduler(schedule, [turn.kind for turn in padded])
        watched = _Watched(recorded, most_steps=2 * len(turns) + 100)
        planned = PlannedFaultsScheduler(watched, self._plan)
        seed = planned.start_execution()
        assert seed is not None  # noqa: S101  it has one execution
        self.executions += 1
        trace = self._run(planned, seed)
        if trace is None:
            return None
        return self._outcome(trace, self._plan, watched.preemptions)

    @staticmethod
    def _outcome(
        trace: Trace, plan: Sequence[PlannedFault], preemptions: int
    ) -> Outcome:
        turns = tuple(
            Turn(unplanned(decision, plan), step.kind)
            for decision, step in zip(
                trace.schedule.decisions, trace.steps, strict=True
            )
        )
        return Outcome(trace, turns, preemptions, frozenset(broken(trace)))


class _Watched:
    """A wrapper that counts preemptions and keeps a candidate within bounds.

    It may make actors poll for ever for what others have yet to do, and is given up.
    """

    def __init__(self, scheduler: Scheduler, *, most_steps: int) -> None:
        self.preemptions = 0
        self._scheduler = scheduler
        self._left = most_steps

    def start_execution(self) -> int | None:
        return self._scheduler.start_execution()

    def choose(
        self, enabled: Sequence[SchedulingPoint], current: str | None
    ) -> Decision | None:
        if not self._left:
            return None
        self._left -= 1
        decision = self._scheduler.choose(enabled, current)
        if decision is None:
            return None
        points = {point.actor: point for point in enabled}
        self.preemptions += decision.actor != current and current in points
        if decision.fault not in points[decision.actor].faults:
            # In another order the bounds on faults may not allow it here.
            return Decision(decision.actor)
        return decision

    def record(self, step: Step) -> None:
        self._scheduler.record(step)

    def finish_execution(self, steps: Sequence[Step]) -> None:
        self._scheduler.finish_execution(steps)


def unplanned(decision: Decision, plan: Sequence[PlannedFault]) -> Decision:
    """Return a decision without a fault that the plan adds to it again."""
    if decision.fault is not None and any(
        planned.actor == decision.actor and planned.fault == decision.fault
        for planned in plan
    ):
        return Decision(decision.actor)
    return decision


def _to_the_end(turns: Turns) -> Turns:
    """Let each last run of an actor go on to its end, however many steps that takes.

    In another order it may take more than it took. Turns of who has ended are skipped.
    """
    last = {turn.lane: index for index, turn in enumerate(turns)}
    padded: list[Turn] = []
    for index, turn in enumerate(turns):
        padded.append(turn)
        if last[turn.lane] == index:
            padded += [Turn(Decision(turn.lane), Kind.OTHER)] * len(turns)
    return tuple(padded)
