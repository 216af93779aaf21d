"""Actors that have run and wait to be used again.

Starting a process costs far more than the calls it makes. A function whose process is
as it was before can be called again in the same one; whether the subject keeps no state
in it is for the explorer to check.
"""

from __future__ import annotations

import contextlib
import os
import signal
from typing import TYPE_CHECKING

from racecheck.engine.task import Process
from racecheck.kernel import ptrace

if TYPE_CHECKING:
    from racecheck.engine.task import Actor

_STANDARD = 3


class IdleActors:
    """The processes that wait, by the place of their program."""

    def __init__(self) -> None:
        self._processes: dict[int, Process] = {}

    def take(self, index: int) -> Process | None:
        """Return a process that can run a program again, if there is one."""
        return self._processes.pop(index, None)

    def keep(self, index: int, actor: Actor, folder: str) -> bool:
        """Keep an idle actor's process, unless something of the last use is left.

        Args:
            index: Place of its program.
            actor: The actor.
            folder: Where it started, and has to stand.
        """
        old = actor.process
        if not is_clean(actor, folder) or index in self._processes:
            return False
        fresh = Process(old.pid)
        fresh.take_over(old)
        self._processes[index] = fresh
        return True

    def end(self) -> None:
        """End all that wait."""
        for process in self._processes.values():
            process.release()
            with contextlib.suppress(ProcessLookupError, ChildProcessError):
                os.kill(process.pid, signal.SIGKILL)
                while os.WIFSTOPPED(os.waitpid(process.pid, ptrace.WALL)[1]):
                    pass
        self._processes.clear()


def is_clean(actor: Actor, folder: str) -> bool:
    """Say whether a process that stands idle is as it was at its start."""
    process = actor.process
    if len(actor.tasks) > 1 or process.descriptors.numbers():
        return False
    if process.alarm_ns is not None:
        return False
    here = f"/proc/{process.pid}"
    try:
        return (
            os.readlink(f"{here}/cwd") == folder
            and len(os.listdir(f"{here}/fd")) == _STANDARD
        )
    except OSError:
        return False
