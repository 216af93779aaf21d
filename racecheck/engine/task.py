"""Actors as the tracer sees them: their processes, and the tasks of those.

A task is what the kernel schedules: a thread. A process is what threads share: memory
and descriptors. An actor begins with one task and may start more of both.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import signal
from typing import TYPE_CHECKING

from racecheck.engine import actor as inside
from racecheck.engine.clock import UPTIME_NS
from racecheck.engine.descriptors import Descriptors
from racecheck.engine.spinning import Patience
from racecheck.kernel.memory import Memory
from racecheck.kernel.ptrace import system_call
from racecheck.kernel.vdso import VDSO
from racecheck.model import Kind, SchedulingPoint, lane_of

if TYPE_CHECKING:
    from racecheck.engine.actor import Report
    from racecheck.engine.alarms import Alarm
    from racecheck.engine.clock import HostClock
    from racecheck.engine.pending import Pending
    from racecheck.engine.waits import Wait
    from racecheck.model import ActorEnd, Program

_CHILDREN_APART = 1000
_PIDFD_GETFD = 438


class Process:
    """What the threads of one process share.

    Attributes:
        pid: Its real process id.
        proc: Number of its folder in /proc: its id, or that of another thread once the
            first one has ended and shows nothing any more.
        shown: The process id that it is shown.
        parent: The process that forked it; None for an actor's first.
        descriptors: Which of its descriptors lead into the sandbox.
        clock: Monotonic time that it is shown, -1 before it is shown any. It may be
            some moments ahead of the execution's.
        asks: Whether it makes a call each time that it looks at a clock.
        alarms: Its alarms and timers, by what the program knows them by.
        foreign: Whether it runs another program than the one it was forked from.
        borrows: Whether it runs in its parent's memory, as a vfork child does until it
            executes a program or ends.
        ended: Whether it has ended.
    """

    __slots__ = (
        "_memory",
        "alarms",
        "asks",
        "borrows",
        "clock",
        "descriptors",
        "ended",
        "foreign",
        "parent",
        "pid",
        "proc",
        "shown",
        "vdso",
    )

    def __init__(self, pid: int, shown: int = 0, parent: Process | None = None) -> None:
        self.pid = pid
        self.proc = pid
        self.shown = shown
        self.parent = parent
        self.descriptors = Descriptors()
        self.clock = -1
        self.asks = False
        self.alarms: dict[object, Alarm] = {}
        self.borrows = False
        self.foreign: bool = parent is not None and parent.foreign
        self.ended = False
        self.vdso: VDSO | None = None
        self._memory: Memory | None = None

    @property
    def memory(self) -> Memory:
        """The memory of its present address space."""
        if self._memory is None:
            self._memory = Memory(self.pid)
        return self._memory

    def take_over(self, other: Process) -> None:
        """Take what the tracer holds of the same process from an earlier use."""
        self._memory, other._memory = other._memory, None
        self.vdso = other.vdso
        if other.clock == UPTIME_NS:
            # No time had passed, and it still sees that it is the start.
            self.clock = UPTIME_NS

    def executed(self) -> None:
        """Take note of an exec: another address space, some descriptors closed."""
        self.release()
        self.foreign = True
        self.borrows = False
        self.descriptors.execute()
        self.clock = -1
        self.asks = False
        # Timers with an id end with the program that made them.
        self.alarms = {
            key: alarm for key, alarm in self.alarms.items() if not alarm.timer
        }
        self.vdso = VDSO.find(self.pid, self.memory)
        if self.vdso is not None:
            self.vdso.patch(self.memory)

    def copy_of(self, number: int) -> int:
        """Return a descriptor of the tracer's own for one of the process.

        Raises:
            OSError: It has none of that number.
        """
        pidfd = os.pidfd_open(self.pid)
        try:
            return system_call(_PIDFD_GETFD, pidfd, number, 0)
        finally:
            os.close(pidfd)

    def ask(self, *, wanted: bool) -> None:
        """Have it make a call each time that it looks at a clock, or no longer."""
        self.asks = wanted
        if self.vdso is None or self.ended:
            return
        if wanted:
            self.vdso.by_call(self.memory)
        else:
            self.vdso.by_table(self.memory)

    def release(self) -> None:
        """Give back what the tracer holds of it."""
        if self._memory is not None:
            self._memory.close()
            self._memory = None

    def forget_alarms(self) -> None:
        """Give up its alarms and timers."""
        for alarm in self.alarms.values():
            alarm.close()
        self.alarms.clear()


class Task:
    """One thread of an actor.

    Attributes:
        actor: The actor.
        process: Its process.
        index: Which of the actor's tasks it is, in the order of their births.
        tid: Its real id.
        lane: What schedules call it.
        point: The scheduling point it stands at, at the entry of a call.
        pending: The call it is about to make there.
        report: The operation it has just ended there.
        number: Number of the pending call.
        wait: What it waits for, if it does.
        born: Whether it has been held since its birth.
        retires: Whether it stands there already, and its last operation has yet to end.
        idle: Whether it stands where its actor would end, to be reused.
        ended: Whether it has ended.
        events: Wait statuses that came while somebody else was waited for.
        looks: How often it has looked at a clock, or whether it need not wait.
        redirected: Signals of its process's that it is to get in person.
    """

    __slots__ = (
        "actor",
        "born",
        "ended",
        "events",
        "idle",
        "index",
        "lane",
        "looks",
        "number",
        "pending",
        "point",
        "process",
        "redirected",
        "report",
        "retires",
        "tid",
        "wait",
    )

    def __init__(self, actor: Actor, process: Process, index: int, tid: int) -> None:
        self.actor = actor
        self.process = process
        self.index = index
        self.tid = tid
        self.lane = lane_of(actor.name, index)
        self.point: SchedulingPoint | None = None
        self.pending: Pending | None = None
        self.report: Report | None = None
        self.number = 0
        self.wait: Wait | None = None
        self.born = False
        self.retires = False
        self.idle = False
        self.ended = False
        self.events: list[int] = []
        self.looks = Patience()
        self.redirected: set[int] = set()

    @property
    def name(self) -> str:
        """What messages call it."""
        return self.lane

    @property
    def is_first(self) -> bool:
        """Whether it is the first thread of its process."""
        return self.tid == self.process.pid

    def choice(self) -> SchedulingPoint | None:
        """Return the scheduling point that it could go on from, if it can go on."""
        if self.ended:
            return None
        if self.point is not None:
            return self.point
        if self.born:
            return SchedulingPoint(self.lane, Kind.START, "start")
        if self.wait is not None and self.wait.is_over():
            return SchedulingPoint(self.lane, Kind.WAKE, self.wait.call)
        return None

    def end(self) -> None:
        """Take note that it does nothing any more."""
        self.ended = True
        self.leave_point()
        if self.wait is not None:
            self.wait.leave()
            self.wait = None

    def has_looked(self) -> None:
        """Take note that it has come to something else than another look."""
        self.looks = Patience()
        if self.process.asks:
            self.process.ask(wanted=False)

    def retire(self) -> None:
        """Take note that it stands where its actor would end."""
        self.leave_point()
        self.retires = False
        self.idle = True
        self.point = SchedulingPoint(self.lane, Kind.EXIT, "exit_group")

    def leave_point(self) -> None:
        """Forget where it stood."""
        self.point = self.pending = self.report = None


class Actor:
    """One actor, from its fork to its end.

    Attributes:
        program: What it runs.
        name: Its name.
        clock: The clocks that it sees.
        process: Its first process, whose end is the actor's.
        tasks: Its tasks, in the order of their births, ended ones included.
        operation: Index of the operation that it is in.
        steps: Steps it has taken.
        first_step: Index of the first step of its operation.
        faults: Faults injected into its operation.
        has_written: Whether its last step may have changed the box.
        crashed: Whether racecheck has killed it as an injected crash.
        killed: Whether racecheck has killed it, for whatever reason.
        end: How it ended, once it has.
    """

    def __init__(
        self,
        program: Program,
        process: Process,
        seed: int,
        clock: HostClock,
        *,
        reused: bool,
    ) -> None:
        """Take note of an actor that does not run yet.

        Args:
            program: What it runs.
            process: Its process.
            seed: Seed of the execution.
            clock: The clocks that it sees.
            reused: Whether its process is to wait for the next execution at its end.
        """
        self.program = program
        self.name = program.name
        self.clock = clock
        self.process = process
        process.shown = program.pid
        self.tasks = [Task(self, process, 0, process.pid)]
        self.operation = 0
        self.steps = 0
        self.first_step: int | None = None
        self.faults = 0
        self.crashed = False
        self.killed = False
        self.has_written = False
        self.end: ActorEnd | None = None
        self._orders = inside.orders(seed, reused=reused)
        self._stream = f"{seed}/{program.name}"
        self._random = 0
        self._shown = program.pid

    def begin(self) -> int:
        """Return what its process is told as its program begins."""
        # What it did before, for being a fork, is no part of the program.
        self._random = 0
        return self._orders

    def random(self, length: int) -> bytes:
        """Return the next bytes that `getrandom` gives it: its own, and repeatable."""
        self._random += 1
        text = f"{self._stream}/{self._random}"
        return hashlib.shake_256(text.encode()).digest(length)

    def next_id(self) -> int:
        """Return the id that its next process or thread is shown."""
        self._shown += _CHILDREN_APART
        return self._shown

    def others(self, task: Task) -> list[Task]:
        """Return the other threads of a task's process that have not ended."""
        return [
            other
            for other in self.tasks
            if other.process is task.process and other is not task and not other.ended
        ]

    def processes(self) -> list[Process]:
        """Return its processes that have not ended."""
        if len(self.tasks) == 1:
            return [] if self.process.ended else [self.process]
        found = dict.fromkeys(task.process for task in self.tasks)
        return [process for process in found if not process.ended]

    def kill(self) -> None:
        """Send SIGKILL to all its processes; calls not yet made take no effect."""
        self.killed = True
        for process in self.processes():
            with contextlib.suppress(ProcessLookupError):
                os.kill(process.pid, signal.SIGKILL)

    def release(self) -> None:
        """Give back what the tracer holds of it."""
        for task in self.tasks:
            task.process.forget_alarms()
            if not task.idle:
                task.process.release()
            task.leave_point()
            task.wait = None
