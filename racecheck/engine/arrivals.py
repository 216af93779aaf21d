"""What becomes of a call that a task enters: a step, an answer, a wait, or a note.

`Arrivals.arrive` looks at a task at an entry stop and says whether it stays there.
"""

from __future__ import annotations

import contextlib
import errno
import os
import struct
from typing import TYPE_CHECKING, Final

import msgspec

from racecheck.engine import actor as inside
from racecheck.engine import measuring
from racecheck.engine.births import (
    CLONE_NAMESPACES,
    CLONE_UNTRACED,
    CLONE_VFORK,
    CLONE_VM,
)
from racecheck.engine.commands import fails_on_files, reaches_out
from racecheck.engine.elsewhere import Elsewhere
from racecheck.engine.limits import Limits
from racecheck.engine.making import Making
from racecheck.engine.pending import RESOLVE_CACHED, Meanings
from racecheck.engine.showing import take_time
from racecheck.engine.tries import TIMED, Ids, Try
from racecheck.engine.waits import (
    ClockWait,
    Sleep,
    SuspendWait,
    TryWait,
    Wait,
    Yield,
)
from racecheck.kernel import ptrace
from racecheck.kernel.call import LONGEST_TRANSFER, transfer
from racecheck.kernel.deadlines import deadline
from racecheck.kernel.decode import decode
from racecheck.kernel.rows import Service
from racecheck.model import Kind, SchedulingPoint

if TYPE_CHECKING:
    from collections.abc import Callable

    from racecheck.engine.clock import Clock
    from racecheck.engine.control import Control
    from racecheck.engine.futexes import Futexes
    from racecheck.engine.machine import Machine
    from racecheck.engine.pending import Pending
    from racecheck.engine.services import Services
    from racecheck.engine.task import Task
    from racecheck.footprint import Names
    from racecheck.kernel.call import Call
    from racecheck.kernel.rows import Silent

_GIVING_WAY: Final = 20
"""Sleeps of no length, in a row, after which some time passes."""

_ASKING: Final = 100
"""Fruitless calls that do not wait, in a row, after which that is so, too.

So few that they take less processor time than makes the watchdog look into it.
"""

_MANY: Final = 10
"""The same, after which each of them is seen to take a moment."""

_MAP_SHARED: Final = 1
_MAP_ANONYMOUS: Final = 0x20
_PROT_WRITE: Final = 2
_ABSOLUTE: Final = 1
_SECOND: Final = 1_000_000_000
_SOCKETS: Final = ("accept", "accept4", "recvfrom", "sendto")
_SLEEPS: Final = ("nanosleep", "clock_nanosleep")

_report = msgspec.msgpack.Decoder(inside.Report)


