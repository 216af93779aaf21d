"""Processes that actors are forked from: prepared once, and then always alike.

A template is a process that has done all that an actor has to before its program. It is
traced and under the filter, and stands at the entry of a fork. An actor is made by
letting that call happen: the child is traced from its birth, under the filter, with the
clock functions replaced. The template itself is put back before it has left the call,
so that it runs no instruction between two actors, and they start from equal memory.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
from typing import TYPE_CHECKING, Final

from racecheck.engine.clock import Clock
from racecheck.errors import EngineError
from racecheck.kernel import ptrace
from racecheck.kernel.memory import Memory
from racecheck.kernel.rows import Service

if TYPE_CHECKING:
    from pathlib import Path

    from racecheck.engine.zygote import Zygote
    from racecheck.kernel.registers import Registers
    from racecheck.kernel.table import Table
    from racecheck.kernel.vdso import VDSO

_RESTART: Final = 513
"""What a call gives that a signal has kept from happening: ERESTARTNOINTR."""


class Streams:
    """The standard streams of the processes of one program.

    They share open files with each other and with the worker, which makes those new for
    each actor.
    """

    def __init__(self, output: Path) -> None:
        """Open them.

        Args:
            output: File for standard output and error.
        """
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND
        self.input = os.open(os.devnull, os.O_RDONLY)
        self.output = os.open(output, flags, 0o600)
        self._flags = {
            each: fcntl.fcntl(each, fcntl.F_GETFL) for each in (self.input, self.output)
        }

    def renew(self) -> None:
        """Make them as they were when they were opened, whatever an actor has done."""
        os.ftruncate(self.output, 0)
        os.lseek(self.output, 0, os.SEEK_SET)
        for each, flags in self._flags.items():
            fcntl.fcntl(each, fcntl.F_SETFL, flags)
            fcntl.flock(each, fcntl.LOCK_UN)

    def close(self) -> None:
        """Close the worker's own."""
        os.close(self.input)
        os.close(self.output)


class Template:
    """The process that the actors of one program are forked from."""

    def __init__(
        self,
        zygote: Zygote,
        index: int,
        *,
        registers: Registers,
        table: Table,
        vdso: VDSO | None,
    ) -> None:
        """Have it forked, and wait until it stands where actors begin.

        Args:
            zygote: What it is forked from.
            index: Place of its program.
            registers: How calls are changed on this processor.
            table: The call table of this processor.
            vdso: Where the clock functions are, or None if they cannot be replaced.

        Raises:
            EngineError: It ended before.
        """
        self._registers = registers
        self.pid = zygote.fork(index)
        ptrace.seize(self.pid)
        zygote.let_go()
        self._reach(ptrace.EVENT_SECCOMP)
        if vdso is not None:
            # It stands at a call, and in none of the functions: before that it ran, or
            # was about to wait to be let go, and may have been asking for the time.
            memory = Memory(self.pid)
            vdso.patch(memory)
            clock = Clock()
            vdso.set_clock(memory, clock.realtime_ns, clock.monotonic_ns)
            memory.close()
        while True:
            _, self._number, self._raw = ptrace.entry(self.pid)
            silent = table.services.get(self._number)
            if silent is not None and silent.service is Service.SPAWN:
                break
            # The last it does for itself, such as what was registered for forks.
            ptrace.resume(self.pid)
            self._reach(ptrace.EVENT_SECCOMP)

    def fork(self) -> int:
        """Make an actor's process; return its id. It stands at its birth, traced.

        Raises:
            OSError: The kernel refuses to fork.
        """
        child, result = 0, -_RESTART
        while result == -_RESTART:
            child, result = self._let_happen()
        if result < 0:
            raise OSError(-result, os.strerror(-result))
        os.waitpid(child, ptrace.WALL)
        return child

    def _let_happen(self) -> tuple[int, int]:
        """Make the call and come back to its entry; return the child and the result."""
        child = 0
        ptrace.resume_to_exit(self.pid)
        if self._reach(ptrace.EVENT_FORK):
            child = ptrace.event_message(self.pid)
            ptrace.resume_to_exit(self.pid)
            self._reach()
        result = ptrace.result(self.pid)
        self._registers.restart(self.pid, self._number, dict(enumerate(self._raw)))
        ptrace.resume(self.pid)
        self._reach(ptrace.EVENT_SECCOMP)
        return child, result

    def end(self) -> None:
        """End the process."""
        with contextlib.suppress(ProcessLookupError, ChildProcessError):
            os.kill(self.pid, signal.SIGKILL)
            while os.WIFSTOPPED(os.waitpid(self.pid, ptrace.WALL)[1]):
                pass

    def _reach(self, event: int = 0) -> bool:
        """Wait for an event, or for the exit of a call; say whether it is the event.

        Signals that others send it have no effect.
        """
        while True:
            _, status = os.waitpid(self.pid, ptrace.WALL)
            if not os.WIFSTOPPED(status):
                raise EngineError("a process that actors are forked from has died")
            if event and status >> 16 == event:
                return True
            if os.WSTOPSIG(status) == ptrace.SYSCALL_STOP:
                return False
            if event == ptrace.EVENT_SECCOMP:
                ptrace.resume(self.pid)
            else:
                ptrace.resume_to_exit(self.pid)
