"""One execution: real processes, one step at a time.

`Execution.run` is the only entry point. It forks the actors, brings each to its first
scheduling point, and then lets the scheduler choose until nobody is left. At any moment
at most one actor runs; all others stand at the entry of a call.
"""

from __future__ import annotations

import errno
import os
import re
from typing import TYPE_CHECKING, Final, Protocol

import msgspec

from racecheck.engine import actor as inside
from racecheck.engine.looking import Look
from racecheck.engine.pending import resolve
from racecheck.engine.perform import Performer
from racecheck.engine.services import Services
from racecheck.engine.tracee import Tracee, spawn
from racecheck.errors import EngineError
from racecheck.footprint import Names, Resolver, ending
from racecheck.kernel import ptrace
from racecheck.kernel.decode import decode, transfer
from racecheck.model import (
    EMPTY,
    ActorEnd,
    Decision,
    Ending,
    Fault,
    FaultKind,
    Footprint,
    Kind,
    Operation,
    SchedulingPoint,
    Step,
    Value,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from racecheck.engine.machine import Machine
    from racecheck.engine.pending import Pending
    from racecheck.kernel.decode import Call
    from racecheck.model import History, Program, Scheduler, View

_RELEASES: Final = frozenset(
    {Kind.CLOSE, Kind.FLOCK, Kind.LOCK, Kind.DUP, Kind.EXEC, Kind.EXIT, Kind.CRASH}
)
_SPAWNS: Final = (ptrace.EVENT_FORK, ptrace.EVENT_VFORK, ptrace.EVENT_CLONE)
_MAP_SHARED: Final = 1
_PROT_WRITE: Final = 2

_report = msgspec.msgpack.Decoder(inside.Report)


class Observer(Protocol):
    """Somebody who looks on: told of each step while every actor stands still."""

    def start(self, view: View) -> None:
        """Look at the box before the first step."""
        ...

    def on_step(self, view: View, history: History, step: Step) -> None:
        """Look at what a step has done."""
        ...

    def on_return(self, view: View, history: History, operation: Operation) -> None:
        """Look at an operation that has ended."""
        ...

    def on_end(self, view: View, history: History) -> None:
        """Look at what is left when every actor has ended."""
        ...


class Execution:
    """One execution of a scenario's programs; used once.

    It is the `History` that invariants are given.

    Attributes:
        steps: The steps so far.
        operations: The operations that have ended so far.
        ends: The actors that have ended so far.
        decisions: The decisions so far; one a step.
        uncontrolled: What was not controlled or not decoded, each once.
        stuck: Why the execution was broken off, or empty.
        waiting: Actors that were left waiting for a lock when nobody could go on.
    """

    def __init__(
        self,
        machine: Machine,
        programs: Sequence[Program],
        *,
        seed: int,
        max_steps: int,
        footprints: bool = False,
    ) -> None:
        """Prepare; nothing is started yet.

        Args:
            machine: What executions share: filter, registers, sandbox.
            programs: The actors.
            seed: Seed of their random bytes.
            max_steps: Steps of one execution at which it is broken off.
            footprints: Whether steps get their footprints.
        """
        self.steps: list[Step] = []
        self.operations: list[Operation] = []
        self.ends: list[ActorEnd] = []
        self.decisions: list[Decision] = []
        self.uncontrolled: dict[str, None] = {}
        self.stuck = ""
        self.waiting: tuple[str, ...] = ()
        self._machine = machine
        self._programs = tuple(programs)
        self._seed = seed
        self._max_steps = max_steps
        self._footprints = footprints
        self._tracees: list[Tracee] = []
        self._names = Names()
        self._resolver: Resolver = machine.resolver
        self._table = machine.table
        self._performer = Performer(machine.registers, self._names, self._wait)
        self._services = Services(machine.registers, self._tracees, self._note)
        self._unstarted = list(self._programs)
        self._now = 0
        self._told = 0
        # Steps so far after which a pending call can mean something else.
        self._changes = 0

    @property
    def programs(self) -> Sequence[Program]:
        """The actors, in the order of their declaration."""
        return self._programs

    @property
    def names(self) -> Names:
        """The names of the inodes of this execution."""
        return self._names

    def live(self, role: str) -> int:
        """Count the actors of a role that have started and not ended."""
        return sum(
            tracee.end is None and tracee.program.role == role
            for tracee in self._tracees
        )

    def run(self, scheduler: Scheduler, observer: Observer) -> None:
        """Run all actors to their ends.

        Raises:
            OSError: The kernel refuses to fork, or to trace.
        """
        sandbox = self._machine.sandbox
        sandbox.restore()
        self._machine.watchdog.reason = ""
        self._names.scan(str(sandbox.root), sandbox.display)
        view = self._machine.view(self._names)
        try:
            observer.start(view)
            self._start_ready()
            current: str | None = None
            while points := self._points():
                if len(self.steps) >= self._max_steps:
                    self.stuck = f"{current} went on after {self._max_steps} steps"
                    break
                decision = scheduler.choose(points, current)
                tracee = self._find(decision.actor)
                current = tracee.name
                self._step(tracee, decision, view, observer)
                if self._machine.watchdog.reason:
                    self.stuck = self._machine.watchdog.reason
                    break
        finally:
            self._finish()
        observer.on_end(view, self)
        scheduler.finish_execution(self.steps)

    # --- the actors -------------------------------------------------------------------

    def _points(self) -> list[SchedulingPoint]:
        points = [t.point for t in self._tracees if t.point is not None]
        if not points:
            self.waiting = tuple(t.name for t in self._tracees if t.parked is not None)
        return points

    def _find(self, name: str) -> Tracee:
        for tracee in self._tracees:
            if tracee.name == name and tracee.point is not None:
                return tracee
        raise EngineError(f"the scheduler chose {name!r}, which is not enabled")

    def _start_ready(self) -> None:
        for program in list(self._unstarted):
            if program.after is not None and not self._has_returned(program.after):
                continue
            self._unstarted.remove(program)
            tracee = spawn(
                program,
                index=self._programs.index(program) + 1,
                seed=self._seed,
                sandbox=self._machine.sandbox,
                filter_=self._machine.filter,
            )
            self._tracees.append(tracee)
            self._tracees.sort(key=lambda other: self._programs.index(other.program))
            self._run_on(tracee)

    def _has_returned(self, name: str) -> bool:
        return any(
            operation.succeeded
            and (
                operation.actor == name
                or re.sub(r"-\d+$", "", operation.actor) == name
            )
            for operation in self.operations
        )

    def _wait(self, tracee: Tracee) -> int:
        self._machine.watchdog.runs(tracee)
        _, status = os.waitpid(tracee.pid, ptrace.WALL)
        return status

    def _note(self, text: str) -> None:
        self.uncontrolled[text] = None

    def _resume(self, tracee: Tracee) -> None:
        """Let an actor run from an exit stop to its next scheduling point."""
        tracee.point = tracee.pending = tracee.report = None
        ptrace.resume(tracee.pid)
        self._run_on(tracee)

    def _run_on(self, tracee: Tracee) -> None:
        """Wait until a running actor is at a scheduling point or has ended."""
        while tracee.end is None:
            status = self._wait(tracee)
            if not os.WIFSTOPPED(status):
                self._ended(tracee, status)
                return
            event = status >> 16
            signal = os.WSTOPSIG(status)
            if event == ptrace.EVENT_SECCOMP:
                if self._arrive(tracee):
                    return
                signal = 0
            elif event == ptrace.EVENT_EXEC:
                tracee.executed()
                signal = 0
            elif event == ptrace.EVENT_STOP:
                self._note(f"{tracee.name} was stopped by signal {signal}")
                tracee.kill()
                continue
            elif event in _SPAWNS or signal == ptrace.SYSCALL_STOP:
                signal = 0
            ptrace.resume(tracee.pid, signal)

    def _arrive(self, tracee: Tracee) -> bool:
        """Look at a call being entered; say whether it is a scheduling point."""
        machine = self._machine
        arch, number, raw = ptrace.entry(tracee.pid)
        if arch != machine.registers.audit_arch or number >= machine.foreign_calls:
            self._note(f"call {number} of another architecture by {tracee.name}")
            machine.registers.skip(tracee.pid, -38)  # ENOSYS
            return False
        silent = self._table.services.get(number)
        if silent is not None:
            self._services.serve(tracee, silent, raw)
            return False
        row = self._table.find(number, raw)
        if row is None:
            return self._unlisted(tracee, number)
        if row.kind is Kind.WRITE and raw[0] & 0xFFFFFFFF == inside.MARKER:
            tracee.report = _report.decode(tracee.memory.read(raw[1], raw[2]))
            machine.registers.skip(tracee.pid, raw[2])
            tracee.point = SchedulingPoint(tracee.name, Kind.RETURN, "return")
            return True
        call = decode(row, raw, tracee.memory)
        pending = self._resolve(tracee, call)
        if pending.escape:
            self._refuse(tracee, pending)
            return False
        if not pending.inside:
            return False
        if row.kind is Kind.MAP and raw[3] & _MAP_SHARED and raw[2] & _PROT_WRITE:
            self._note(f"shared writable mapping by {tracee.name}")
        tracee.pending = pending
        tracee.number = number
        size = transfer(call)
        tracee.point = SchedulingPoint(tracee.name, row.kind, row.name, size)
        return True

    def _resolve(self, tracee: Tracee, call: Call) -> Pending:
        """Find out what a call would mean if it were made at once."""
        pending = resolve(
            call,
            tracee.pid,
            tracee.descriptors,
            self._names,
            self._resolver,
            self._machine.sandbox,
        )
        pending.changes = self._changes
        return pending

    def _refuse(self, tracee: Tracee, pending: Pending) -> int:
        """Have a call that would change something outside the sandbox fail."""
        name = pending.call.row.name
        self._note(f"{name} outside the sandbox by {tracee.name}: {pending.escape}")
        self._machine.registers.skip(tracee.pid, -errno.EACCES)
        return -errno.EACCES

    def _unlisted(self, tracee: Tracee, number: int) -> bool:
        """Deal with a call that is no step: refuse it or let it pass, and say so."""
        name = self._table.name(number)
        refusal = self._table.refused.get(number)
        self._note(f"{name} by {tracee.name}")
        if refusal is not None:
            self._machine.registers.skip(tracee.pid, -refusal)
        return False

    # --- steps ------------------------------------------------------------------------

    def _step(
        self, tracee: Tracee, decision: Decision, view: View, observer: Observer
    ) -> None:
        """Take the step that was decided, and let everybody know."""
        self.decisions.append(decision)
        self._now = len(self.steps)
        if tracee.first_step is None:
            tracee.first_step = self._now
        report = tracee.report
        fault = decision.fault
        if fault is not None:
            tracee.faults += 1
        if fault is not None and fault.kind is FaultKind.CRASH:
            step = self._crash(tracee, fault)
        elif report is not None:
            step = self._record(tracee, "return", Kind.RETURN, {})
        else:
            step = self._call(tracee, fault)
        tracee.steps += 1
        self._changes += step.may_change
        self.steps.append(step)
        observer.on_step(view, self, step)
        if step.kind is Kind.RETURN and report is not None:
            self._returned(tracee, report)
        self._tell(view, observer)
        if step.kind in _RELEASES or tracee.end is not None:
            self._unpark()
        if tracee.end is None and tracee.parked is None:
            self._resume(tracee)
            self._tell(view, observer)
        if self._unstarted:
            self._start_ready()

    def _tell(self, view: View, observer: Observer) -> None:
        """Tell the observer of the operations that have ended since it was last told."""
        while self._told < len(self.operations):
            operation = self.operations[self._told]
            self._told += 1
            observer.on_return(view, self, operation)

    def _crash(self, tracee: Tracee, fault: Fault) -> Step:
        operation = tracee.operation
        before = tracee.pending.call.row.name if tracee.pending else "return"
        footprint = EMPTY
        if self._footprints:
            footprint = ending(tracee.pid, tracee.descriptors.table())
        self._kill(tracee)
        return self._record(
            tracee,
            "crash",
            Kind.CRASH,
            {"before": before},
            fault=fault,
            operation=operation,
            footprint=footprint,
        )

    def _kill(self, tracee: Tracee) -> None:
        tracee.crashed = True
        tracee.kill()
        while tracee.end is None:
            status = self._wait(tracee)
            if not os.WIFSTOPPED(status):
                self._ended(tracee, status)

    def _call(self, tracee: Tracee, fault: Fault | None) -> Step:
        pending = tracee.pending
        if pending is None:
            raise EngineError(f"{tracee.name} has nothing to do")
        if pending.changes != self._changes:
            # Others have moved since the actor came here, and paths may lead elsewhere.
            pending = self._resolve(tracee, pending.call)
        row = pending.call.row
        operation = tracee.operation
        result: int = 0
        outputs: dict[str, Value] = {}
        look = Look(tracee, pending, self._names) if self._footprints else None
        if pending.escape:
            result = self._refuse(tracee, pending)
        elif row.kind is Kind.EXIT:
            ptrace.resume(tracee.pid)
            status = self._wait(tracee)
            while os.WIFSTOPPED(status):
                ptrace.resume(tracee.pid, os.WSTOPSIG(status))
                status = self._wait(tracee)
            self._ended(tracee, status)
        else:
            done = self._performer.perform(tracee, pending, fault)
            result, outputs = done.result, done.outputs
            if done.died is not None:
                self._note(f"{tracee.name} died inside {row.name}")
                self._ended(tracee, done.died)
            elif done.blocked:
                tracee.parked, tracee.point = tracee.point, None
                ptrace.resume(tracee.pid)
                self._reenter(tracee)
            elif fault is not None and fault.kind is FaultKind.TEAR:
                self._kill(tracee)
        return self._record(
            tracee,
            row.name,
            row.kind,
            pending.args,
            result=result,
            outputs=outputs,
            fault=fault,
            operation=operation,
            footprint=look.footprint(result, fault, tracee) if look else EMPTY,
        )

    def _reenter(self, tracee: Tracee) -> None:
        """Bring an actor whose lock was taken back to the entry of the same call."""
        status = self._wait(tracee)
        while os.WIFSTOPPED(status) and status >> 16 != ptrace.EVENT_SECCOMP:
            ptrace.resume(tracee.pid, os.WSTOPSIG(status))
            status = self._wait(tracee)
        if not os.WIFSTOPPED(status):
            self._ended(tracee, status)

    def _unpark(self) -> None:
        for tracee in self._tracees:
            if tracee.parked is not None:
                tracee.point, tracee.parked = tracee.parked, None

    def _record(  # noqa: PLR0913  the fields of a step
        self,
        tracee: Tracee,
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
            actor=tracee.name,
            operation=tracee.operation if operation is None else operation,
            call=call,
            kind=kind,
            args=args,
            result=result,
            outputs=outputs or {},
            fault=fault,
            footprint=footprint,
        )

    # --- ends -------------------------------------------------------------------------

    def _returned(self, tracee: Tracee, report: inside.Report) -> None:
        self._close_operation(
            tracee,
            report.ending,
            succeeded=report.succeeded,
            expected=report.expected,
            value=msgspec.msgpack.decode(report.value),
            shown=report.shown,
            exception=report.exception,
            frames=report.frames,
        )

    def _close_operation(self, tracee: Tracee, ending: Ending, **fields: object) -> None:
        last = self._now if tracee.first_step is not None else None
        self.operations.append(
            Operation(
                actor=tracee.name,
                role=tracee.program.role,
                index=tracee.operation,
                ending=ending,
                faults=tracee.faults,
                first=tracee.first_step,
                last=last,
                **fields,
            )
        )
        tracee.operation += 1
        tracee.first_step = None
        tracee.faults = 0

    def _ended(self, tracee: Tracee, status: int) -> None:
        code = os.waitstatus_to_exitcode(status)
        tracee.end = ActorEnd(tracee.name, code, tracee.crashed)
        self.ends.append(tracee.end)
        tracee.release()
        program = tracee.program
        total = 1 if program.argv else program.repeat
        if tracee.operation >= total:
            return
        if tracee.crashed:
            self._close_operation(tracee, Ending.CRASHED, succeeded=False)
        elif self.stuck or self._machine.watchdog.reason:
            self._close_operation(
                tracee,
                Ending.UNFINISHED,
                succeeded=False,
                shown=self.stuck or self._machine.watchdog.reason,
            )
        else:
            succeeded = bool(program.argv) and (
                program.succeeds(code) if program.succeeds is not None else code == 0
            )
            self._close_operation(
                tracee,
                Ending.EXITED,
                succeeded=succeeded,
                value=code,
                shown=f"exit status {code}",
                status=code,
            )

    def _finish(self) -> None:
        """End every actor that is left, whatever state it is in."""
        left = [tracee for tracee in self._tracees if tracee.end is None]
        if left and not self.stuck:
            self.stuck = "nobody can go on" if self.waiting else "broken off"
        for tracee in left:
            tracee.kill()
            while tracee.end is None:
                _, status = os.waitpid(tracee.pid, ptrace.WALL)
                if not os.WIFSTOPPED(status):
                    self._ended(tracee, status)
