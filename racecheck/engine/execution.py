"""One execution: real processes, one step at a time.

`Execution.run` is the only entry point. It forks the actors, brings each to its first
scheduling point, and then lets the scheduler choose until nobody is left. At any moment
at most one task runs; all others stand at the entry of a call.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import msgspec

from racecheck.engine.allowed import AllowedFaults
from racecheck.engine.clock import Clock
from racecheck.engine.control import Control
from racecheck.engine.enabled import Enabled
from racecheck.engine.endings import Endings
from racecheck.engine.holding import Holding
from racecheck.engine.locks import Locks
from racecheck.engine.notes import Notes
from racecheck.engine.recorder import Recorder
from racecheck.engine.repeated import Following
from racecheck.engine.taking import Taker
from racecheck.engine.task import Actor, Process
from racecheck.engine.waits import LockWait
from racecheck.errors import EngineError, WorkerEndError
from racecheck.footprint import Names, merge
from racecheck.model import EMPTY, Kind

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from racecheck.engine.machine import Machine
    from racecheck.engine.observer import Observer
    from racecheck.engine.repeated import Repeated
    from racecheck.engine.task import Task
    from racecheck.engine.view import BoxView
    from racecheck.model import (
        ActorEnd,
        Decision,
        Detail,
        FaultBound,
        Footprint,
        Operation,
        Program,
        Scheduler,
        Step,
        View,
    )

_RELEASES: Final = frozenset(
    {Kind.CLOSE, Kind.FLOCK, Kind.LOCK, Kind.DUP, Kind.EXEC, Kind.EXIT, Kind.CRASH}
)
_BEGINNINGS: Final = frozenset({Kind.START, Kind.WAKE})
_SECOND: Final = 1_000_000_000
_SLEEPS_PER_STEP: Final = 10


class Execution:
    """One execution of a scenario's programs; used once.

    It is the `History` that invariants are given.

    Attributes:
        steps: The steps so far.
        decisions: The decisions so far; one a step.
        notes: What was not controlled, or not ordered.
        stuck: Why the execution was broken off, or empty.
        given_up: Whether the scheduler gave it up.
    """

    def __init__(
        self,
        machine: Machine,
        programs: Sequence[Program],
        *,
        seed: int,
        max_steps: int,
        footprints: bool = False,
        record: bool = False,
        reuse: bool = False,
        fault_bounds: Sequence[FaultBound] = (),
        repeated: Repeated | None = None,
        compare: bool = False,
    ) -> None:
        """Prepare; nothing is started yet.

        Args:
            machine: What executions share: filter, registers, sandbox.
            programs: The actors.
            seed: Seed of their random bytes.
            max_steps: Steps of one execution at which it is broken off.
            footprints: Whether steps get their footprints.
            record: Whether to record what a report shows beside the steps.
            reuse: Whether actors may run in processes that were used before.
            fault_bounds: Faults that the scheduler may choose, and how often.
            repeated: What executions before this one were like; needs footprints.
            compare: Whether to find out anew what is known of them, and compare.
        """
        self.steps: list[Step] = []
        self.decisions: list[Decision] = []
        self.notes = Notes()
        self.stuck = ""
        self.given_up = False
        self._machine = machine
        self._programs = tuple(programs)
        self._seed = seed
        self._max_steps = max_steps
        self._footprints = footprints
        self._reuse = reuse
        self._following = Following(repeated, compare=compare)
        self._actors: list[Actor] = []
        self._names = Names()
        self._clock = Clock()
        self._endings = Endings(self)
        self._locks = Locks(self._actors)
        self._holding = Holding(
            self._actors, self._clock, self._locks, max_steps=max_steps
        )
        self._bound = max_steps
        self._recorder = Recorder(machine, self._names) if record else None
        self._control = Control(
            machine,
            self._names,
            self._clock,
            self._actors,
            note=self.notes.add,
            ended=self._endings.ended,
        )
        self._taker = Taker(
            machine,
            self._names,
            self._clock,
            control=self._control,
            locks=self._locks,
            endings=self._endings,
            notes=self.notes,
            places={program.name: place for place, program in enumerate(programs)},
            with_entries=record,
        )
        self._unstarted = list(self._programs)
        self._enabled = Enabled(
            machine,
            self._actors,
            control=self._control,
            locks=self._locks,
            allowed=AllowedFaults(fault_bounds) if fault_bounds else None,
        )
        self._touched: set[str] = set()
        self._told = 0

    @property
    def uncontrolled(self) -> Collection[str]:
        """What was not controlled or not decoded, each once."""
        return self.notes.uncontrolled

    @property
    def programs(self) -> Sequence[Program]:
        """The actors, in the order of their declaration."""
        return self._programs

    @property
    def operations(self) -> Sequence[Operation]:
        """The operations that have ended so far."""
        return self._endings.operations

    @property
    def ends(self) -> Sequence[ActorEnd]:
        """The actors that have ended so far."""
        return self._endings.ends

    @property
    def names(self) -> Names:
        """The names of the inodes of this execution."""
        return self._names

    @property
    def waiting(self) -> tuple[str, ...]:
        """Who was left waiting, and for what, when nobody could go on."""
        return self._enabled.waiting

    @property
    def spun(self) -> bool:
        """Whether an actor was held up because it looked in vain, again and again."""
        return self._holding.happened

    @property
    def broken_off(self) -> str:
        """Why the execution is being broken off, or empty."""
        return (
            self.stuck
            or self._enabled.stuck
            or self._taker.stuck
            or self._holding.stuck
            or self._machine.watchdog.reason
        )

    def open_files(self, actor: str) -> Sequence[str]:
        """Return which files an actor has open, for each of its descriptors."""
        processes = {
            task.process
            for each in self._actors
            if each.name == actor
            for task in each.tasks
            if not task.ended
        }
        tables = [process.descriptors.table() for process in processes]
        return sorted(file.target for table in tables for file in table.values())

    @property
    def detail(self) -> Detail | None:
        """What was recorded beside the steps, if that was asked for."""
        return None if self._recorder is None else self._recorder.detail()

    def live(self, role: str) -> int:
        """Count the actors of a role that have started and not ended."""
        return sum(
            actor.end is None and actor.program.role == role for actor in self._actors
        )

    def run(self, scheduler: Scheduler, observer: Observer) -> None:
        """Run all actors to their ends.

        Raises:
            OSError: The kernel refuses to fork, or to trace.
            WorkerEndError: The process was asked to end meanwhile.
        """
        sandbox = self._machine.sandbox
        sandbox.restore()
        self._machine.watchdog.reason = ""
        self._names.load(sandbox.inodes())
        view = self._machine.view(self._names)
        self._machine.busy = True
        try:
            self._end_if_asked()
            observer.start(view, self if self._footprints else None)
            self._following.begin(self._seed, observer)
            if self._recorder is not None:
                self._recorder.start()
            self._start_ready()
            if self._recorder is not None:
                self._recorder.begin()
            current: str | None = None
            while points := self._enabled.points():
                if len(self.steps) >= self._bound:
                    self.stuck = f"{current} went on after {self._max_steps} steps"
                    break
                decision = scheduler.choose(points, current)
                if decision is None:
                    self.given_up = True
                    break
                task = self._enabled.task(decision.actor)
                if task is None:
                    raise EngineError(
                        f"the scheduler chose {decision.actor!r}, which is not enabled"
                    )
                current = task.lane
                if self._recorder is not None:
                    self._recorder.before(task)
                self._step(task, decision, view, observer)
                if self._recorder is not None:
                    self._recorder.after(
                        self.steps[-1], self._locks.held(), self._enabled.waits()
                    )
                scheduler.record(self.steps[-1])
                self.stuck = self.broken_off
                if self.stuck:
                    break
        finally:
            self._finish()
            self._machine.busy = False
        self._end_if_asked()
        if not self.given_up:
            self._look_for_strangers()
            self._following.resume(observer)
            self._tell(view, observer)
            observer.on_end(view, self)
        scheduler.finish_execution(self.steps)
        self._part()

    def _look_for_strangers(self) -> None:
        """Take note of what is in the sandbox though no step has made it.

        Somebody is at work there whom nobody controls.
        """
        if self.stuck or self.notes.uncontrolled or not self._machine.looks_closely():
            # The last step may not have come to its end, or there were other ways.
            return
        sandbox = self._machine.sandbox
        for path in self._names.strangers(str(sandbox.root)):
            self.notes.add(f"{sandbox.display(path)} was made by no step of an actor")

    def _end_if_asked(self) -> None:
        """End the process if it was asked to, whatever became of the request since.

        Out of `__del__` or of the callback of a weak reference comes no exception.
        """
        if self._machine.ending:
            raise WorkerEndError(1)

    def _part(self) -> None:
        """Undo the circles in which what has served the execution refers to itself.

        Else it would stay in memory until it is looked for, which takes longer.
        """
        self._control.part()
        self._endings.part()
        for actor in self._actors:
            actor.tasks.clear()

    # --- steps ------------------------------------------------------------------------

    def _start_ready(self) -> None:
        for program in list(self._unstarted):
            if program.after is not None and not self._has_returned(program.after):
                continue
            self._unstarted.remove(program)
            index = self._programs.index(program)
            process = self._machine.idle.take(index) if self._reuse else None
            used = process is not None
            self._machine.streams[index].renew()
            if process is None:
                process = Process(self._machine.template(index).fork())
            clock = self._clock.on_host(program.clock_offset_s * _SECOND)
            reused = self._reuse and not program.argv
            actor = Actor(program, process, self._seed, clock, reused=reused)
            self._actors.append(actor)
            self._actors.sort(key=lambda other: self._programs.index(other.program))
            self._control.start(actor, self._seed, used=used)

    def _has_returned(self, name: str) -> bool:
        return any(
            operation.succeeded
            and name in (operation.actor, re.sub(r"-\d+$", "", operation.actor))
            for operation in self.operations
        )

    def _step(
        self, task: Task, decision: Decision, view: BoxView, observer: Observer
    ) -> None:
        """Take the step that was decided, and let everybody know."""
        self.decisions.append(decision)
        actor, report = task.actor, task.report
        self._endings.step_begins(actor, decision.fault)
        known = self._following.known(decision, observer)
        step = self._take(task, decision, view, known=known is not None)
        kind = step.kind
        if known is None:
            self.steps.append(step)
            self._add(observer.on_step(view, self, step))
        else:
            self._following.check(step)
            self.steps.append(known)
        if kind is Kind.RETURN and report is not None:
            self._endings.returned(actor, report)
        self._tell(view, observer, known=known is not None)
        in_vain = self._holding.is_in_vain(task, step)
        died = self._control.died
        if (kind in _RELEASES and not (step.failed and not step.fault)) or task.ended:
            self._release_locks()
        if kind in _BEGINNINGS:
            self._control.end_wait(task) if task.wait else self._control.run(task)
        elif not task.ended and task.wait is None:
            self._control.run(task)
        if in_vain:
            self._holding.hold_up(task, step)
        elif task.wait is not None and task.wait.looks:
            self._holding.limit(task, task.looks, step)
        self._control.settle()
        if self._control.died != died:
            self._release_locks()
        self._tell(view, observer, known=known is not None)
        if self._unstarted:
            self._start_ready()
        if known is None:
            self._following.remember(decision, self.steps[-1], observer)

    def _take(
        self, task: Task, decision: Decision, view: BoxView, *, known: bool
    ) -> Step:
        """Take the step that was decided, and take note of what it may have changed."""
        step = self._taker.take(
            task,
            decision.fault,
            len(self.steps),
            footprint=self._footprints and not known,
        )
        touched = self._taker.touched
        if touched:
            view.changed(touched)
            self._touched.update(touched)
        view.walks = self._taker.walks
        kind, changes = step.kind, step.may_change
        actor = task.actor
        actor.steps += 1
        actor.has_written = changes
        if decision.fault is not None:
            self._enabled.use(decision.fault, decision.actor)
        if changes:
            # For a crash there is none, and nobody can tell what it has let go.
            self._control.changes.add(self._taker.pending)
        if kind is Kind.WAKE and step.args["timed out"]:
            # Programs that poll and sleep in between take a step for each sleep; to
            # wait for an hour like that is no sign that they hang.
            most = _SLEEPS_PER_STEP * self._max_steps
            self._bound += self._bound < most
        return step

    def _tell(self, view: View, observer: Observer, *, known: bool = False) -> None:
        """Tell the observer of the operations that have ended since last told.

        Where it is known what it makes of them, it need not be told.
        """
        operations = self._endings.operations
        while self._told < len(operations):
            operation = operations[self._told]
            self._told += 1
            if not known:
                self._add(observer.on_return(view, self, operation))

    def _add(self, seen: Footprint) -> None:
        """Add to the last step what those who looked on at it depended on."""
        if self._footprints and seen != EMPTY and self.steps:
            step = self.steps[-1]
            footprint = merge(step.footprint, seen)
            self.steps[-1] = msgspec.structs.replace(step, footprint=footprint)

    def _release_locks(self) -> None:
        """Let those try again who wait for a lock that can be had."""
        for task in self._enabled.left():
            wait = task.wait
            if not isinstance(wait, LockWait):
                continue
            if not (wait.known and self._locks.holders(task)):
                task.point, task.wait = wait.point, None

    def _finish(self) -> None:
        """End every actor that is left, whatever state it is in."""
        left = [actor for actor in self._actors if actor.end is None]
        # It need not have come to a step.
        self.stuck = self.broken_off
        if left and not self.stuck:
            self.stuck = "nobody can go on" if self.waiting else "broken off"
        for actor in self._actors:
            if not actor.tasks[0].idle or actor.end is None:
                actor.kill()
                self._control.wait_for_end(actor)
            actor.release()
        self._control.births.end_unborn()
        self._machine.semaphores.remove()
        sandbox = self._machine.sandbox
        if self.notes.uncontrolled or any(
            step.kind is Kind.SETXATTR for step in self.steps
        ):
            sandbox.marked = True
        else:
            # The last step may not have been taken to its end.
            sandbox.touched = self._touched | set(self._taker.touched)
