"""Programs that schedulers are tested on: actors as lists of operations, no process."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from racecheck.model import (
    Decision,
    FaultKind,
    Kind,
    Schedule,
    SchedulingPoint,
    Step,
    from_lane,
    lane_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from racecheck.model import Scheduler


def at_once(steps: Sequence[Step]) -> bool:
    """Say that an operation never waits."""
    del steps
    return True


def after_end_of(actor: str) -> Callable[[Sequence[Step]], bool]:
    """Say that an operation waits until another actor has come to its end."""
    return lambda steps: any(
        step.actor == actor and step.kind is Kind.EXIT for step in steps
    )


@dataclass(frozen=True)
class Op:
    """One operation of a simulated actor.

    Attributes:
        kind: What it does.
        call: Name of the call; empty stands for the kind's.
        size: Bytes that it wants to write.
        ready: Says, given the steps so far, whether it can be made.
    """

    kind: Kind
    call: str = ""
    size: int = 0
    ready: Callable[[Sequence[Step]], bool] = at_once


@dataclass(frozen=True)
class Execution:
    """What came of a simulated program under a scheduler."""

    seed: int
    steps: tuple[Step, ...]

    @property
    def actors(self) -> str:
        """Who took the steps, for actors that are called by one letter."""
        return "".join(step.actor for step in self.steps)

    @property
    def kinds(self) -> tuple[Kind, ...]:
        return tuple(step.kind for step in self.steps)

    @property
    def schedule(self) -> Schedule:
        decisions = tuple(
            Decision(lane_of(step.actor, step.task), step.fault) for step in self.steps
        )
        return Schedule(self.seed, decisions)


def execute(
    program: Mapping[str, Sequence[Op]], scheduler: Scheduler
) -> Execution | None:
    """Make the scheduler's next execution; None when it has none left."""
    seed = scheduler.start_execution()
    if seed is None:
        return None
    left = {actor: list(ops) for actor, ops in program.items()}
    steps: list[Step] = []
    current = None
    while points := _enabled(left, steps):
        decision = scheduler.choose(tuple(points.values()), current)
        if decision is None:
            break
        current = decision.actor
        assert current in points, f"{current} is not enabled"
        stalled = decision.fault and decision.fault.kind is FaultKind.STALL
        op = left[current][0] if stalled else left[current].pop(0)
        crashed = decision.fault and decision.fault.kind in {
            FaultKind.CRASH,
            FaultKind.TEAR,
        }
        if crashed:
            left[current] = []
        kind = Kind.CRASH if crashed else Kind.STALL if stalled else op.kind
        actor, task = from_lane(current)
        steps.append(
            Step(
                index=len(steps),
                actor=actor,
                task=task,
                operation=0,
                call=op.call or op.kind,
                kind=kind,
                args={},
                result=-5 if decision.fault and decision.fault.errno else 0,
                fault=decision.fault,
            )
        )
        scheduler.record(steps[-1])
    scheduler.finish_execution(steps)
    return Execution(seed, tuple(steps))


def execute_all(
    program: Mapping[str, Sequence[Op]], scheduler: Scheduler
) -> list[Execution]:
    """Make all the executions of a scheduler that has a limit."""
    executions = []
    while (execution := execute(program, scheduler)) is not None:
        executions.append(execution)
    return executions


def program(**actors: str) -> dict[str, list[Op]]:
    """Write a program down: `program(a="open write close")`."""
    return {
        actor: [Op(Kind(kind)) for kind in kinds.split()]
        for actor, kinds in actors.items()
    }


def _enabled(
    left: Mapping[str, Sequence[Op]], steps: Sequence[Step]
) -> dict[str, SchedulingPoint]:
    return {
        actor: SchedulingPoint(
            actor, ops[0].kind, ops[0].call or ops[0].kind, ops[0].size
        )
        for actor, ops in left.items()
        if ops and ops[0].ready(steps)
    }
