"""How much the actors of one execution may take of the machine, beside its time.

A program that writes, forks or allocates without end would otherwise fill a file
system, often one in memory, the process table, or the memory, long before it has taken
as many steps as it may.
"""

from __future__ import annotations

import contextlib
import os
import stat
from typing import TYPE_CHECKING, Final

from racecheck.engine.semaphores import FOLDER, semaphore
from racecheck.kernel.call import transfer
from racecheck.model import Kind

if TYPE_CHECKING:
    from collections.abc import Collection

    from racecheck.engine.task import Actor, Task
    from racecheck.engine.watchdog import Watchdog
    from racecheck.kernel.call import Call

MOST_WRITTEN: Final = 10**9
"""Bytes that all actors of one execution may write into the sandbox."""

MOST_PRINTED: Final = 64 * 10**6
"""Bytes that one actor may print, and write to files in memory and to semaphores."""

MOST_TASKS: Final = 500
"""Processes and threads that one actor may have at a time."""

MOST_MEMORY: Final = min(
    4 << 30, os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2
)
"""Bytes in memory that one process of an actor may have."""

# Modes of fallocate(2) that take no room: punching holes, and moving what is there.
_TAKES_NO_ROOM: Final = 0x02 | 0x08 | 0x20
_BLOCK: Final = 512
"""Bytes of a block as stat(2) counts them."""
_NO_OUTPUTS: Final = ("/memfd:", f"{FOLDER}/sem.")


class Room:
    """Counts what is written into the sandbox in one execution."""

    def __init__(self, watchdog: Watchdog) -> None:
        self._watchdog = watchdog
        self._written = 0

    def refuses(self, task: Task, call: Call) -> bool:
        """Say whether a call must not be made, for which there is no room left.

        The execution is broken off then.
        """
        # How much is copied depends on how much there is, and is known afterwards.
        wanted = _allocated(call)
        if call.row.kind is Kind.WRITE:
            wanted = transfer(call)
        if self._written + wanted <= MOST_WRITTEN:
            return False
        self._watchdog.reason = f"{task.name} writes more than {MOST_WRITTEN:,} bytes"
        return True

    def take(self, call: Call, result: int) -> None:
        """Take note of a call that has succeeded, with its result."""
        if call.row.kind in (Kind.WRITE, Kind.COPY):
            self._written += result
        else:
            self._written += _allocated(call)


def _allocated(call: Call) -> int:
    if call.row.kind is not Kind.ALLOCATE or call.number("flags") & _TAKES_NO_ROOM:
        return 0
    return max(0, call.number("length"))


class Limits:
    """Ends actors that take too much in calls that are no steps."""

    def __init__(self, watchdog: Watchdog) -> None:
        self._watchdog = watchdog
        # For each actor, the files outside the sandbox that it fills, by device and
        # inode, and the most bytes that they can have.
        self._filled: dict[str, set[tuple[int, int]]] = {}
        self._asked: dict[str, int] = {}

    def is_full(self, task: Task) -> bool:
        """Say whether an actor that starts a process or a thread has too many.

        It has been killed then.
        """
        tasks = task.actor.tasks
        if len(tasks) < MOST_TASKS:
            return False
        if sum(not each.ended for each in tasks) < MOST_TASKS:
            return False
        self._watchdog.break_off(
            f"{task.name} starts more than {MOST_TASKS:,} processes and threads"
        )
        return True

    def fill(self, task: Task, call: Call) -> None:
        """Look at an actor that is about to fill a file outside the sandbox.

        One that it has open for writing there can only be its output, a file in memory
        that has no name, or a named semaphore. If all of them would get too large, it
        has been killed.
        """
        place = "outfd" if call.row.kind is Kind.COPY else "fd"
        if call.row.index(place) is None:
            return
        path = f"/proc/{task.process.proc}/fd/{call.number(place)}"
        try:
            status = os.stat(path)
            name = os.readlink(path)
        except OSError:
            return
        if not stat.S_ISREG(status.st_mode):
            return
        actor = task.actor
        files = self._filled.setdefault(actor.name, set())
        files.add((status.st_dev, status.st_ino))
        wanted = transfer(call) + _allocated(call)
        self._asked[actor.name] = self._asked.get(actor.name, 0) + wanted
        if self._asked[actor.name] <= MOST_PRINTED:
            return
        if call.row.kind is Kind.COPY:
            # How much there is to copy is not known.
            wanted = 0
        self._asked[actor.name] = taken = _room(actor, files) + wanted
        if taken > MOST_PRINTED:
            text, where = f"{MOST_PRINTED:,} bytes", ""
            does = "prints"
            if name.startswith(_NO_OUTPUTS):
                does, where = "writes", " outside the sandbox"
            self._watchdog.break_off(f"{task.name} {does} more than {text}{where}")


def _room(actor: Actor, files: Collection[tuple[int, int]]) -> int:
    """Return how much room some files take that an actor has, or can have, open."""
    paths = [entry.path for entry in _entries(FOLDER) if semaphore(entry.path)]
    for process in actor.processes():
        paths += [entry.path for entry in _entries(f"/proc/{process.proc}/fd")]
    found = {}
    for path in paths:
        with contextlib.suppress(OSError):
            status = os.stat(path)
            if (file := (status.st_dev, status.st_ino)) in files:
                found[file] = status.st_blocks * _BLOCK
    return sum(found.values())


def _entries(folder: str) -> list[os.DirEntry[str]]:
    try:
        return list(os.scandir(folder))
    except OSError:
        return []
