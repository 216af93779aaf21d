"""Letting tasks run, one at a time: the only place that gives up control.

`Control.run` lets one stopped task go on and comes back when it stands again: at a
scheduling point, waiting, or at its end. What tasks start on their way is held at
birth, and what they would wait for is taken over at the entry of the call, so that
nobody else runs meanwhile.
"""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING, Final

from racecheck.engine.arrivals import Arrivals
from racecheck.engine.births import EVENTS, Births
from racecheck.engine.changes import Changes
from racecheck.engine.futexes import Futexes
from racecheck.engine.making import Making
from racecheck.engine.masks import is_signalled
from racecheck.engine.sending import Sending
from racecheck.engine.services import Services
from racecheck.engine.showing import show_clock
from racecheck.engine.siginfo import show_sender
from racecheck.engine.signals import Signals
from racecheck.engine.states import is_running, title
from racecheck.engine.transfers import FileWait
from racecheck.engine.tries import Ids
from racecheck.engine.waits import (
    Interrupted,
    KernelWait,
    VforkWait,
)
from racecheck.kernel import ptrace

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from racecheck.engine.clock import Clock
    from racecheck.engine.machine import Machine
    from racecheck.engine.task import Actor, Process, Task
    from racecheck.engine.waits import Wait
    from racecheck.footprint import Names

_AT_CALL: Final = (ptrace.AT_ENTRY, ptrace.AT_EXIT)


