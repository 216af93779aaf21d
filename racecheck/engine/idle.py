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

from racecheck.engine.masks import is_pending
from racecheck.engine.task import Process
from racecheck.kernel import ptrace

if TYPE_CHECKING:
    from racecheck.engine.task import Actor

_STANDARD = 3


class IdleActors:
    """The processes that wait, by the place of their program."""

    def __init__(self) -> None:
        self._processes: dict[int, Process] = {}
        self._folder = ""

    def take(self, index: int) -> Process | None:
        """Return a process that can run a program again, if there is one."""
        process = self._processes.pop(index, None)
        if process is None or stands_in(process.pid, self._folder):
            return process
        # Where it stood has been moved or removed after its end.
        _end(process)
        return None

    def keep(self, index: int, actor: Actor, folder: str) -> bool:
        """Keep an idle actor's process, unless something of the last use is left.

        Args:
            index: Place of its program.
            actor: The actor.
            folder: Where it started, and has to stand.
        """
        old = actor.process
        if not is_clean(actor) or index in self._processes:
            return False
        fresh = Process(old.pid)
        fresh.take_over(old)
        self._processes[index] = fresh
        self._folder = folder
        return True

    def has(self, pid: int) -> bool:
        """Say whether a process waits to be used again."""
        return any(process.pid == pid for process in self._processes.values())

    def end(self) -> None:
        """End all that wait."""
        for process in self._processes.values():
            _end(process)
        self._processes.clear()


def is_clean(actor: Actor) -> bool:
    """Say whether a process that stands idle is as it was at its start.

    Where it stands is looked at when it is taken: others can move that until then.
    """
    process = actor.process
    if any(task.process is not process or not task.ended for task in actor.tasks[1:]):
        # Threads that have ended leave nothing behind but what the subject keeps.
        return False
    if process.descriptors.numbers():
        return False
    if process.alarms and not _is_quiet(actor):
        return False
    try:
        return _open_files(process.pid) == _STANDARD
    except OSError:
        return False


def _is_quiet(actor: Actor) -> bool:
    """Say whether no alarm is set, and none has gone off without being noticed."""
    alarms = actor.process.alarms.values()
    return all(alarm.at_ns is None for alarm in alarms) and not is_pending(
        actor.tasks[0], 0
    )


def _open_files(pid: int) -> int:
    """Return how many descriptors a process has."""
    folder = f"/proc/{pid}/fd"
    # From Linux 6.2 on the folder has their number for its size: proc_pid_fd(5).
    return os.stat(folder).st_size or len(os.listdir(folder))


def stands_in(pid: int, folder: str) -> bool:
    """Say whether a folder is the working directory of a process."""
    try:
        return os.readlink(f"/proc/{pid}/cwd") == folder
    except OSError:
        return False


def _end(process: Process) -> None:
    process.release()
    with contextlib.suppress(ProcessLookupError, ChildProcessError):
        os.kill(process.pid, signal.SIGKILL)
        while os.WIFSTOPPED(os.waitpid(process.pid, ptrace.WALL)[1]):
            pass
