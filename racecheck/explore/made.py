"""Executions that were made ahead of their turn, and what takes them in when it comes.

`make` runs one, in whatever process. `take_in` asks the scheduler at each point of it
what it would have done there. Only if that is what was done, the execution counts. Of a
sample it has the scheduler learn the lesson, which is all that the scheduler needs.
"""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING

import msgspec

from racecheck.engine.repeated import NotRepeatedError
from racecheck.errors import ReplayDivergedError
from racecheck.explore.habits import StateKeptError
from racecheck.explore.traces import actors_depend, faults_met, touches
from racecheck.invariants.watch import Fineness
from racecheck.model import Decision, Footprint, Kind, SchedulingPoint, Step, Verdict
from racecheck.scheduling.ahead import Lesson, learn, lesson_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from racecheck.explore.runner import Runner
    from racecheck.model import FaultBound, Scheduler, Trace

_TOLD = "timed out"
"""The only argument of a step that a scheduler looks at."""


class Outline(msgspec.Struct, frozen=True):
    """What an exploration counts of an execution.

    Attributes:
        steps: How many steps it has.
        finished: Actors that ran to their end.
        unordered: What was not ordered.
        tasks: Whether an actor had further tasks.
        waits: Whether somebody waited for time to pass.
        dependent: Whether two actors met, or the only one touched anything; False where
            steps have no footprints.
        spun: Whether an actor was held up because it looked in vain.
        judging: Invariants that had something to judge.
        met: Which of the faults that may come at a call came at one.
        broken_off: Whether it was broken off at a bound.
    """

    steps: int
    finished: tuple[str, ...]
    unordered: tuple[str, ...]
    tasks: bool
    waits: bool
    dependent: bool
    spun: bool
    judging: tuple[str, ...] = ()
    met: tuple[int, ...] = ()
    broken_off: bool = False

    @classmethod
    def of(
        cls,
        trace: Trace,
        *,
        spun: bool,
        look: bool,
        judging: tuple[str, ...],
        bounds: Sequence[FaultBound],
        broken_off: bool,
    ) -> Outline:
        """Return the outline of an execution.

        Args:
            trace: The execution.
            spun: Whether an actor was held up because it looked in vain.
            look: Whether to look if actors met, which takes a moment.
            judging: Invariants that had something to judge.
            bounds: Faults that may come.
            broken_off: Whether it was broken off at a bound.
        """
        if look:
            alone = len(trace.actors) == 1
            look = touches(trace) if alone else actors_depend(trace.steps)
        return cls(
            steps=len(trace.steps),
            finished=tuple(end.actor for end in trace.ends if not end.crashed),
            unordered=trace.unordered,
            tasks=any(step.task for step in trace.steps),
            waits=any(step.kind is Kind.WAKE for step in trace.steps),
            dependent=look,
            spun=spun,
            judging=judging,
            met=tuple(faults_met(trace.steps, bounds)) if bounds else (),
            broken_off=broken_off,
        )


class Order(msgspec.Struct, frozen=True, tag=True):
    """An execution that is to be made, or a series of them.

    Attributes:
        number: What its answers go by.
        seed: Seed of its random bytes.
        scheduler: What makes it, pickled.
        footprints: Whether its steps get footprints.
        reuse: Whether actors may run in processes that were used before.
        fineness: How finely orders are told apart for invariants.
        most: The most executions of the series.
    """

    number: int
    seed: int
    scheduler: bytes
    footprints: bool
    reuse: bool
    fineness: Fineness
    most: int = 1


class Stop(msgspec.Struct, frozen=True, tag=True):
    """A series that nobody wants any more: its number."""

    number: int


class Made(msgspec.Struct, frozen=True):
    """An execution that was made ahead, as far as a scheduler sees it.

    Attributes:
        number: That of the order.
        points: All scheduling points there were, each once.
        enabled: Which of them there were at each step, and where it was given up.
        decisions: What was decided.
        steps: The steps, without what no scheduler looks at.
        footprints: What they touched, each once.
        touched: Which of these each step has.
        outline: What is counted; None if it was given up.
        plain: Whether nothing was found, so that it can be taken as it is.
        more: Whether there are more of the series to come.
        lesson: What the scheduler learns of it, if that is all that it needs: then
            there is nothing of the above that it is asked and told.
        kept: Whether a process was seen to keep state, so that it is of no use.
        habits: What its actors did in which situation; see `Habits.latest`.
    """

    number: int
    points: tuple[SchedulingPoint, ...] = ()
    enabled: tuple[tuple[int, ...], ...] = ()
    decisions: tuple[Decision, ...] = ()
    steps: tuple[Step, ...] = ()
    footprints: tuple[Footprint, ...] = ()
    touched: tuple[int, ...] = ()
    outline: Outline | None = None
    plain: bool = False
    more: bool = False
    lesson: Lesson | None = None
    kept: bool = False
    habits: dict[int, int] = {}


