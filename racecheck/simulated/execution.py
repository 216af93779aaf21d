"""One execution on a simulated machine: threads, one step at a time.

It goes as under the process engine (`racecheck.engine.execution`): each actor stands at
the entry of a call, the scheduler picks one, its call is made, recorded and judged, and
it runs on to its next call.
"""

from __future__ import annotations

import errno as errno_names
import hashlib
import os
from typing import TYPE_CHECKING, Any, Final

import msgspec

from racecheck.engine.allowed import AllowedFaults
from racecheck.engine.record import Record
from racecheck.errors import EngineError
from racecheck.footprint import merge
from racecheck.kernel.symbols import OPEN
from racecheck.model import (
    EMPTY,
    Buffer,
    Decision,
    Fault,
    FaultKind,
    Kind,
    SchedulingPoint,
    Step,
)
from racecheck.model.epoch import EPOCH
from racecheck.simulated.actor import Pending, SimulatedActor
from racecheck.simulated.footprints import Footprints, Touched
from racecheck.simulated.view import SimulatedView

if TYPE_CHECKING:
    from collections.abc import Sequence

    from racecheck.invariants import Judge
    from racecheck.model import FaultBound, Footprint, Program, Scheduler, Value
    from racecheck.simulated.stage import Stage

_SECOND: Final = 1_000_000_000
_HEAD: Final = 64
_PATHS: Final = ("path", "oldpath", "newpath", "file")
_MAKES: Final = frozenset({Kind.OPEN, Kind.MKDIR, Kind.SYMLINK})
_NOTHING: Final = Touched((), None)


