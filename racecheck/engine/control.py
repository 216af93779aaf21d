"""Letting tasks run, one at a time: the only place that gives up control.

`Control.run` lets one stopped task go on and comes back when it stands again: at a
scheduling point, waiting, or at its end. What tasks start on their way is held at
birth, and what they would wait for is taken over at the entry of the call, so that
nobody else runs meanwhile.
"""

from __future__ import annotations

import errno
import os
import select
import signal
import stat
from typing import TYPE_CHECKING, Final

import msgspec

from racecheck.engine import actor as inside
from racecheck.engine.futexes import Futexes
from racecheck.engine.pending import resolve
from racecheck.engine.services import Services
from racecheck.engine.task import Actor, Process, Task
from racecheck.engine.tries import NAMES, TIMED, Ids, Try
from racecheck.engine.waits import (
    FileWait,
    Interrupted,
    KernelWait,
    LockWait,
    StallWait,
    TryWait,
    VforkWait,
    Wait,
    can_transfer,
)
from racecheck.kernel import ptrace
from racecheck.kernel.deadlines import deadline
from racecheck.kernel.call import transfer
from racecheck.kernel.decode import decode
from racecheck.kernel.rows import Service
from racecheck.model import Kind, SchedulingPoint

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from racecheck.engine.clock import Clock
    from racecheck.engine.machine import Machine
    from racecheck.engine.pending import Pending
    from racecheck.footprint import Names
    from racecheck.kernel.call import Call
    from racecheck.kernel.rows import Row

_SPAWNS: Final = (ptrace.EVENT_FORK, ptrace.EVENT_VFORK, ptrace.EVENT_CLONE)
_CLONE_VM: Final = 0x100
_CLONE_FILES: Final = 0x400
_CLONE_VFORK: Final = 0x4000
_CLONE_THREAD: Final = 0x10000
_LOOK_NS: Final = 1000
_MAP_SHARED: Final = 1
_MAP_ANONYMOUS: Final = 0x20
_PROT_WRITE: Final = 2
_QUIET: Final = sum(
    1 << number - 1
    for number in (signal.SIGCHLD, signal.SIGURG, signal.SIGWINCH, signal.SIGCONT)
)
"""Signals that do nothing where nobody handles them, as a mask."""
_RANDOM: Final = frozenset({os.makedev(1, 8), os.makedev(1, 9)})
"""The devices `random` and `urandom`; see random(4)."""

_report = msgspec.msgpack.Decoder(inside.Report)