class _Noting:
    """A wrapper that notes what a scheduler is asked and told."""

    def __init__(self, scheduler: Scheduler) -> None:
        self.points: dict[SchedulingPoint, int] = {}
        self.enabled: list[tuple[int, ...]] = []
        self.decisions: list[Decision] = []
        self.steps: list[Step] = []
        self.footprints: dict[Footprint, int] = {}
        self.touched: list[int] = []
        self._scheduler = scheduler

    def start_execution(self) -> int | None:
        return self._scheduler.start_execution()

    def choose(
        self, enabled: Sequence[SchedulingPoint], current: str | None
    ) -> Decision | None:
        known = self.points
        places = [known.setdefault(point, len(known)) for point in enabled]
        self.enabled.append(tuple(places))
        decision = self._scheduler.choose(enabled, current)
        if decision is not None:
            self.decisions.append(decision)
        return decision

    def record(self, step: Step) -> None:
        self._scheduler.record(step)
        known = self.footprints
        self.touched.append(known.setdefault(step.footprint, len(known)))
        told = {_TOLD: step.args[_TOLD]} if _TOLD in step.args else {}
        lean = Step(
            index=step.index,
            actor=step.actor,
            operation=step.operation,
            call=step.call,
            kind=step.kind,
            args=told,
            result=step.result,
            fault=step.fault,
            task=step.task,
        )
        self.steps.append(lean)

    def finish_execution(self, steps: Sequence[Step]) -> None:
        """Pass it on, for those that make more than this one."""
        self._scheduler.finish_execution(steps)


def make(runner: Runner, order: Order) -> Iterator[Made]:
    """Make executions ahead of their turns: one, or as many as there are and may be."""
    scheduler: Scheduler = pickle.loads(order.scheduler)  # noqa: S301  from our own process
    for left in reversed(range(order.most)):
        made = _make(runner, order, scheduler)
        is_last = not left or not made.enabled or scheduler.start_execution() is None
        yield msgspec.structs.replace(made, more=not is_last)
        if is_last:
            return


def _make(runner: Runner, order: Order, scheduler: Scheduler) -> Made:
    # What can be learned in a lesson need not be noted.
    notes = None if lesson_of(scheduler) is not None else _Noting(scheduler)
    watch = runner.watch
    before = watch.fineness, watch.needed, runner.spun
    watch.fineness = watch.needed = order.fineness
    runner.spun = False
    try:
        trace = runner.run(
            scheduler if notes is None else notes,
            order.seed,
            footprints=order.footprints,
            reuse=order.reuse,
            repeats=True,
        )
        too_coarse, spun = watch.is_too_coarse, runner.spun
    except (ReplayDivergedError, StateKeptError):
        return Made(order.number, kept=order.reuse)
    except NotRepeatedError:
        runner.repeats = False
        return Made(order.number)
    finally:
        watch.fineness, watch.needed, runner.spun = before
    plain = trace is None or (
        trace.verdict is Verdict.PASSED and not trace.violations and not too_coarse
    )
    outline = None
    if trace is not None:
        outline = Outline.of(
            trace,
            spun=spun,
            look=False,
            judging=runner.judging,
            bounds=runner.scenario.fault_bounds,
            broken_off=runner.broken_off,
        )
    if notes is None:
        lesson = lesson_of(scheduler)
        return Made(order.number, outline=outline, plain=plain, lesson=lesson)
    return Made(
        number=order.number,
        points=tuple(notes.points),
        enabled=tuple(notes.enabled),
        decisions=tuple(notes.decisions),
        steps=tuple(notes.steps),
        footprints=tuple(notes.footprints),
        touched=tuple(notes.touched),
        outline=outline,
        plain=plain,
        habits=runner.habits.latest if runner.habits is not None else {},
    )


def take_in(made: Made, scheduler: Scheduler) -> Resumed | None:
    """Let a scheduler go through an execution as if it had made it.

    Returns:
        None if it would have, else what goes on from where it would do otherwise.
    """
    if made.lesson is not None:
        learn(scheduler, made.lesson)
        return None
    current: str | None = None
    for index, places in enumerate(made.enabled):
        enabled = [made.points[place] for place in places]
        decision = scheduler.choose(enabled, current)
        given_up = index == len(made.decisions)
        if decision != (None if given_up else made.decisions[index]):
            return Resumed(scheduler, [*made.decisions[:index], decision])
        if decision is not None and index < len(made.steps):
            step = msgspec.structs.replace(
                made.steps[index], footprint=made.footprints[made.touched[index]]
            )
            scheduler.record(step)
            current = decision.actor
    scheduler.finish_execution(made.steps)
    return None


class Resumed:
    """A scheduler for an execution of which its first decisions are known already."""

    def __init__(
        self, scheduler: Scheduler, decisions: Sequence[Decision | None]
    ) -> None:
        """Wrap a scheduler.

        Args:
            scheduler: Who goes on. It was told of all steps but the last decided one.
            decisions: What it has decided.
        """
        self._scheduler = scheduler
        self._decisions = list(decisions)
        self._chosen = 0
        self._recorded = 0

    def start_execution(self) -> int | None:
        """Say that there is no other execution."""
        return None

    def choose(
        self, enabled: Sequence[SchedulingPoint], current: str | None
    ) -> Decision | None:
        """Repeat what was decided, then ask."""
        if self._chosen == len(self._decisions):
            return self._scheduler.choose(enabled, current)
        decision = self._decisions[self._chosen]
        if decision is not None and all(
            point.actor != decision.actor for point in enabled
        ):
            names = ", ".join(point.actor for point in enabled)
            raise ReplayDivergedError(
                self._chosen, f"{decision.actor} to go on", f"only {names} enabled"
            )
        self._chosen += 1
        return decision

    def record(self, step: Step) -> None:
        """Tell of what is new."""
        self._recorded += 1
        if self._recorded >= len(self._decisions):
            self._scheduler.record(step)

    def finish_execution(self, steps: Sequence[Step]) -> None:
        """Tell what came of it."""
        self._scheduler.finish_execution(steps)