class Control:
    """Runs the tasks of one execution.

    Attributes:
        tasks: All tasks so far, by their real id.
        happened: Counts the times that a task ran; attempts are repeated after that.
        changes: What has happened after which a pending call can mean something else.
        died: Counts the processes that have ended, and lost their locks.
        births: Takes over what tasks start.
        signals: Moves the clock and sends signals.
        resolve: Finds out what a call would mean if it were made at once.
        refuse: Has a call fail that would change something outside the sandbox.
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
        self.changes = Changes()
        self.died = 0
        self._machine = machine
        self._registers = machine.registers
        self._clock = clock
        self._note = note
        self._tell_ended = ended
        self._have_slept = False
        self._ids = Ids()
        self.births = Births(self, machine, self._ids)
        self._futexes = Futexes(machine.registers, note)
        self.signals = Signals(self, machine, clock, actors, self._ids)
        making = Making(machine.registers, self.wait)
        sending = Sending(
            machine,
            actors,
            self._ids,
            signals=self.signals,
            making=making,
            note=note,
        )
        services = Services(
            machine.registers,
            self._ids,
            note,
            sending=sending,
            alarms=self.signals.alarms,
            making=making,
        )
        self._arrivals = Arrivals(
            self,
            machine,
            names,
            clock,
            futexes=self._futexes,
            services=services,
            ids=self._ids,
            note=note,
        )
        self.resolve = self._arrivals.resolve
        self.refuse = self._arrivals.refuse

    def part(self) -> None:
        """Forget what refers to this, once the execution has come to its end."""
        self.tasks.clear()
        del self._arrivals, self.births, self.signals, self.resolve, self.refuse

    # --- giving up control ------------------------------------------------------------

    def start(self, actor: Actor, seed: int, *, used: bool) -> None:
        """Take over an actor at its birth, and let it come to a stand.

        Args:
            actor: The actor.
            seed: Seed of the execution.
            used: Whether its process was used before, and stands where that has ended.
        """
        task = actor.tasks[0]
        process = actor.process
        self.tasks[task.tid] = task
        self._ids.add(task.tid, process.shown)
        self.happened += 1
        if used:
            # It waits for the seed of this execution.
            self._registers.skip(task.tid, seed)
        else:
            process.vdso = self._machine.vdso
        self._resume(task)
        self._follow(task)

    def run(self, task: Task) -> None:
        """Let a task go on from its stop, and wait until it stands again."""
        self.happened += 1
        if task.retires:
            task.retire()
            return
        task.leave_point()
        task.born = False
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
            self.births.let_return(task)
            self._resume(task)
            self._follow(task)
            return
        wait.finish(task, self._registers)
        if isinstance(wait, FileWait) and wait.goes_on():
            self.happened += 1
            return
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
                if status in _AT_CALL:
                    return status
                if not os.WIFSTOPPED(status):
                    self._died(task, status)
                elif ptrace.is_signal(status):
                    show_sender(task, self._ids)
                return status
            if tid == task.process.pid and status >> 16 == ptrace.EVENT_EXEC:
                # A thread that executes a program takes over its process's id.
                self._become_first(task)
                return status
            self._store(tid, status)
            if task.ended:
                return status
            if task.events:
                # It came while the end of somebody else was waited for in there.
                return task.events.pop(0)

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
                if task.events:
                    task.events.clear()
                    ptrace.resume(task.tid)

    def wait_for_death(self, process: Process) -> None:
        """Wait until a process that was killed is gone.

        Seen at once, so that it does not depend on luck who learns of it when.
        """
        while not process.ended:
            tid, status = os.waitpid(-1, ptrace.WALL)
            self._store(tid, status)

    def settle(self) -> None:
        """Bring tasks that sleep in the kernel on, if they can, after a step."""
        if self._futexes.words:
            self._futexes.look_again(only_cleared=True)
        # Most executions have none, and come here after each step.
        if self._have_slept:
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
        if task.process.clock < self._clock.monotonic_ns:
            show_clock(self._clock, task)
        ptrace.resume(task.tid, number)

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
        if is_signalled(task):
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
                self.births.hold(tid, status)
        elif not os.WIFSTOPPED(status):
            self._died(task, status)
        else:
            if ptrace.is_signal(status):
                show_sender(task, self._ids)
            task.events.append(status)

    # --- events -----------------------------------------------------------------------

    def _follow(self, task: Task) -> None:
        """Wait until a running task stands: at a point, waiting, or at its end."""
        watchdog = self._machine.watchdog
        watchdog.stretch += 1
        watchdog.stepping = True
        self._follow_events(task)
        watchdog.stepping = False
        if task.ended and task.actor.killed:
            # Nobody may ask the others of it for anything while they die.
            self.wait_for_end(task.actor)
        if task.wait is not None:
            self._begin_wait(task, task.wait)
        elif task.looks.looks or task.process.asks:
            task.has_looked()

    def _begin_wait(self, task: Task, wait: Wait) -> None:
        if wait.deadline_ns is not None:
            wait.expired = wait.deadline_ns <= self._clock.monotonic_ns
        if not wait.looks:
            task.has_looked()

    def _follow_events(self, task: Task) -> None:
        while not task.ended:
            status = self.wait(task)
            if status not in _AT_CALL and not os.WIFSTOPPED(status):
                return
            if self._machine.watchdog.reason:
                task.actor.kill()
                continue
            event = status >> 16
            number = os.WSTOPSIG(status)
            if event == ptrace.EVENT_SECCOMP:
                # The call may have been one that ends the task that makes it.
                if self._arrivals.arrive(task) or task.ended:
                    return
                number = 0
            elif event == ptrace.EVENT_EXEC:
                task.process.executed()
                number = 0
            elif event in EVENTS:
                self.births.take_over(task, event)
                if task.wait is not None:
                    return
                number = 0
            elif event == ptrace.EVENT_STOP:
                if self._stopped(task, number):
                    return
                number = 0
            elif event or number == ptrace.SYSCALL_STOP:
                number = 0
            self._resume(task, number)

    def _stopped(self, task: Task, number: int) -> bool:
        """Deal with a stop that is no call's; say whether the task is to stand."""
        watchdog = self._machine.watchdog
        if number != signal.SIGTRAP:
            self._note(f"{task.name} was stopped by signal {number}", refused=True)
            task.actor.kill()
        elif watchdog.interrupted == task.tid:
            watchdog.interrupted = 0
            if not watchdog.burning:
                task.wait = KernelWait("sleep")
                self._have_slept = True
                return True
            # It may wait for a clock to move. If so, that is to be seen.
            task.process.ask(wanted=True)
        return False

    # --- ends -------------------------------------------------------------------------

    def end_first(self, task: Task) -> None:
        """Let the first thread of a process end before the others.

        The kernel reports its end with that of the last one.
        """
        ptrace.resume(task.tid)
        while is_running(task):
            os.sched_yield()
        task.end()
        self._move_on(task)

    def _move_on(self, task: Task) -> None:
        """Look at a process through another of its threads from now on."""
        others = task.actor.others(task)
        if others and task.process.proc == task.tid:
            task.process.proc = others[0].tid
            # Where pending calls lead was found out through the one that is gone.
            self.changes.add(None)

    def end_left(self, actor: Actor) -> None:
        """End what an actor has left running at its end, and name it."""
        left = [each for each in actor.processes() if each is not actor.process]
        if left and not actor.killed:
            names = ", ".join(title(actor, process) for process in left)
            self._note(f"{actor.name} ended and left running: {names}")
        if left:
            actor.kill()
        # Gone by the time that anybody else goes on, with the locks that they held.
        for process in left:
            self.wait_for_death(process)

    def _become_first(self, task: Task) -> None:
        for other in task.actor.others(task):
            other.end()
        self.tasks.pop(task.tid, None)
        task.tid = task.process.proc = task.process.pid
        self.tasks[task.tid] = task

    def _died(self, task: Task, status: int) -> None:
        task.end()
        self._move_on(task)
        # Locks are let go by the time that a process's first thread is reported, and
        # not reliably before.
        if not task.is_first or task.process.ended:
            return
        process, actor = task.process, task.actor
        process.ended = True
        process.borrows = False
        self.died += 1
        process.release()
        for other in actor.others(task):
            other.end()
        parent = process.parent
        if not (parent is None or parent.ended or actor.killed):
            self.signals.child_died(parent)
        if process is actor.process:
            self.end_left(actor)
            if actor.end is None:
                self._tell_ended(actor, status)
