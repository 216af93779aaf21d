"""One execution: real processes, one step at a time.

`Execution.run` is the only entry point. It forks the actors, brings each to its first
scheduling point, and then lets the scheduler choose until nobody is left. At any moment
at most one task runs; all others stand at the entry of a call.
"""

from __future__ import annotations

import errno
import re
import time
from typing import TYPE_CHECKING, Final

import msgspec

from racecheck.engine.allowed import AllowedFaults
from racecheck.engine.clock import Clock
from racecheck.engine.control import Control
from racecheck.engine.endings import Endings
from racecheck.engine.locks import Locks
from racecheck.engine.looking import Look, footprint_of_end
from racecheck.engine.notes import Notes
from racecheck.engine.perform import Performer
from racecheck.engine.spinning import IN_VAIN, Spinning
from racecheck.engine.task import Actor, Process
from racecheck.engine.waits import LockWait, SpinWait, StallWait, Yield
from racecheck.errors import EngineError
from racecheck.footprint import Names, merge
from racecheck.kernel import ptrace
from racecheck.model import (
    EMPTY,
    MUTATING,
    ActorEnd,
    Decision,
    Fault,
    FaultKind,
    Footprint,
    Kind,
    Operation,
    Step,
    Value,
    legible,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from racecheck.engine.machine import Machine
    from racecheck.engine.observer import Observer
    from racecheck.engine.pending import Pending
    from racecheck.engine.spinning import Patience
    from racecheck.engine.task import Task
    from racecheck.engine.view import BoxView
    from racecheck.engine.waits import Wait
    from racecheck.model import (
        FaultBound,
        Program,
        Scheduler,
        SchedulingPoint,
        View,
    )

_RELEASES: Final = frozenset(
    {Kind.CLOSE, Kind.FLOCK, Kind.LOCK, Kind.DUP, Kind.EXEC, Kind.EXIT, Kind.CRASH}
)
_LOCKS: Final = frozenset({Kind.FLOCK, Kind.LOCK})
_SECOND: Final = 1_000_000_000
_SLEEPS_PER_STEP: Final = 10
_LEAST_PAUSES: Final = 40  # half a day, which is more than most are patient


class Execution:
    """One execution of a scenario's programs; used once.

    It is the `History` that invariants are given.

    Attributes:
        steps: The steps so far.
        decisions: The decisions so far; one a step.
        notes: What was not controlled, or not ordered.
        stuck: Why the execution was broken off, or empty.
        given_up: Whether the scheduler gave it up.
        waiting: Who was left waiting, and for what, when nobody could go on.
    """

    def __init__(
        self,
        machine: Machine,
        programs: Sequence[Program],
        *,
        seed: int,
        max_steps: int,
        footprints: bool = False,
        reuse: bool = False,
        fault_bounds: Sequence[FaultBound] = (),
    ) -> None:
        """Prepare; nothing is started yet.

        Args:
            machine: What executions share: filter, registers, sandbox.
            programs: The actors.
            seed: Seed of their random bytes.
            max_steps: Steps of one execution at which it is broken off.
            footprints: Whether steps get their footprints.
            reuse: Whether actors may run in processes that were used before.
            fault_bounds: Faults that the scheduler may choose, and how often.
        """
        self.steps: list[Step] = []
        self.decisions: list[Decision] = []
        self.notes = Notes()
        self.stuck = ""
        self.given_up = False
        self.waiting: tuple[str, ...] = ()
        self._machine = machine
        self._programs = tuple(programs)
        self._seed = seed
        self._max_steps = max_steps
        self._footprints = footprints
        self._reuse = reuse
        self._bounds = tuple(fault_bounds)
        self._allowed = AllowedFaults(self._bounds)
        self._actors: list[Actor] = []
        self._names = Names()
        self._clock = Clock()
        self._endings = Endings(self)
        self._locks = Locks(self._actors)
        self._spinning = Spinning()
        self._held_up = False
        self._bound = max_steps
        self._control = Control(
            machine,
            self._names,
            self._clock,
            self._actors,
            note=self.notes.add,
            ended=self._endings.ended,
        )
        self._performer = Performer(
            machine, self._names, self._clock, self._locks, self._control.wait
        )
        self._unstarted = list(self._programs)
        self._told = 0
        self._touched: set[str] = set()

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
    def spun(self) -> bool:
        """Whether an actor was held up because it looked in vain, again and again."""
        return self._spinning.happened

    @property
    def broken_off(self) -> str:
        """Why the execution is being broken off, or empty."""
        return self.stuck or self._machine.watchdog.reason

    def live(self, role: str) -> int:
        """Count the actors of a role that have started and not ended."""
        return sum(
            actor.end is None and actor.program.role == role for actor in self._actors
        )

    def run(self, scheduler: Scheduler, observer: Observer) -> None:
        """Run all actors to their ends.

        Raises:
            OSError: The kernel refuses to fork, or to trace.
            SystemExit: The process was asked to end meanwhile.
        """
        sandbox = self._machine.sandbox
        sandbox.restore()
        self._machine.watchdog.reason = ""
        self._names.scan(str(sandbox.root), sandbox.display)
        view = self._machine.view(self._names)
        self._machine.busy = True
        try:
            observer.start(view, self if self._footprints else None)
            self._start_ready()
            current: str | None = None
            while points := self._points():
                if len(self.steps) >= self._bound:
                    self.stuck = f"{current} went on after {self._max_steps} steps"
                    break
                decision = scheduler.choose(points, current)
                if decision is None:
                    self.given_up = True
                    break
                task = self._find(decision.actor)
                current = task.lane
                self._step(task, decision, view, observer)
                scheduler.record(self.steps[-1])
                self.stuck = self.broken_off
                if self.stuck:
                    break
        finally:
            self._finish()
            self._machine.busy = False
        if self._machine.ending:
            raise SystemExit(1)
        if not self.given_up:
            self._tell(view, observer)
            observer.on_end(view, self)
        scheduler.finish_execution(self.steps)

    # --- who can go on ----------------------------------------------------------------

    def _points(self) -> list[SchedulingPoint]:
        """Return who can go on; time passes if that needs time."""
        points = self._choices()
        if points or not self._left():
            return points
        self._control.look_harder()
        points = self._choices()
        until = time.monotonic() + self._machine.max_sleep_s
        while not points:
            moment = self._control.signals.next_deadline()
            if moment is not None:
                self._control.signals.move_clock(moment)
            elif (
                self._control.sleepers()
                and time.monotonic() < until
                and not self._machine.ending
            ):
                # Something outside may wake them, such as a timer of the kernel's own.
                self._control.settle()
            else:
                self._give_up()
                return []
            points = self._choices()
        return points

    def _choices(self) -> list[SchedulingPoint]:
        found = [
            (task, point)
            for actor in self._actors
            for task in actor.tasks
            if (point := task.choice()) is not None
        ]
        if not self._bounds:
            return [point for _, point in found]
        return [
            msgspec.structs.replace(point, faults=self._allowed.at(task, point))
            for task, point in found
        ]

    def _left(self) -> list[Task]:
        return [
            task for actor in self._actors for task in actor.tasks if not task.ended
        ]

    def _give_up(self) -> None:
        waits = [
            (task.lane, self._describe(task, task.wait))
            for task in self._left()
            if task.wait is not None
        ]
        if self._control.sleepers():
            self.stuck = ", ".join(f"{lane} sleeps in the kernel" for lane, _ in waits)
        else:
            self.waiting = tuple(f"{lane} in {call}" for lane, call in waits)

    def _describe(self, task: Task, wait: Wait) -> str:
        return self._locks.describe(task) if isinstance(wait, LockWait) else wait.call

    def _find(self, lane: str) -> Task:
        for task in self._left():
            if task.lane == lane and task.choice() is not None:
                return task
        raise EngineError(f"the scheduler chose {lane!r}, which is not enabled")

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

    # --- steps ------------------------------------------------------------------------

    def _step(
        self, task: Task, decision: Decision, view: BoxView, observer: Observer
    ) -> None:
        """Take the step that was decided, and let everybody know."""
        self.decisions.append(decision)
        actor = task.actor
        self._endings.step_begins(actor, decision.fault)
        report = task.report
        self._touched.clear()
        step = self._take(task, decision.fault)
        view.changed(self._touched)
        actor.steps += 1
        actor.has_written = step.may_change
        if decision.fault is not None:
            self._allowed.use(decision.fault, actor.name)
        self._control.changes += step.may_change
        self.steps.append(step)
        self._add(observer.on_step(view, self, step))
        if step.kind is Kind.RETURN and report is not None:
            self._endings.returned(actor, report)
        if self._told < len(self._endings.operations):
            self._tell(view, observer)
        in_vain = self._is_in_vain(task, step)
        died = self._control.died
        if (step.kind in _RELEASES and not step.failed) or task.ended:
            self._release_locks()
        if step.kind in (Kind.START, Kind.WAKE):
            self._control.end_wait(task) if task.wait else self._control.run(task)
        elif not task.ended and task.wait is None:
            self._control.run(task)
        if in_vain:
            self._hold_up(task, step)
        elif task.wait is not None and task.wait.looks:
            self._limit(task, task.looks, step)
        self._control.settle()
        if self._control.died != died:
            self._release_locks()
        if self._told < len(self._endings.operations):
            self._tell(view, observer)
        if self._unstarted:
            self._start_ready()

    def _take(self, task: Task, fault: Fault | None) -> Step:
        if fault is not None and fault.kind is FaultKind.CRASH:
            return self._crash(task, fault)
        if fault is not None and fault.kind is FaultKind.STALL:
            return self._stall(task, fault)
        if task.idle:
            return self._retire(task)
        if task.report is not None:
            return self._record(task, "return", Kind.RETURN, {})
        if task.born:
            return self._record(task, "start", Kind.START, {})
        if task.wait is not None:
            if task.wait.expired and self._bound < _SLEEPS_PER_STEP * self._max_steps:
                # Programs that poll and sleep in between take a step for each sleep; to
                # wait for an hour like that is no sign that they hang.
                self._bound += 1
            args: dict[str, Value] = {
                "of": task.wait.call,
                "timed out": int(task.wait.expired),
            }
            return self._record(task, "wake", Kind.WAKE, args)
        return self._call(task, fault)

    def _retire(self, task: Task) -> Step:
        """End an actor whose process is to be used again, as if the process ended."""
        actor = task.actor
        footprint = footprint_of_end(actor) if self._footprints else EMPTY
        step = self._record(
            task, "exit_group", Kind.EXIT, {"status": 0}, footprint=footprint
        )
        self._control.end_left(actor)
        self._endings.ended(actor, 0)
        task.ended = True
        index = self._programs.index(actor.program)
        if not self._machine.idle.keep(index, actor, str(self._machine.sandbox.box)):
            task.idle = False
            actor.kill()
            self._control.wait_for_end(actor)
        return step

    def _tell(self, view: View, observer: Observer) -> None:
        """Tell the observer of the operations that have ended since last told."""
        while self._told < len(self.operations):
            operation = self.operations[self._told]
            self._told += 1
            self._add(observer.on_return(view, self, operation))

    def _add(self, seen: Footprint) -> None:
        """Add to the last step what those who looked on at it depended on."""
        if self._footprints and seen != EMPTY and self.steps:
            step = self.steps[-1]
            footprint = merge(step.footprint, seen)
            self.steps[-1] = msgspec.structs.replace(step, footprint=footprint)

    def _crash(self, task: Task, fault: Fault) -> Step:
        operation = task.actor.operation
        before = task.pending.call.row.name if task.pending else "return"
        footprint = footprint_of_end(task.actor) if self._footprints else EMPTY
        self._kill(task.actor)
        return self._record(
            task,
            "crash",
            Kind.CRASH,
            {"before": before},
            fault=fault,
            operation=operation,
            footprint=footprint,
        )

    def _kill(self, actor: Actor) -> None:
        actor.crashed = True
        actor.kill()
        self._control.wait_for_end(actor)

    def _stall(self, task: Task, fault: Fault) -> Step:
        point = task.choice()
        assert point is not None  # noqa: S101  it was chosen because it has one
        before = point.call
        if task.point is not None:
            task.wait = StallWait(
                point, self._clock.monotonic_ns + fault.length * _SECOND
            )
            task.point = None
        args: dict[str, Value] = {"before": before, "seconds": fault.length}
        return self._record(task, "stall", Kind.STALL, args, fault=fault)

    def _call(self, task: Task, fault: Fault | None) -> Step:
        pending = task.pending
        if pending is None:
            raise EngineError(f"{task.lane} has nothing to do")
        if pending.changes != self._control.changes:
            # Others have moved since the task came here, and paths may lead elsewhere.
            pending = task.pending = self._control.resolve(task, pending.call)
        row = pending.call.row
        if row.kind in MUTATING:
            self._touched = pending.touched()
            self.notes.watch_mappings(task.actor, pending)
        operation = task.actor.operation
        result: int = 0
        outputs: dict[str, Value] = {}
        look = None
        if self._footprints:
            look = Look(task, pending, self._names, self._performer.times)
        if pending.escape:
            result = self._control.refuse(task, pending)
        elif row.kind is Kind.EXIT:
            ptrace.resume(task.tid)
            self._control.wait_for_process(task)
        else:
            done = self._performer.perform(task, pending, fault)
            result, outputs = done.result, done.outputs
            if task.ended:
                self.notes.add(f"{task.lane} died inside {row.name}")
            elif done.blocked:
                result = self._lost_lock(task, pending, result)
            elif row.kind in _LOCKS and not fault and result >= 0:
                self._locks.took(task, pending, len(self.steps))
            elif done.asleep:
                # Somebody else may have to do something first, which nobody can know.
                self.stuck = f"{task.lane} waits in {row.name}"
                self.notes.add(self.stuck, refused=True)
                task.actor.kill()
                self._control.wait_for_end(task.actor)
            elif fault is not None and fault.kind is FaultKind.TEAR:
                self._kill(task.actor)
        return self._record(
            task,
            row.name,
            row.kind,
            pending.args,
            result=result,
            outputs=outputs,
            fault=fault,
            operation=operation,
            footprint=look.footprint(result, fault) if look else EMPTY,
        )

    def _lost_lock(self, task: Task, pending: Pending, result: int) -> int:
        """Have a task whose try at a lock failed wait, or tell it that it must not."""
        if self._locks.lost(task, pending):
            self._control.answer(task, pending.call.raw, -errno.EDEADLK)
            return -errno.EDEADLK
        assert task.point is not None  # noqa: S101  it stands at the call
        wait = LockWait(pending.call.row.name, task.point)
        # Whoever cannot be found cannot be seen to let go either.
        wait.known = bool(self._locks.holders(task))
        if self._control.enter_again(task, pending.call.raw):
            task.wait, task.point = wait, None
        return result

    def _release_locks(self) -> None:
        """Let those try again who wait for a lock that can be had."""
        for task in self._left():
            wait = task.wait
            if not isinstance(wait, LockWait):
                continue
            if not (wait.known and self._locks.holders(task)):
                task.point, task.wait = wait.point, None

    def _is_in_vain(self, task: Task, step: Step) -> bool:
        """Say whether a step is one look too many; wake others if it was none."""
        spinning = self._spinning
        in_vain = False
        if step.may_change and step.kind is not Kind.OPEN:
            if spinning.quiet:
                spinning.change()
        else:
            spinning.quiet += 1
            # Most executions never get here, and need not pay for it.
            if spinning.quiet >= IN_VAIN:
                in_vain = spinning.took(task.lane, step, task.pending)
        if self._held_up and not spinning.quiet:
            self._wake_spinning()
        return in_vain

    def _hold_up(self, task: Task, step: Step) -> None:
        """Hold up a task that looks in vain, unless it has come to something else."""
        point, wait = task.point, task.wait
        now = self._clock.monotonic_ns
        if self._locks.holds_any(task.process):
            # Others may wait for that.
            return
        if point is not None and task.pending is not None:
            patience = self._spinning.patience(task.lane)
            task.wait, task.point = SpinWait(point, now + patience.pause()), None
            self._held_up = True
        elif isinstance(wait, Yield):
            patience = self._spinning.patience(task.lane)
            wait.deadline_ns = now + patience.pause()
            wait.expired = False
            self._held_up = True
        else:
            return
        self._limit(task, patience, step)

    def _limit(self, task: Task, patience: Patience, step: Step) -> None:
        self._spinning.happened |= patience.pauses > 0
        if patience.pauses > max(self._max_steps // 10, _LEAST_PAUSES):
            self.stuck = f"{task.lane} spins: {step}, over and over"

    def _wake_spinning(self) -> None:
        self._held_up = False
        for task in self._left():
            wait = task.wait
            if isinstance(wait, SpinWait):
                task.point, task.wait = wait.point, None
            elif isinstance(wait, Yield):
                wait.expired = True

    def _record(
        self,
        task: Task,
        call: str,
        kind: Kind,
        args: dict[str, Value],
        *,
        result: int = 0,
        outputs: dict[str, Value] | None = None,
        fault: Fault | None = None,
        operation: int | None = None,
        footprint: Footprint = EMPTY,
    ) -> Step:
        return Step(
            index=len(self.steps),
            actor=task.actor.name,
            task=task.index,
            operation=task.actor.operation if operation is None else operation,
            call=call,
            kind=kind,
            args=_legible(args),
            result=result,
            outputs=_legible(outputs or {}),
            fault=fault,
            footprint=footprint,
        )

    def _finish(self) -> None:
        """End every actor that is left, whatever state it is in."""
        left = [actor for actor in self._actors if actor.end is None]
        if left and not self.stuck:
            self.stuck = "nobody can go on" if self.waiting else "broken off"
        for actor in self._actors:
            if not actor.tasks[0].idle or actor.end is None:
                actor.kill()
                self._control.wait_for_end(actor)
            actor.release()


def _legible(values: dict[str, Value]) -> dict[str, Value]:
    for name, value in values.items():
        if isinstance(value, str) and not value.isascii():
            values = values | {name: legible(value)}
    return values