class SimulatedExecution:
    """One execution of a scenario's programs; used once.

    Attributes:
        record: Its history.
        decisions: The decisions so far; one a step.
        notes: What is not simulated and was asked for, each once.
        stuck: Why the execution was broken off, or empty.
        given_up: Whether the scheduler gave it up.
    """

    def __init__(
        self,
        stage: Stage,
        programs: Sequence[Program],
        *,
        seed: int,
        max_steps: int,
        max_cpu_s: float,
        footprints: bool = False,
        fault_bounds: Sequence[FaultBound] = (),
    ) -> None:
        """Prepare; nothing is started yet.

        Args:
            stage: The machine.
            programs: The actors.
            seed: Seed of their random bytes.
            max_steps: Steps at which it is broken off.
            max_cpu_s: Real time that an actor may take between two steps.
            footprints: Whether steps get their footprints.
            fault_bounds: Faults that the scheduler may choose, and how often.
        """
        self.record = Record(programs, self._open_files)
        self.decisions: list[Decision] = []
        self.notes: list[str] = []
        self.stuck = ""
        self.given_up = False
        self._stage = stage
        self._programs = tuple(programs)
        self._seed = seed
        self._max_steps = max_steps
        self._patience_s = max_cpu_s
        self._wants_footprints = footprints
        self._allowed = AllowedFaults(fault_bounds)
        self._footprints = Footprints(stage)
        self._view = SimulatedView(stage, self._footprints)
        self._clock = EPOCH * _SECOND
        self._actors: list[SimulatedActor] = []
        self._unstarted = list(programs)
        self._owners: dict[int, str] = {}
        self._counts: dict[str, int] = {}

    def run(self, scheduler: Scheduler, judge: Judge) -> None:
        """Run all actors to their ends.

        Raises:
            EngineError: A thread cannot be ended.
            SystemExit: The process was asked to end meanwhile.
        """
        self._stage.restore()
        self._stage.ending.busy = True
        judge.start(self._view, self.record if self._wants_footprints else None)
        try:
            self._start_ready()
            current: str | None = None
            while points := self._points():
                if self._stage.ending.asked:
                    self.given_up = True
                    break
                if len(self.record.steps) >= self._max_steps:
                    self.stuck = f"{current} went on after {self._max_steps} steps"
                    break
                decision = scheduler.choose(points, current)
                if decision is None:
                    self.given_up = True
                    break
                current = decision.actor
                self._step(self._find(decision.actor), decision, judge)
                scheduler.record(self.record.steps[-1])
                if self.stuck:
                    break
        finally:
            self._finish(judge)
        if not self.given_up:
            judge.on_end(self._view, self.record)
        self._stage.ending.busy = False
        if self._stage.ending.asked:
            self._stage.ending.end()
        scheduler.finish_execution(self.record.steps)

    # --- who can go on ----------------------------------------------------------------

    def _points(self) -> list[SchedulingPoint]:
        waiting = [each for each in self._actors if not each.ended]
        ready = [each for each in waiting if self._is_ready(each)]
        if waiting and not ready:
            # Time passes only when nobody else can go on.
            self._clock = min(each.deadline or 0 for each in waiting)
            ready = [each for each in waiting if self._is_ready(each)]
        return [self._point(each) for each in ready]

    def _is_ready(self, actor: SimulatedActor) -> bool:
        return actor.deadline is None or actor.deadline <= self._clock

    def _point(self, actor: SimulatedActor) -> SchedulingPoint:
        pending = actor.pending
        assert pending is not None  # noqa: S101  it has not ended
        if actor.stalled:
            point = SchedulingPoint(actor.name, Kind.WAKE, "wake")
        else:
            point = SchedulingPoint(
                actor.name, pending.kind, pending.call, pending.size
            )
        faults = self._allowed.at(actor.name, point, has_written=actor.has_written)
        return msgspec.structs.replace(point, faults=faults) if faults else point

    def _find(self, name: str) -> SimulatedActor:
        for actor in self._actors:
            if actor.name == name and not actor.ended and self._is_ready(actor):
                return actor
        raise EngineError(f"the scheduler chose {name!r}, which is not enabled")

    def _start_ready(self) -> None:
        for program in list(self._unstarted):
            if program.after is not None and not self.record.has_succeeded(
                program.after
            ):
                continue
            self._unstarted.remove(program)
            actor = SimulatedActor(
                program, self._stage, self._seed, lambda: self._clock
            )
            self._actors.append(actor)
            self._actors.sort(key=lambda each: self._programs.index(each.program))
            self.record.begin(program.name)
            self._await(actor, came=actor.start(self._patience_s))

    # --- steps ------------------------------------------------------------------------

    def _step(self, actor: SimulatedActor, decision: Decision, judge: Judge) -> None:
        """Take the step that was decided, and let everybody know."""
        self.decisions.append(decision)
        fault = decision.fault
        pending = actor.pending
        assert pending is not None  # noqa: S101  it has not ended
        report = None
        if fault is not None:
            self._allowed.use(fault, actor.name)
        if fault is not None and fault.kind is FaultKind.CRASH:
            step = self._crash(actor, pending, fault)
        elif fault is not None and fault.kind is FaultKind.STALL:
            actor.deadline = self._clock + fault.length * _SECOND
            actor.stalled = True
            args: dict[str, Value] = {"before": pending.call, "seconds": fault.length}
            step = self.record.step(actor.name, "stall", Kind.STALL, args, fault=fault)
        elif actor.stalled:
            actor.stalled = False
            actor.deadline = None
            step = self.record.step(
                actor.name, "wake", Kind.WAKE, {"of": "stall", "timed out": 1}
            )
        else:
            report = pending.report
            step = self._call(actor, pending, fault)
        self._counts[actor.name] = self._counts.get(actor.name, 0) + 1
        actor.has_written = step.may_change
        self._add(judge.on_step(self._view, self.record, step))
        if report is not None:
            operation = self.record.returned(actor.program, report)
            self._add(judge.on_return(self._view, self.record, operation))
        if step.kind in (Kind.EXIT, Kind.CRASH) or _is_torn(fault):
            self._end(actor, judge, crashed=step.kind is not Kind.EXIT)
        elif step.kind is not Kind.STALL and step.call == pending.call:
            self._await(actor, came=actor.go_on(self._patience_s))
        if self._unstarted:
            self._start_ready()

    def _call(
        self, actor: SimulatedActor, pending: Pending, fault: Fault | None
    ) -> Step:
        """Let a call be made, and record it."""
        actor.deadline = None
        touched = _NOTHING
        with self._stage.looking():
            cwd = self._stage.fs.cwd
            self._stage.fs.cwd = actor.folder
            touched = self._footprints.before(
                pending.kind, pending.args, follow=_follows(pending)
            )
            self._stage.fs.cwd = cwd
            self._view.went(touched.walks)
        descriptor = pending.args.get("fd")
        actor.fault = fault
        actor.error = None
        if fault is not None and fault.kind is FaultKind.ERRNO:
            number = getattr(errno_names, fault.errno)
            actor.error = OSError(number, os.strerror(number))
        if not actor.go_on(self._patience_s):
            raise EngineError(f"{actor.name} did not come back from {pending.call}")
        result = _result(actor)
        failed = result < 0
        with self._stage.looking():
            self._name_made(actor, pending, failed=failed)
            footprint = (
                self._footprint(actor, pending, touched, failed=failed)
                if self._wants_footprints
                else EMPTY
            )
        if not failed and pending.kind in (Kind.OPEN, Kind.DUP):
            self._owners[result] = actor.name
        if not failed and pending.kind is Kind.CLOSE and isinstance(descriptor, int):
            self._owners.pop(descriptor, None)
        return self.record.step(
            actor.name,
            pending.call,
            pending.kind,
            self._displayed(pending.args),
            result=result,
            outputs=_outputs(pending, actor.value) if not failed else {},
            fault=fault,
            footprint=footprint,
        )

    def _footprint(
        self,
        actor: SimulatedActor,
        pending: Pending,
        touched: Touched,
        *,
        failed: bool,
    ) -> Footprint:
        if pending.kind is Kind.EXIT:
            return self._footprints.ending(self._files(actor.name))
        if pending.kind is Kind.OPEN and touched.walks[0].file is None and not failed:
            # What it has made is open from now on.
            made = self._footprints.before(pending.kind, pending.args, follow=True)
            opened = self._footprints.ending(
                walk.file for walk in made.walks if walk.file is not None
            )
        else:
            opened = EMPTY
        return merge(
            self._footprints.after(pending.kind, pending.args, touched, failed=failed),
            opened,
        )

    def _name_made(
        self, actor: SimulatedActor, pending: Pending, *, failed: bool
    ) -> None:
        """Name what a call has made after the step that did."""
        if failed or pending.kind not in _MAKES:
            return
        path = pending.args.get("path")
        if isinstance(path, str):
            self._stage.fs.cwd = actor.folder
            walk = self._footprints.walk(path, follow=pending.kind is Kind.OPEN)
            if walk.file is not None:
                number = self._counts.get(actor.name, 0)
                self._stage.name(walk.file, f"{actor.name}#{number}")

    def _crash(self, actor: SimulatedActor, pending: Pending, fault: Fault) -> Step:
        footprint = EMPTY
        if self._wants_footprints:
            footprint = self._footprints.ending(self._files(actor.name))
        return self.record.step(
            actor.name,
            "crash",
            Kind.CRASH,
            {"before": pending.call},
            fault=fault,
            footprint=footprint,
        )

    def _end(self, actor: SimulatedActor, judge: Judge, *, crashed: bool) -> None:
        """Let an actor end: its files are closed, and its operation with it."""
        actor.kill()
        if not actor.is_gone:
            raise EngineError(f"the thread of {actor.name} cannot be ended")
        self._close_files(actor.name)
        operation = self.record.ended(
            actor.program,
            -9 if crashed else actor.status,
            crashed=crashed,
            stuck=self.stuck,
        )
        if operation is not None:
            self._add(judge.on_return(self._view, self.record, operation))

    def _await(self, actor: SimulatedActor, *, came: bool) -> None:
        """Deal with an actor that has come to its next call, or has not."""
        if actor.problem:
            self._note(actor.problem)
        if came:
            return
        if actor.cpu_s() < self._patience_s / 2:
            self._note(f"{actor.name} waits for something that is no call on files")
        self.stuck = f"{actor.name} computed for more than {self._patience_s:g} s"

    def _finish(self, judge: Judge) -> None:
        for actor in self._actors:
            if not actor.ended or not actor.is_gone:
                actor.kill()
                self._close_files(actor.name)
                if not self.given_up:
                    operation = self.record.ended(
                        actor.program, -9, stuck=self.stuck or "it was left behind"
                    )
                    if operation is not None:
                        judge.on_return(self._view, self.record, operation)
            if not actor.is_gone:
                raise EngineError(f"the thread of {actor.name} cannot be ended")

    # --- files ------------------------------------------------------------------------

    def _files(self, name: str) -> list[Any]:
        found = []
        for descriptor, owner in self._owners.items():
            if owner == name:
                with_it = self._stage.fs.open_files[descriptor]
                if with_it:
                    found.append(with_it[0].get_object())
        return found

    def _open_files(self, actor: str) -> list[str]:
        return sorted(self._stage.name_of(file) for file in self._files(actor))

    def _close_files(self, name: str) -> None:
        with self._stage.looking():
            for descriptor, owner in list(self._owners.items()):
                if owner == name:
                    del self._owners[descriptor]
                    if self._stage.fs.open_files[descriptor]:
                        self._stage.fs.close_open_file(descriptor)

    def _displayed(self, args: dict[str, Value]) -> dict[str, Value]:
        found: dict[str, Value] = {}
        for key, value in args.items():
            if isinstance(value, bytes):
                found[key] = _buffer(value)
            elif key == "flags" and isinstance(value, int):
                found[key] = OPEN[value]
            elif key == "mode" and isinstance(value, int):
                found[key] = f"{value:o}"
            elif key in _PATHS and isinstance(value, str):
                found[key] = self._stage.display(value)
            else:
                found[key] = value
        return found

    def _add(self, seen: Footprint) -> None:
        if self._wants_footprints and seen != EMPTY and self.record.steps:
            step = self.record.steps[-1]
            footprint = merge(step.footprint, seen)
            self.record.steps[-1] = msgspec.structs.replace(step, footprint=footprint)

    def _note(self, text: str) -> None:
        if text not in self.notes:
            self.notes.append(text)