class Arrivals:
    """Looks at the calls that the tasks of one execution enter."""

    def __init__(
        self,
        control: Control,
        machine: Machine,
        names: Names,
        clock: Clock,
        *,
        futexes: Futexes,
        services: Services,
        ids: Ids,
        note: Callable[..., None],
    ) -> None:
        """Serve one execution.

        Args:
            control: Lets the tasks run.
            machine: What executions share.
            names: Names of the inodes.
            clock: The virtual time.
            futexes: The futexes that tasks wait at.
            services: Answers calls that are no steps.
            ids: Translates ids.
            note: Takes note of what was not controlled, and whether it was `refused`.
        """
        self._control = control
        self._machine = machine
        self._registers = machine.registers
        self._arch = machine.registers.audit_arch
        self._table = machine.table
        self._meanings = Meanings(
            names, machine.resolver, machine.sandbox, machine.semaphores
        )
        self._clock = clock
        self._futexes = futexes
        self._services = services
        self._ids = ids
        self._note = note
        self._limits = Limits(machine.watchdog)
        self._elsewhere = Elsewhere(
            machine,
            making=Making(machine.registers, control.wait),
            services=services,
            limits=self._limits,
            ids=ids,
            note=note,
            wait=control.wait,
        )

    def arrive(self, task: Task) -> bool:
        """Look at a call being entered; say whether the task is to stand there."""
        arch, number, raw = ptrace.entry(task.tid)
        if arch != self._arch or number >= self._machine.foreign_calls:
            text = f"call {number} of another architecture by {task.name}"
            self._note(text, refused=True)
            self._registers.skip(task.tid, -errno.ENOSYS)
            return False
        row = self._table.find(number, raw)
        if row is None:
            return self._no_step(task, number, raw)
        kind = row.kind
        if kind is Kind.WRITE and raw[0] & 0xFFFFFFFF in inside.MESSAGES:
            return self._hear(task, raw)
        if row.name == "exit" and task.actor.others(task):
            # The end of a thread is nothing that another actor could see.
            if task.is_first:
                self._control.end_first(task)
            return False
        call = decode(row, raw, task.process.memory)
        pending = self.resolve(task, call)
        if pending.escape:
            self.refuse(task, pending)
            return False
        if call.read.get("resolve", 0) & RESOLVE_CACHED:
            self._note(f"{row.name} of what the kernel has in memory by {task.name}")
        for path in pending.semaphores:
            self._note(f"the semaphore {path}", by=task.actor.name)
        if kind is Kind.COPY and self._is_foreign(task, call.number("outfd")):
            self._services.send(task, call.number("outfd"))
        if not pending.inside:
            task.number = number
            return self._elsewhere.arrive(task, pending)
        if kind is Kind.MAP:
            if raw[3] & _MAP_ANONYMOUS:
                return False
            if raw[3] & _MAP_SHARED and _may_write(pending, raw):
                self._note(f"shared writable mapping by {task.name}")
        task.pending = pending
        task.number = number
        task.point = SchedulingPoint(task.lane, kind, row.name, transfer(call))
        return True

    def _hear(self, task: Task, raw: tuple[int, ...]) -> bool:
        """Take a message of an actor; say whether the actor is to stand there."""
        message = raw[0] & 0xFFFFFFFF
        if message == inside.BEGIN:
            self._registers.skip(task.tid, task.actor.begin())
            return False
        if message == inside.COVERED:
            if not measuring.is_on():
                return False
            measuring.take(task.process.memory.read(raw[1], raw[2]))
            self._registers.skip(task.tid, raw[2])
            return False
        if message == inside.IDLE and not raw[2]:
            task.retire()
            return True
        try:
            data = task.process.memory.read(raw[1], min(raw[2], LONGEST_TRANSFER))
            task.report = _report.decode(data)
        except (OSError, msgspec.MsgspecError):
            # It is no message of ours, and the kernel knows no such descriptor.
            return False
        task.point = SchedulingPoint(task.lane, Kind.RETURN, "return")
        if message != inside.IDLE:
            self._registers.skip(task.tid, raw[2])
        elif task.process.alarms or len(task.actor.tasks) > 1:
            # A signal may wait for it that it has to get before its end.
            self._registers.skip(task.tid, -errno.EAGAIN)
        else:
            task.retires = True
        return True

    def resolve(self, task: Task, call: Call) -> Pending:
        """Find out what a call would mean if it were made at once."""
        process = task.process
        pending = self._meanings.of(call, process.proc, process.descriptors)
        pending.changes = self._control.changes.count
        return pending

    def refuse(self, task: Task, pending: Pending) -> int:
        """Have a call fail that would leave the sandbox, or the sight of its tracer."""
        name = pending.call.row.name
        text = f"escape: {name} outside the sandbox by {task.name}: {pending.escape}"
        if pending.hidden:
            text = f"{name} of an unreadable program by {task.name}: {pending.escape}"
        self._note(text, refused=True)
        self._registers.skip(task.tid, -pending.denial)
        return -pending.denial

    def _no_step(self, task: Task, number: int, raw: tuple[int, ...]) -> bool:
        """Deal with a call that is no step: answer it, wait for it, or name it."""
        name = self._table.name(number)
        task.number = number
        silent = self._table.services.get(number)
        if silent is not None:
            if silent.service is Service.SPAWN:
                self._spawn(task, name, raw)
            elif silent.service is Service.CLOCK:
                return self._look_at_clock(task, silent, raw)
            else:
                self._services.serve(task, silent, raw)
            return False
        if number in self._table.waits:
            return self._wait(task, name, raw)
        if name in ("fcntl", "ioctl"):
            if reaches_out(task, name, raw):
                text = f"escape: {name} {raw[1] & 0xFFFFFFFF:#x} outside the sandbox"
                self._note(f"{text} by {task.name}", refused=True)
                self._registers.skip(task.tid, -errno.EPERM)
                return False
            if self._is_foreign(task, raw[0]) or fails_on_files(name, raw):
                return False
        refusal = self._table.refused.get(number)
        self._note(f"{name} by {task.name}", refused=refusal is not None)
        if refusal is not None:
            self._registers.skip(task.tid, -refusal)
        return False

    def _look_at_clock(self, task: Task, silent: Silent, raw: tuple[int, ...]) -> bool:
        """Tell a task the time, or have it wait if it asks for that over and over."""
        if not task.looks.lose():
            self._services.serve(task, silent, raw)
            return False
        task.wait = ClockWait(
            self._clock.monotonic_ns + task.looks.pause(),
            lambda: self._services.serve(task, silent, raw),
        )
        return True

    def _spawn(self, task: Task, name: str, raw: tuple[int, ...]) -> None:
        """Take note of what a new task will share with the one that starts it."""
        if self._limits.is_full(task):
            return
        if name == "clone3":
            # glibc falls back to clone, which then says what is wanted.
            self._registers.skip(task.tid, -errno.ENOSYS)
        elif name == "clone" and raw[0] & CLONE_NAMESPACES:
            self._note(f"clone into a namespace by {task.name}", refused=True)
            self._registers.skip(task.tid, -errno.EPERM)
        elif name == "clone":
            self._control.births.flags[task.tid] = raw[0]
            if raw[0] & CLONE_UNTRACED:
                # The kernel would tell nobody of the child, which then is anybody's.
                self._registers.edit(task.tid, {0: raw[0] & ~CLONE_UNTRACED})
        elif name == "vfork":
            self._control.births.flags[task.tid] = CLONE_VM | CLONE_VFORK

    def _wait(self, task: Task, name: str, raw: tuple[int, ...]) -> bool:
        """Let a task wait, unless it has its answer; say whether it is to stand."""
        if name == "futex":
            task.wait = self._futexes.enter(task, raw)
            return task.wait is not None
        ends = None
        if name in TIMED or name in _SLEEPS:
            try:
                ends = deadline(name, raw, task.process.memory, task.actor.clock)
            except OSError:
                # The kernel says so to the program, in the same words.
                return False
        if name in ("pause", "rt_sigsuspend"):
            return self._wait_for_signal(task, name, raw)
        if name in _SOCKETS:
            return self._elsewhere.use_socket(task, name, raw)
        if name in _SLEEPS:
            if ends is None or ends > self._clock.monotonic_ns:
                task.wait = Sleep("sleep", ends, lambda: self._tell_rest(task, raw))
                return True
            # There may be nobody who goes on then, and no time that passes.
            if task.looks.lose(_GIVING_WAY, 1):
                ends += task.looks.pause()
            task.wait = Yield("sleep", ends)
            return True
        return self._try(task, name, raw, ends)

    def _wait_for_signal(self, task: Task, name: str, raw: tuple[int, ...]) -> bool:
        if name == "pause":
            task.wait = Wait(name)
            return True
        try:
            blocked = int.from_bytes(task.process.memory.read(raw[0], 8), "little")
        except OSError:
            return False
        task.wait = SuspendWait("sigsuspend", task, blocked)
        return True

    def _tell_rest(self, task: Task, raw: tuple[int, ...]) -> None:
        """Tell a sleeper that was woken how much longer it would have slept."""
        name = self._table.name(task.number)
        if name == "clock_nanosleep" and raw[1] & _ABSOLUTE:
            return
        address = raw[1] if name == "nanosleep" else raw[3]
        ends = task.wait.deadline_ns if task.wait is not None else None
        if address and ends is not None:
            left = divmod(ends - self._clock.monotonic_ns, _SECOND)
            with contextlib.suppress(OSError):
                task.process.memory.write(address, struct.pack("=qq", *left))

    def _is_foreign(self, task: Task, raw: int) -> bool:
        return task.process.descriptors.find(raw & 0xFFFFFFFF) is None

    def _try(
        self, task: Task, name: str, raw: tuple[int, ...], ends: int | None
    ) -> bool:
        attempt = Try(
            task,
            name,
            raw,
            self._registers,
            self._control.wait,
            lambda: self._control.happened,
            self._ids,
        )
        if attempt.attempt():
            if not task.ended:
                attempt.finish(expired=False)
            return False
        if not attempt.blocks:
            # Programs look until some time has passed, and would look for ever if none
            # did.
            if not task.looks.lose(_ASKING):
                attempt.finish(expired=False)
                if task.looks.looks >= _MANY:
                    take_time(self._clock, task)
                return False
            ends = self._clock.monotonic_ns + task.looks.pause()
        attempt.enter_again(task.number)
        task.wait = TryWait(name, ends, attempt)
        task.wait.looks = not attempt.blocks
        return True


def _may_write(pending: Pending, raw: tuple[int, ...]) -> bool:
    """Say whether a mapping is writable, or can be made so later."""
    file = pending.files.get("fd")
    writable = file is not None and file.flags & os.O_ACCMODE == os.O_RDWR
    return writable or bool(raw[2] & _PROT_WRITE)
