"""The passing of time, and signals: what ends waits from outside."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

from racecheck.engine.alarms import Alarms
from racecheck.engine.masks import takes
from racecheck.engine.waits import (
    Interrupted,
    LockWait,
    StallWait,
    SuspendWait,
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
            thread = self._control.tasks.get(alarm.tid) if alarm.tid else None
            self.sent(process, alarm.number, thread)

    def sent(self, process: Process, number: int, thread: Task | None = None) -> None:
        """See to it that a signal takes effect that has just been sent.

        Every task stands meanwhile.

        Args:
            process: Who gets it.
            number: Its number.
            thread: The thread that gets it, if it was sent to one.
        """
        if number == signal.SIGKILL:
            self._control.wait_for_death(process)
        else:
            self._interrupt(thread or self.receiver(process, number), number)

    def child_died(self, parent: Process) -> None:
        """Tell a process that the kernel has sent it SIGCHLD."""
        self._interrupt(self.receiver(parent, signal.SIGCHLD), signal.SIGCHLD)

    def receiver(self, process: Process, number: int) -> Task | None:
        """Return the thread that the kernel would have take a process's signal.

        Returns:
            The first one, or the next that does not block it; None if all do.
        """
        threads = self._threads(process)
        if len(threads) == 1:
            return threads[0]
        return next((each for each in threads if takes(each, number)), None)

    def _threads(self, process: Process) -> list[Task]:
        found = [
            task
            for task in self._control.tasks.values()
            if task.process is process and not task.ended
        ]
        found.sort(key=lambda task: (not task.is_first, task.index))
        return found

    def _interrupt(self, task: Task | None, number: int) -> None:
        if task is None or isinstance(task.wait, VforkWait) or not takes(task, number):
            return
        wait = task.wait
        if wait is None:
            if task.pending is not None:
                # It has not begun with its call: the handler comes first, or the end.
                self._give_way(task, again=True)
                task.leave_point()
                task.wait = Interrupted("signal")
            return
        if isinstance(wait, StallWait | SuspendWait):
            # Who is held up is so as a task is that gets no processor: its handlers
            # are, too. The other knows by itself what it waits for.
            return
        if isinstance(wait, LockWait):
            task.leave_point()
        wait.leave()
        if wait.restarts:
            self._give_way(task)
        else:
            wait.interrupt(task, self._registers)
        task.wait = Interrupted("signal")

    def _give_way(self, task: Task, *, again: bool = False) -> None:
        """Have a call end as the kernel ends one that a signal interrupts.

        Whether it is made again after the handler is then decided by how the handler
        was installed. The kernel only asks that of a call that it has made itself, so
        another one, which does nothing, is made in its place.

        Args:
            task: Who stands at the entry of the call.
            again: Whether it is made again in any case.
        """
        self._registers.replace(task.tid, self._table.number("getuid"))
        ptrace.resume_to_exit(task.tid)
        status = self._control.wait(task)
        while os.WIFSTOPPED(status) and os.WSTOPSIG(status) != ptrace.SYSCALL_STOP:
            ptrace.resume_to_exit(task.tid)
            status = self._control.wait(task)
        if os.WIFSTOPPED(status):
            self._registers.interrupt(task.tid, task.number, again=again)
            # Without this the kernel would hand the code for "restart" to the program.
            ptrace.interrupt(task.tid)
