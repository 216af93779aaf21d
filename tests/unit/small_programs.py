"""Small racy programs for tests: each actor a generator, every order of which is known.

What an actor does between two `yield`s is one step, and what it yields is the step that
comes next. So an actor reads like the program that it stands for, and others may come
between exactly where it yields.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from racecheck.model import (
    EMPTY,
    ActorInfo,
    Decision,
    Fault,
    FaultKind,
    Footprint,
    Kind,
    Resource,
    Schedule,
    SchedulingPoint,
    Step,
    Trace,
    Verdict,
    Violation,
    Write,
)

if TYPE_CHECKING:
    from racecheck.model import Scheduler

_DEADLY = frozenset({FaultKind.CRASH, FaultKind.TEAR})


def at_once() -> bool:
    """Say that a step never waits."""
    return True


@dataclass(frozen=True)
class Next:
    """The step that an actor takes next.

    Attributes:
        kind: What it does.
        reads: What it reads: names of files, of locks, of anything.
        writes: What it changes.
        ready: Says whether it can be taken.
        faults: What may go wrong in it.
    """

    kind: Kind
    reads: str = ""
    writes: str = ""
    ready: Callable[[], bool] = at_once
    faults: tuple[Fault, ...] = ()

    @property
    def footprint(self) -> Footprint:
        """What it touches."""
        return Footprint(
            tuple(Resource("data", name) for name in self.reads.split()),
            tuple(Write(Resource("data", name)) for name in self.writes.split()),
        )


Steps = Generator[Next, Fault | None, None]
"""What an actor is made of; `yield` gives the fault that its step meets."""


@dataclass
class World:
    """What the actors share, and what was found wrong.

    Attributes:
        files: Name to content.
        locks: Name of a lock to who has it.
        wrong: Invariant to the step that broke it; None at the end.
        step: Index of the present step.
    """

    files: dict[str, object] = field(default_factory=dict)
    locks: dict[str, str] = field(default_factory=dict)
    wrong: dict[str, int | None] = field(default_factory=dict)
    step: int = 0

    def fail(self, invariant: str) -> None:
        """Note that the present step has broken an invariant."""
        self.wrong.setdefault(invariant, self.step)

    def number(self, name: str) -> int:
        """Return a file that holds a number."""
        value = self.files.get(name, 0)
        assert isinstance(value, int)
        return value

    def is_free(self, lock: str) -> Callable[[], bool]:
        """Return what says whether a lock can be had."""
        return lambda: lock not in self.locks


@dataclass(frozen=True)
class Small:
    """A program.

    Attributes:
        actors: What each does, in the order of their declaration.
        at_end: Return what the end breaks, or an empty text.
        files: What is there at the start.
        footprints: Whether steps get footprints.
        roles: Roles of the actors that are not just actors.
    """

    actors: Mapping[str, Callable[[World], Steps]]
    at_end: Callable[[World], str] = lambda _: ""
    files: Mapping[str, object] = field(default_factory=dict)
    footprints: bool = True
    roles: Mapping[str, str] = field(default_factory=dict)

    def run(self, scheduler: Scheduler, seed: int = 0) -> Trace | None:
        """Make an execution that has been started; None if it is given up."""
        world = World(dict(self.files))
        going = {name: make(world) for name, make in self.actors.items()}
        ahead = {name: next(steps) for name, steps in going.items()}
        decisions: list[Decision] = []
        steps: list[Step] = []
        while points := [
            SchedulingPoint(name, ahead[name].kind, ahead[name].kind, faults=faults)
            for name in going
            if name in ahead and ahead[name].ready()
            for faults in [ahead[name].faults]
        ]:
            current = decisions[-1].actor if decisions else None
            decision = scheduler.choose(points, current)
            if decision is None:
                return None
            assert decision.actor in [point.actor for point in points]
            world.step = len(steps)
            step = self._step(going[decision.actor], ahead, decision, world.step)
            decisions.append(decision)
            steps.append(step)
            scheduler.record(step)
        scheduler.finish_execution(steps)
        if not ahead and (broken := self.at_end(world)):
            world.wrong.setdefault(broken, None)
        verdict = Verdict.VIOLATED if world.wrong else Verdict.PASSED
        return Trace(
            scenario="small",
            shape="00" * 8,
            actors=tuple(
                ActorInfo(name, self.roles.get(name, "actor"), 1000)
                for name in self.actors
            ),
            schedule=Schedule(seed, tuple(decisions)),
            steps=tuple(steps),
            verdict=Verdict.DEADLOCKED if ahead else verdict,
            violations=tuple(
                Violation(name, "is false", step) for name, step in world.wrong.items()
            ),
        )

    def _step(
        self, going: Steps, ahead: dict[str, Next], decision: Decision, index: int
    ) -> Step:
        pending = ahead.pop(decision.actor)
        kind = pending.kind
        if decision.fault is not None and decision.fault.kind in _DEADLY:
            kind = Kind.CRASH
        else:
            for following in _sent(going, decision.fault):
                ahead[decision.actor] = following
        return Step(
            index=index,
            actor=decision.actor,
            operation=0,
            call=pending.kind,
            kind=kind,
            args={"reads": pending.reads, "writes": pending.writes},
            result=-5 if decision.fault is not None and decision.fault.errno else 0,
            fault=decision.fault,
            footprint=pending.footprint if self.footprints else EMPTY,
        )


def _sent(going: Steps, fault: Fault | None) -> Iterator[Next]:
    """Yield the next step of an actor, if it has one."""
    try:
        yield going.send(fault)
    except StopIteration:
        return
