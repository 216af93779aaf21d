"""Having a task make a call at once, with some arguments changed."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING

from racecheck.kernel import ptrace

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from racecheck.engine.task import Task
    from racecheck.kernel.registers import Registers


class Making:
    """Has the tasks of one execution make calls that do not wait."""

    def __init__(self, registers: Registers, wait: Callable[[Task], int]) -> None:
        """Serve one execution.

        Args:
            registers: How calls are changed.
            wait: Waits for a task and returns its status, as `waitpid` does.
        """
        self._registers = registers
        self._wait = wait

    def make(
        self,
        task: Task,
        raw: Sequence[int],
        changes: Mapping[int, int],
        *,
        number: int = -1,
        again: bool = False,
    ) -> int:
        """Let a task at an entry stop make its call; return what came of it.

        Args:
            task: The task. It is at the exit of the call after that, or has died.
            raw: The arguments of its call, which it sees unchanged.
            changes: Other ones to make the call with, by their index.
            number: Number of another call to make in its place.
            again: Whether to bring it back to the entry instead.
        """
        if changes:
            self._registers.edit(task.tid, changes)
        if number >= 0:
            self._registers.replace(task.tid, number)
        ptrace.resume_to_exit(task.tid)
        status = self._wait(task)
        while os.WIFSTOPPED(status) and os.WSTOPSIG(status) != ptrace.SYSCALL_STOP:
            ptrace.resume_to_exit(task.tid, 0 if status >> 16 else os.WSTOPSIG(status))
            status = self._wait(task)
        if not os.WIFSTOPPED(status):
            return -errno.EINTR
        result = ptrace.result(task.tid)
        restore = {index: raw[index] for index in changes}
        if again:
            self.go_back(task, restore | {0: raw[0]})
        elif restore:
            self._registers.finish(task.tid, result, restore)
        return result

    def go_back(self, task: Task, args: Mapping[int, int]) -> None:
        """Bring a task from the exit of its call back to the entry.

        Args:
            task: The task, which may die on its way.
            args: Arguments to make the call with, by their index; the first among them,
                whose register can have the result.
        """
        self._registers.restart(task.tid, task.number, args)
        ptrace.resume(task.tid)
        status = self._wait(task)
        while os.WIFSTOPPED(status) and status >> 16 != ptrace.EVENT_SECCOMP:
            ptrace.resume(task.tid, 0 if status >> 16 else os.WSTOPSIG(status))
            status = self._wait(task)
