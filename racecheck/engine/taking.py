"""Taking one step: what was decided is done, and what came of it becomes a `Step`.

A step is a call that a task stands at, or one that is none: the return of an operation,
the end of a process that is used again, a task's birth, the end of a wait, a fault.
"""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING, Final

from racecheck.engine.looking import Look, footprint_of_end
from racecheck.engine.perform import Performer
from racecheck.engine.waits import LockWait, StallWait
from racecheck.errors import EngineError
from racecheck.kernel import ptrace
from racecheck.model import (
    EMPTY,
    MUTATING,
    Fault,
    FaultKind,
    Footprint,
    Kind,
    Step,
    Value,
    legible,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from racecheck.engine.clock import Clock
    from racecheck.engine.control import Control
    from racecheck.engine.endings import Endings
    from racecheck.engine.locks import Locks
    from racecheck.engine.machine import Machine
    from racecheck.engine.notes import Notes
    from racecheck.engine.pending import Pending
    from racecheck.engine.task import Actor, Task
    from racecheck.footprint import Names, Walk

_LOCKS: Final = frozenset({Kind.FLOCK, Kind.LOCK})
_SECOND: Final = 1_000_000_000


class Taker:
    """Takes the steps of one execution.

    Attributes:
        touched: Names of the inodes that the last step may have changed.
        walks: How its paths were looked up before it was made, in order.
        pending: The call that the last step was, if it was one.
        stuck: Why the execution cannot go on, or empty.
    """

    def __init__(
        self,
        machine: Machine,
        names: Names,
        clock: Clock,
        *,
        control: Control,
        locks: Locks,
        endings: Endings,
        notes: Notes,
        places: dict[str, int],
        with_entries: bool,
    ) -> None:
        """Serve one execution.

        Args:
            machine: What executions share.
            names: Names of the inodes.
            clock: The virtual time.
            control: Lets the tasks run.
            locks: Who holds which file locks.
            endings: Told of actors that end without the end of a process.
            notes: Takes note of what was not controlled.
            places: Places of the actors' programs, by their names.
            with_entries: Whether footprints are to be shown to people: see `footprint`.
        """
        self.touched: Collection[str] = ()
        self.walks: Sequence[Walk] = ()
        self.pending: Pending | None = None
        self.stuck = ""
        self._machine = machine
        self._names = names
        self._clock = clock
        self._control = control
        self._locks = locks
        self._endings = endings
        self._notes = notes
        self._places = places
        self._with_entries = with_entries
        self._footprints = False
        self._performer = Performer(machine, names, clock, locks, control.wait)
        self._index = 0

    def take(
        self, task: Task, fault: Fault | None, index: int, *, footprint: bool
    ) -> Step:
        """Have a task take its next step.

        Args:
            task: The task; it can go on.
            fault: What it meets there.
            index: Index of the step.
            footprint: Whether it gets its footprint.
        """
        self._footprints = footprint
        self.touched = ()
        self.walks = ()
        self.pending = None
        self._index = index
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
        # First, since what ends those that are left may end this one before them.
        self._endings.ended(actor, 0)
        self._control.end_left(actor)
        task.ended = True
        index = self._places[actor.name]
        if not self._machine.idle.keep(index, actor, str(self._machine.sandbox.box)):
            task.idle = False
            actor.kill()
            self._control.wait_for_end(actor)
        return step

    def _crash(self, task: Task, fault: Fault) -> Step:
        operation = task.actor.operation
        end = "exit_group" if task.idle else "return"
        before = task.pending.call.row.name if task.pending else end
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
        changes = self._control.changes
        if pending.changes != changes.count and changes.concern(task, pending):
            # Others have moved since the task came here, and paths may lead elsewhere.
            pending = task.pending = self._control.resolve(task, pending.call)
        self.pending = pending
        row = pending.call.row
        self.walks = self._walks(task, pending)
        if row.kind in MUTATING:
            self.touched = pending.touched()
            self._notes.watch_mappings(task, pending)
        if row.kind in (Kind.OPEN, Kind.EXEC):
            self._notes.watch_programs(task.actor, pending)
            self._notes.watch_pipes(task.actor, pending)
        operation = task.actor.operation
        result: int = 0
        outputs: dict[str, Value] = {}
        look = None
        if self._footprints:
            look = Look(
                task,
                pending,
                self._names,
                self._performer.times,
                with_entries=self._with_entries,
            )
        if pending.escape:
            result = self._control.refuse(task, pending)
        elif row.kind is Kind.EXIT:
            ptrace.resume(task.tid)
            self._control.wait_for_process(task)
        else:
            done = self._performer.perform(task, pending, fault)
            result, outputs = done.result, done.outputs
            if task.ended:
                self._notes.add(f"{task.lane} died inside {row.name}")
                if task.actor.killed:
                    self._control.wait_for_end(task.actor)
            elif done.blocked:
                result = self._lost_lock(task, pending, result)
            elif row.kind in _LOCKS and not fault and result >= 0:
                self._locks.took(task, pending, self._index)
            elif done.asleep:
                # Somebody else may have to do something first, which nobody can know.
                self.stuck = f"{task.lane} waits in {row.name}"
                self._notes.add(self.stuck, refused=True)
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

    def _walks(self, task: Task, pending: Pending) -> Sequence[Walk]:
        """Return how the paths of a call were looked up; of a listing, its folder."""
        if pending.call.row.kind is not Kind.LISTING:
            return pending.walks
        folder = f"/proc/{task.process.proc}/fd/{pending.call.number('fd')}"
        return (self._machine.resolver.object_at(self._names, folder),)

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
            index=self._index,
            actor=task.actor.name,
            task=task.index,
            operation=task.actor.operation if operation is None else operation,
            call=call,
            kind=kind,
            args=_legible(args) if args else args,
            result=result,
            outputs=_legible(outputs) if outputs else {},
            fault=fault,
            footprint=footprint,
        )


def _legible(values: dict[str, Value]) -> dict[str, Value]:
    for value in values.values():
        if isinstance(value, str) and not value.isascii():
            return {
                name: legible(value) if isinstance(value, str) else value
                for name, value in values.items()
            }
    return values
