"""The passing of time, and signals: what ends waits from outside."""

from __future__ import annotations

import errno
import os
import signal
from typing import TYPE_CHECKING

from racecheck.engine.alarms import Alarms
from racecheck.engine.masks import takes
from racecheck.engine.transfers import FileWait
from racecheck.engine.waits import (
    ClockWait,
    Interrupted,
    KernelWait,
    LockWait,
    StallWait,
    VforkWait,
)
from racecheck.kernel import ptrace

if TYPE_CHECKING:
    from collections.abc import Sequence

    from racecheck.engine.alarms import Alarm
    from racecheck.engine.clock import Clock
    from racecheck.engine.control import Control
    from racecheck.engine.machine import Machine
    from racecheck.engine.task import Actor, Process, Task
    from racecheck.engine.tries import Ids


class Signals:
    """Moves the clock of one execution, and sends its signals.

    Attributes:
        alarms: The alarms that go off when the clock comes to their times.
    """

    def __init__(
        self,
        control: Control,
        machine: Machine,
        clock: Clock,
        actors: Sequence[Actor],
        ids: Ids,
    ) -> None:
        self._control = control
        self._registers = machine.registers
        self._table = machine.table
        self._clock = clock
        self._actors = actors
        self.alarms = Alarms(machine.registers, machine.table, ids)

    def next_deadline(self) -> int | None:
        """Return when the next wait or alarm ends by itself, or None."""
        times = [
            task.wait.deadline_ns
            for task in self._control.tasks.values()
            if task.wait is not None and task.wait.deadline_ns is not None
        ]
        times += [
            alarm.at_ns
            for actor in self._actors
            for process in actor.processes()
            for alarm in process.alarms.values()
            if alarm.at_ns is not None
        ]
        return min(times, default=None)

    def move_clock(self, monotonic_ns: int) -> None:
        """Let time pass; waits whose time has come are over, alarms go off."""
        self._clock.advance_to(monotonic_ns)
        self._control.happened += 1
        for task in self._control.tasks.values():
            wait = task.wait
            if wait is None or wait.deadline_ns is None:
                continue
            if wait.deadline_ns <= monotonic_ns:
                wait.expired = True
                if isinstance(wait, StallWait):
                    task.point, task.wait = wait.point, None
        for actor in self._actors:
            for process in actor.processes():
                for alarm in list(process.alarms.values()):
                    if alarm.at_ns is not None and alarm.at_ns <= monotonic_ns:
                        self._go_off(process, alarm)

    def _go_off(self, process: Process, alarm: Alarm) -> None:
        self.alarms.go_off(process, alarm)
        if alarm.number and alarm.descriptor < 0:
            tid = alarm.tid or process.pid
            self._interrupt(self._control.tasks.get(tid), alarm.number)

    def send(self, process: Process, number: int) -> None:
        """Send a signal to a process, every task of which stands."""
        os.kill(process.pid, number)
        if number == signal.SIGKILL:
            self._control.wait_for_death(process)
        else:
            self.interrupt(process, number)

    def interrupt(self, process: Process, number: int) -> None:
        """End the wait of a process's first thread, if a signal would do that."""
        self._interrupt(self._control.tasks.get(process.pid), number)

    def _interrupt(self, task: Task | None, number: int) -> None:
        if task is None or task.wait is None or isinstance(task.wait, VforkWait):
            return
        if not takes(task, number):
            return
        wait = task.wait
        if isinstance(wait, StallWait):
            # It is held up as a task is that gets no processor: its handlers are, too.
            return
        if isinstance(wait, LockWait):
            task.leave_point()
        wait.leave()
        if isinstance(wait, FileWait) and wait.done:
            self._registers.skip(task.tid, wait.done)
        elif wait.restarts:
            self._give_way(task)
        elif isinstance(wait, ClockWait):
            # No call that waits, as far as the program knows.
            wait.finish(task, self._registers)
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
        status = self._control.wait(task)
        while os.WIFSTOPPED(status) and os.WSTOPSIG(status) != ptrace.SYSCALL_STOP:
            ptrace.resume_to_exit(task.tid)
            status = self._control.wait(task)
        if os.WIFSTOPPED(status):
            self._registers.interrupt(task.tid, task.number)
            # Without this the kernel would hand the code for "restart" to the program.
            ptrace.interrupt(task.tid)