class Control:
    """Runs the tasks of one execution.

    Attributes:
        tasks: All tasks so far, by their real id.
        happened: Counts the times that a task ran; attempts are repeated after that.
        changes: Counts the steps after which a pending call can mean something else.
        died: Counts the processes that have ended, and lost their locks.
    """

    def __init__(
        self,
        machine: Machine,
        names: Names,
        clock: Clock,
        actors: list[Actor],
        *,
        note: Callable[..., None],
        ended: Callable[[Actor, int], None],
    ) -> None:
        """Serve one execution.

        Args:
            machine: What executions share.
            names: Names of the inodes.
            clock: The virtual time.
            actors: The actors, in the order of their declaration; it may grow.
            note: Takes note of what was not controlled, and whether it was `refused`.
            ended: Told of each actor that ended, with the status of its process.
        """
        self.tasks: dict[int, Task] = {}
        self.happened = 0
        self.changes = 0
        self.died = 0
        self._machine = machine
        self._registers = machine.registers
        self._table = machine.table
        self._names = names
        self._clock = clock
        self._actors = actors
        self._note = note
        self._tell_ended = ended
        self._early: dict[int, int] = {}
        self._ids = Ids()
        self._flags: dict[int, int] = {}
        self._futexes = Futexes(machine.registers, note)
        self._services = Services(
            machine.registers, actors, self._ids, note, self._send
        )

    # --- giving up control ------------------------------------------------------------

    def start(self, actor: Actor, seed: int) -> None:
        """Take over an actor that has been forked, and let it come to where it stands."""
        task = actor.tasks[0]
        process = actor.process
        self.tasks[task.tid] = task
        self._ids.add(task.tid, process.shown)
        self.happened += 1
        if process.vdso is not None:
            # It was used before, and waits for the seed of this execution.
            self._registers.skip(task.tid, seed)
            self._resume(task)
        else:
            ptrace.seize(task.tid)
            process.vdso = self._machine.vdso
            if process.vdso is not None:
                # Before it runs: what it reads of the clock first is where it starts.
                process.vdso.patch(process.memory)
                self.show_clock(actor, process)
            self._machine.zygote.let_go()
        self._follow(task)

    def run(self, task: Task) -> None:
        """Let a task go on from its stop, and wait until it stands again."""
        task.leave_point()
        task.born = False
        self.happened += 1
        self._resume(task)
        self._follow(task)

    def end_wait(self, task: Task) -> None:
        """Let a waiting task that can go on have its answer, and run."""
        wait = task.wait
        assert wait is not None  # noqa: S101  the caller chose it because it waits
        if isinstance(wait, VforkWait):
            task.wait = None
            task.events.pop(0)
            self.happened += 1
            self._return_from_spawn(task)
            self._resume(task)
            self._follow(task)
            return
        wait.finish(task, self._registers)
        wait.leave()
        task.wait = None
        self.run(task)

    def wait(self, task: Task) -> int:
        """Wait for a task; return its wait status as `waitpid` does."""
        if task.events:
            return task.events.pop(0)
        self._machine.watchdog.runs(task)
        while True:
            tid, status = os.waitpid(-1, ptrace.WALL)
            if tid == task.tid:
                if not os.WIFSTOPPED(status):
                    self._died(task, status)
                return status
            if tid == task.process.pid and status >> 16 == ptrace.EVENT_EXEC:
                # A thread that executes a program takes over its process's id.
                self._become_first(task)
                return status
            self._store(tid, status)
            if task.ended:
                return status

    def wait_for_end(self, actor: Actor) -> None:
        """Wait until a killed actor is gone with all that it started."""
        while actor.end is None or actor.processes():
            try:
                tid, status = os.waitpid(-1, ptrace.WALL)
            except ChildProcessError:
                return
            self._store(tid, status)

    def wait_for_process(self, task: Task) -> None:
        """Wait until the process of a task that called exit_group is gone."""
        status = 0
        while not task.process.ended:
            tid, status = os.waitpid(-1, ptrace.WALL)
            if os.WIFSTOPPED(status) and tid == task.tid:
                ptrace.resume(tid)
            else:
                self._store(tid, status)

    def settle(self) -> None:
        """Bring tasks that sleep in the kernel on, if they can, after a step."""
        self._futexes.look_again(only_cleared=True)
        for task in self.sleepers():
            task.wait = None
            self.run(task)

    def look_harder(self) -> None:
        """Look for waits that are over though no task has said so."""
        self._futexes.look_again(only_cleared=False)
        self.happened += 1

    def sleepers(self) -> list[Task]:
        """Return the tasks that sleep in the kernel, for a reason unknown."""
        return [
            task
            for task in self.tasks.values()
            if isinstance(task.wait, KernelWait) and not task.ended
        ]

    def _resume(self, task: Task, number: int = 0) -> None:
        self.show_clock(task.actor, task.process)
        ptrace.resume(task.tid, number)

    def show_clock(self, actor: Actor, process: Process) -> None:
        """Let a process that does not run see what time it is."""
        now = self._clock.monotonic_ns
        if process.clock != now and process.vdso is not None:
            process.clock = now
            process.vdso.set_clock(process.memory, actor.clock.realtime_ns, now)

    def answer(self, task: Task, raw: Sequence[int], result: int) -> None:
        """Give a result to a call that was made as a try, at its exit."""
        self._registers.finish(task.tid, result, dict(enumerate(raw[1:], 1)))

    def enter_again(self, task: Task, raw: Sequence[int]) -> bool:
        """Bring a task from the exit of a call that was a try back to its entry.

        Args:
            task: The task.
            raw: Arguments of the call.

        Returns:
            Whether it is there. A signal that had come before ends a call that waits,
            so that there is a handler to run instead.
        """
        if _is_signalled(task):
            self.answer(task, raw, 0)
            self._registers.interrupt(task.tid, task.number)
            ptrace.interrupt(task.tid)
            task.leave_point()
            task.wait = Interrupted("signal")
            return False
        self._registers.restart(task.tid, task.number, dict(enumerate(raw)))
        self._resume(task)
        status = self.wait(task)
        while os.WIFSTOPPED(status) and status >> 16 != ptrace.EVENT_SECCOMP:
            self._resume(task, 0 if status >> 16 else os.WSTOPSIG(status))
            status = self.wait(task)
        return not task.ended

    def _store(self, tid: int, status: int) -> None:
        task = self.tasks.get(tid)
        if task is None:
            if os.WIFSTOPPED(status):
                self._early[tid] = status
        elif not os.WIFSTOPPED(status):
            self._died(task, status)
        else:
            task.events.append(status)

    # --- events -----------------------------------------------------------------------

    def _follow(self, task: Task) -> None:
        """Wait until a running task stands: at a point, waiting, or at its end."""
        while not task.ended:
            status = self.wait(task)
            if not os.WIFSTOPPED(status):
                return
            event = status >> 16
            number = os.WSTOPSIG(status)
            if event == ptrace.EVENT_SECCOMP:
                if self._arrive(task):
                    return
                number = 0
            elif event == ptrace.EVENT_EXEC:
                task.process.executed()
                number = 0
            elif event in _SPAWNS:
                self._spawned(task, event)
                if task.wait is not None:
                    return
                number = 0
            elif event == ptrace.EVENT_STOP:
                if number == signal.SIGTRAP:
                    if self._machine.watchdog.interrupted == task.tid:
                        self._machine.watchdog.interrupted = 0
                        task.wait = KernelWait("sleep")
                        return
                    number = 0
                else:
                    text = f"{task.name} was stopped by signal {number}"
                    self._note(text, refused=True)
                    task.actor.kill()
                    continue
            elif event or number == ptrace.SYSCALL_STOP:
                number = 0
            self._resume(task, number)

    def _spawned(self, task: Task, event: int) -> None:
        """Take over a new task, and give its parent the id that programs are shown."""
        tid = ptrace.event_message(task.tid)
        if tid not in self._early:
            os.waitpid(tid, ptrace.WALL)
        self._early.pop(tid, None)
        flags = self._flags.pop(task.tid, 0)
        actor, process = task.actor, task.process
        shown = actor.next_id()
        if flags & _CLONE_THREAD:
            child = Task(actor, process, len(actor.tasks), tid)
        else:
            fork = Process(tid, shown, process)
            fork.vdso, fork.clock = process.vdso, process.clock
            if flags & _CLONE_FILES:
                fork.descriptors = process.descriptors
            else:
                fork.descriptors = process.descriptors.copy()
            child = Task(actor, fork, len(actor.tasks), tid)
        child.born = True
        actor.tasks.append(child)
        self.tasks[tid] = child
        self._ids.add(tid, shown)
        if event == ptrace.EVENT_VFORK or flags & _CLONE_VFORK:
            ptrace.resume(task.tid)
            child.process.borrows = True
            task.wait = VforkWait(task, child.process, self._collect)
            return
        self._return_from_spawn(task)

    def _collect(self, task: Task) -> None:
        """Wait for an event of a task that is certain to come, and keep it."""
        status = self.wait(task)
        if os.WIFSTOPPED(status):
            task.events.append(status)

    def _return_from_spawn(self, task: Task) -> None:
        """Bring a parent to the exit of the call, and put the id there that is shown."""
        ptrace.resume_to_exit(task.tid)
        status = self.wait(task)
        while os.WIFSTOPPED(status) and os.WSTOPSIG(status) != ptrace.SYSCALL_STOP:
            ptrace.resume_to_exit(task.tid, 0 if status >> 16 else os.WSTOPSIG(status))
            status = self.wait(task)
        if os.WIFSTOPPED(status):
            child = ptrace.result(task.tid)
            if child > 0:
                self._registers.finish(task.tid, self._ids.shown(child), {})

    def _become_first(self, task: Task) -> None:
        for other in task.actor.tasks:
            if other.process is task.process and other is not task:
                other.ended = True
        self.tasks.pop(task.tid, None)
        task.tid = task.process.pid
        self.tasks[task.tid] = task

    def _died(self, task: Task, status: int) -> None:
        task.ended = True
        task.leave_point()
        if task.wait is not None:
            task.wait.leave()
            task.wait = None
        # Locks are let go by the time that a process's first thread is reported, and
        # not reliably before.
        if not task.is_first or task.process.ended:
            return
        process, actor = task.process, task.actor
        process.ended = True
        process.borrows = False
        self.died += 1
        process.release()
        for other in actor.tasks:
            if other.process is process:
                other.ended = True
        if process.parent is not None and not process.parent.ended:
            self._interrupt(process.parent, signal.SIGCHLD)
        if process is actor.process:
            left = [each for each in actor.processes() if not each.ended]
            if left and not actor.crashed:
                self._note(f"{actor.name} ended and left {len(left)} processes running")
            actor.kill()
            self._tell_ended(actor, status)

    # --- calls being entered ----------------------------------------------------------

    def _arrive(self, task: Task) -> bool:
        """Look at a call being entered; say whether the task is to stand there."""
        machine = self._machine
        arch, number, raw = ptrace.entry(task.tid)
        if arch != machine.registers.audit_arch or number >= machine.foreign_calls:
            text = f"call {number} of another architecture by {task.name}"
            self._note(text, refused=True)
            machine.registers.skip(task.tid, -errno.ENOSYS)
            return False
        row = self._table.find(number, raw)
        if row is None:
            return self._no_step(task, number, raw)
        if row.kind is Kind.WRITE and raw[0] & 0xFFFFFFFF == inside.MARKER:
            task.report = _report.decode(task.process.memory.read(raw[1], raw[2]))
            machine.registers.skip(task.tid, raw[2])
            task.point = SchedulingPoint(task.lane, Kind.RETURN, "return")
            return True
        if row.kind is Kind.WRITE and raw[0] & 0xFFFFFFFF == inside.IDLE:
            task.idle = True
            task.point = SchedulingPoint(task.lane, Kind.EXIT, "exit_group")
            return True
        if row.name == "exit" and (task.index or len(task.actor.tasks) > 1):
            # The end of a thread is nothing that another actor could see.
            return False
        call = decode(row, raw, task.process.memory)
        pending = self.resolve(task, call)
        if pending.escape:
            self.refuse(task, pending)
            return False
        if not pending.inside:
            return self._outside(task, row, raw)
        if row.kind is Kind.MAP and raw[3] & _MAP_ANONYMOUS:
            return False
        if row.kind is Kind.MAP and raw[3] & _MAP_SHARED and _may_write(pending, raw):
            self._note(f"shared writable mapping by {task.name}")
        task.pending = pending
        task.number = number
        task.point = SchedulingPoint(task.lane, row.kind, row.name, transfer(call))
        return True

    def resolve(self, task: Task, call: Call) -> Pending:
        """Find out what a call would mean if it were made at once."""
        pending = resolve(
            call,
            task.process.pid,
            task.process.descriptors,
            self._names,
            self._machine.resolver,
            self._machine.sandbox,
        )
        pending.changes = self.changes
        return pending

    def refuse(self, task: Task, pending: Pending) -> int:
        """Have a call that would change something outside the sandbox fail."""
        name = pending.call.row.name
        text = f"{name} outside the sandbox by {task.name}: {pending.escape}"
        self._note(text, refused=True)
        self._registers.skip(task.tid, -errno.EACCES)
        return -errno.EACCES

    def _outside(self, task: Task, row: Row, raw: tuple[int, ...]) -> bool:
        """Let a call pass that is not about the sandbox; wait where it would block."""
        kind = row.kind
        if kind not in (Kind.READ, Kind.WRITE):
            return False
        process = task.process
        descriptor = raw[0] & 0xFFFFFFFF
        try:
            status = os.stat(f"/proc/{process.pid}/fd/{descriptor}")
        except OSError:
            return False
        mode = status.st_mode
        if stat.S_ISCHR(mode) and status.st_rdev in _RANDOM and row.index("buffer"):
            self._services.read_random(task, raw)
            return False
        if not (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)):
            return False
        events = select.POLLIN if kind is Kind.READ else select.POLLOUT
        if can_transfer(process, descriptor, events):
            return False
        task.wait = FileWait(str(kind), process, descriptor, events)
        return True

    def _no_step(self, task: Task, number: int, raw: tuple[int, ...]) -> bool:
        """Deal with a call that is no step: answer it, wait for it, or name it."""
        name = self._table.name(number)
        silent = self._table.services.get(number)
        if silent is not None:
            if silent.service is Service.SPAWN:
                if name == "clone3":
                    # glibc falls back to clone, which then says what is wanted.
                    self._registers.skip(task.tid, -errno.ENOSYS)
                elif name == "clone":
                    self._flags[task.tid] = raw[0]
                elif name == "vfork":
                    self._flags[task.tid] = _CLONE_VM | _CLONE_VFORK
                return False
            self._services.serve(task, silent, raw)
            return False
        task.number = number
        ends = None
        if name == "futex":
            task.wait = self._futexes.enter(task, raw)
            return task.wait is not None
        if name in TIMED or name in ("nanosleep", "clock_nanosleep"):
            try:
                ends = deadline(name, raw, task.process.memory, task.actor.clock)
            except OSError:
                # The kernel says so to the program, in the same words.
                return False
        if name in ("nanosleep", "clock_nanosleep"):
            task.wait = Wait("sleep", ends)
            return True
        if name in NAMES:
            return self._try(task, name, raw, ends)
        if name in ("fcntl", "ioctl") and self._is_foreign(task, raw[0]):
            return False
        refusal = self._table.refused.get(number)
        self._note(f"{name} by {task.name}", refused=refusal is not None)
        if refusal is not None:
            self._registers.skip(task.tid, -refusal)
        return False

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
            self.wait,
            lambda: self.happened,
            self._ids,
        )
        if attempt.attempt():
            if not task.ended:
                attempt.finish(expired=False)
            return False
        if not attempt.blocks:
            attempt.finish(expired=False)
            # Looking takes time. Programs look until some has passed, and would look for
            # ever if none did.
            self._clock.advance_to(self._clock.monotonic_ns + _LOOK_NS)
            return False
        attempt.enter_again(task.number)
        task.wait = TryWait(name, ends, attempt)
        return True

    # --- time -------------------------------------------------------------------------

    def next_deadline(self) -> int | None:
        """Return when the next wait or alarm ends by itself, or None."""
        times = [
            task.wait.deadline_ns
            for task in self.tasks.values()
            if task.wait is not None and task.wait.deadline_ns is not None
        ]
        times += [
            process.alarm_ns
            for actor in self._actors
            for process in actor.processes()
            if process.alarm_ns is not None
        ]
        return min(times, default=None)

    def move_clock(self, monotonic_ns: int) -> None:
        """Let time pass; waits whose time has come are over, alarms go off."""
        self._clock.advance_to(monotonic_ns)
        self.happened += 1
        for task in self.tasks.values():
            wait = task.wait
            if wait is None or wait.deadline_ns is None:
                continue
            if wait.deadline_ns <= monotonic_ns:
                wait.expired = True
        for actor in self._actors:
            for process in actor.processes():
                if process.alarm_ns is not None and process.alarm_ns <= monotonic_ns:
                    self._alarm(process)

    def _alarm(self, process: Process) -> None:
        """Let a process's alarm go off."""
        assert process.alarm_ns is not None  # noqa: S101  the caller looked
        every = process.alarm_every_ns
        process.alarm_ns = process.alarm_ns + every if every else None
        self._send(process, signal.SIGALRM)

    def _send(self, process: Process, number: int) -> None:
        """Send a signal to a process, every task of which stands."""
        os.kill(process.pid, number)
        if number == signal.SIGKILL:
            # Seen at once, so that it does not depend on luck who learns of it when.
            while not process.ended:
                tid, status = os.waitpid(-1, ptrace.WALL)
                self._store(tid, status)
        else:
            self._interrupt(process, number)

    def _interrupt(self, process: Process, number: int) -> None:
        """End the wait of a process's first thread, if a signal would do that."""
        task = self.tasks.get(process.pid)
        if task is None or task.wait is None or isinstance(task.wait, VforkWait):
            return
        if not _takes(process.pid, number):
            return
        wait = task.wait
        if isinstance(wait, StallWait):
            # It is held up as a task is that gets no processor: its handlers are, too.
            return
        if isinstance(wait, LockWait):
            task.leave_point()
        wait.leave()
        if wait.restarts:
            self._give_way(task)
        elif not isinstance(wait, KernelWait):
            self._registers.skip(task.tid, -errno.EINTR)
        task.wait = Interrupted("signal")


    def _give_way(self, task: Task) -> None:
        """Have a call end as the kernel ends one that a signal interrupts.

        Whether it is made again after the handler is then decided by how the handler
        was installed. The kernel only asks that of a call that it has made itself, so
        another one, which does nothing, is made in its place.
        """
        self._registers.replace(task.tid, self._table.number("getuid"))
        ptrace.resume_to_exit(task.tid)
        status = self.wait(task)
        while os.WIFSTOPPED(status) and os.WSTOPSIG(status) != ptrace.SYSCALL_STOP:
            ptrace.resume_to_exit(task.tid)
            status = self.wait(task)
        if os.WIFSTOPPED(status):
            self._registers.interrupt(task.tid, task.number)
            # Without this the kernel would hand the code for "restart" to the program.
            ptrace.interrupt(task.tid)


