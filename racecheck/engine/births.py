"""New tasks: held at birth, and taken over once their parents tell of them."""

from __future__ import annotations

import contextlib
import os
import signal
from typing import TYPE_CHECKING, Final

from racecheck.engine.task import Process, Task
from racecheck.engine.waits import VforkWait
from racecheck.kernel import ptrace

if TYPE_CHECKING:
    from racecheck.engine.control import Control
    from racecheck.engine.machine import Machine
    from racecheck.engine.tries import Ids

CLONE_VM: Final = 0x100
CLONE_VFORK: Final = 0x4000
CLONE_UNTRACED: Final = 0x800000
CLONE_NAMESPACES: Final = 0x7E020000
"""Flags of clone(2) that begin namespaces: of mounts, control groups, host names, IPC,
users, process ids and the network."""

_CLONE_FILES: Final = 0x400
_CLONE_THREAD: Final = 0x10000
EVENTS: Final = (ptrace.EVENT_FORK, ptrace.EVENT_VFORK, ptrace.EVENT_CLONE)


class Births:
    """Takes over the threads and processes that the tasks of one execution start.

    The kernel may report a child before its parent has stopped to tell whose it is.

    Attributes:
        flags: Flags of the clone call that a task is in, by its real id.
    """

    def __init__(self, control: Control, machine: Machine, ids: Ids) -> None:
        """Serve one execution.

        Args:
            control: Lets tasks run, and waits for them.
            machine: What executions share.
            ids: Ids that programs are shown.
        """
        self.flags: dict[int, int] = {}
        self._control = control
        self._machine = machine
        self._ids = ids
        self._early: dict[int, int] = {}

    def hold(self, tid: int, status: int) -> None:
        """Keep a task that nobody has told of yet where it stands."""
        self._early[tid] = status

    def take_over(self, task: Task, event: int) -> None:
        """Take over a new task, and give its parent the id that programs are shown.

        Args:
            task: The parent, at the stop that tells of its child. If it lends the child
                its memory, it waits afterwards.
            event: The kind of that stop, one of `EVENTS`.
        """
        tid = ptrace.event_message(task.tid)
        if tid not in self._early:
            os.waitpid(tid, ptrace.WALL)
        self._early.pop(tid, None)
        flags = self.flags.pop(task.tid, 0)
        actor, process = task.actor, task.process
        shown = actor.next_id()
        if flags & _CLONE_THREAD:
            child = Task(actor, process, len(actor.tasks), tid)
        else:
            fork = Process(tid, shown, process)
            fork.vdso, fork.clock = process.vdso, process.clock
            fork.asks = process.asks
            if flags & _CLONE_FILES:
                fork.descriptors = process.descriptors
            else:
                fork.descriptors = process.descriptors.copy()
            child = Task(actor, fork, len(actor.tasks), tid)
        child.born = True
        actor.tasks.append(child)
        self._control.tasks[tid] = child
        self._ids.add(tid, shown)
        if event == ptrace.EVENT_VFORK or flags & CLONE_VFORK:
            ptrace.resume(task.tid)
            child.process.borrows = True
            task.wait = VforkWait(task, child.process, self._collect)
            return
        self.let_return(task)

    def let_return(self, task: Task) -> None:
        """Bring a parent to the exit of the call, and let it see the id shown."""
        ptrace.resume_to_exit(task.tid)
        status = self._control.wait(task)
        while os.WIFSTOPPED(status) and os.WSTOPSIG(status) != ptrace.SYSCALL_STOP:
            ptrace.resume_to_exit(task.tid, 0 if status >> 16 else os.WSTOPSIG(status))
            status = self._control.wait(task)
        if os.WIFSTOPPED(status):
            child = ptrace.result(task.tid)
            if child > 0:
                self._machine.registers.finish(task.tid, self._ids.shown(child), {})

    def end_unborn(self) -> None:
        """End processes whose parents were killed before they told of them."""
        for tid in self._early:
            if self._machine.keeps(tid):
                continue
            with contextlib.suppress(ProcessLookupError, ChildProcessError):
                os.kill(tid, signal.SIGKILL)
                while os.WIFSTOPPED(os.waitpid(tid, ptrace.WALL)[1]):
                    pass
        self._early.clear()

    def _collect(self, task: Task) -> None:
        """Wait for an event of a task that is certain to come, and keep it."""
        status = self._control.wait(task)
        if os.WIFSTOPPED(status):
            task.events.append(status)
