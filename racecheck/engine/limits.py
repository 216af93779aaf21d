"""How much the actors of one execution may take of the machine, beside its time.

A program that writes, forks or allocates without end would otherwise fill a file
system, often one in memory, the process table, or the memory, long before it has taken
as many steps as it may.
"""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING, Final

from racecheck.kernel.call import transfer
from racecheck.model import Kind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from racecheck.engine.task import Task
    from racecheck.engine.watchdog import Watchdog
    from racecheck.kernel.call import Call
    from racecheck.kernel.rows import Row

MOST_WRITTEN: Final = 10**9
"""Bytes that all actors of one execution may write into the sandbox."""

MOST_PRINTED: Final = 64 * 10**6
"""Bytes that one actor may print."""

MOST_TASKS: Final = 500
"""Processes and threads that one actor may have at a time."""

MOST_MEMORY: Final = min(
    4 << 30, os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2
)
"""Bytes in memory that one process of an actor may have."""

# Modes of fallocate(2) that take no room: punching holes, and moving what is there.
_TAKES_NO_ROOM: Final = 0x02 | 0x08 | 0x20


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

    def output(self, task: Task, row: Row, raw: Sequence[int]) -> None:
        """Look at an actor that is about to write to something outside the sandbox.

        A file that it has open for writing there can only be its output.
        """
        place = row.index("outfd" if row.kind is Kind.COPY else "fd")
        if place is None:
            return
        descriptor = raw[place] & 0xFFFFFFFF
        try:
            status = os.stat(f"/proc/{task.process.proc}/fd/{descriptor}")
        except OSError:
            return
        if stat.S_ISREG(status.st_mode) and status.st_size > MOST_PRINTED:
            self._watchdog.break_off(
                f"{task.name} prints more than {MOST_PRINTED:,} bytes"
            )