def _may_write(pending: Pending, raw: tuple[int, ...]) -> bool:
    """Say whether a mapping is writable, or can be made so later."""
    file = (pending.files or {}).get("fd")
    writable = file is not None and file.flags & os.O_ACCMODE == os.O_RDWR
    return writable or bool(raw[2] & _PROT_WRITE)


def _takes(pid: int, number: int) -> bool:
    """Say whether a signal ends a wait: it has a handler, or ends the process."""
    return bool(_ending(_masks(f"/proc/{pid}/status")) >> number - 1 & 1)


def _is_signalled(task: Task) -> bool:
    """Say whether a stopped task has a signal to handle before it could wait."""
    masks = _masks(f"/proc/{task.process.pid}/task/{task.tid}/status")
    pending = masks["SigPnd"] | (masks["ShdPnd"] if task.is_first else 0)
    return bool(pending & _ending(masks))


def _ending(masks: dict[str, int]) -> int:
    """Return the signals that end a wait, as a mask."""
    ignored = masks["SigIgn"] | (_QUIET & ~masks["SigCgt"])
    return ~(masks["SigBlk"] | ignored)


def _masks(path: str) -> dict[str, int]:
    """Return the signal masks of a task by the names that proc(5) gives them."""
    with open(path, encoding="ascii") as file:
        fields = [line.split() for line in file if line.startswith(("Sig", "ShdPnd"))]
    return {name[:-1]: int(value, 16) for name, value in fields if name != "SigQ:"}