def _follows(pending: Pending) -> bool:
    return pending.call != "lstat" and pending.args.get("follow_symlinks") != 0


def _is_torn(fault: Fault | None) -> bool:
    return fault is not None and fault.kind is FaultKind.TEAR


def _result(actor: SimulatedActor) -> int:
    error = actor.error
    if error is None:
        if isinstance(actor.value, bytes):
            return len(actor.value)
        return actor.value if type(actor.value) is int else 0
    if isinstance(error, OSError) and error.errno:
        return -error.errno
    actor.refuse(f"{type(error).__name__} of pyfakefs: {error}")
    return -errno_names.ENOSYS


def _outputs(pending: Pending, value: Any) -> dict[str, Value]:
    """Return what a call gave back, as far as a trace needs it."""
    if pending.kind is Kind.READ:
        return {"data": _buffer(value)}
    if pending.kind is Kind.READLINK:
        return {"target": str(value)}
    if pending.call == "listdir":
        return {"names": "\n".join(map(os.fsdecode, value))}
    if pending.kind is Kind.STAT and hasattr(value, "st_size"):
        return {"size": int(value.st_size), "mode": int(value.st_mode)}
    if isinstance(value, bool):
        return {"answer": int(value)}
    return {}


def _buffer(data: bytes) -> Buffer:
    digest = hashlib.blake2b(data, digest_size=8).hexdigest()
    return Buffer(len(data), digest, bytes(data[:_HEAD]))
