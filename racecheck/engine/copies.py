"""How much a call that copies from one file to another has before it.

What programs ask for is often a round number far beyond the end of the file.
"""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING, Final

from racecheck.footprint import fdinfo
from racecheck.kernel.call import transfer

if TYPE_CHECKING:
    from racecheck.engine.task import Task

_LEAST: Final = 2
"""Bytes of which half is one."""


def left_to_copy(task: Task) -> int:
    """Return how many bytes the pending copy of a task moves into a file of the box.

    Of what cannot be told, as from a pipe, it is taken to be two bytes, so that it can
    be cut after one; of what is no file of the box it is none.
    """
    pending = task.pending
    if pending is None or "outfd" not in pending.files:
        return 0
    call = pending.call
    wanted = transfer(call)
    number = call.number("infd")
    process = task.process.proc
    try:
        status = os.stat(f"/proc/{process}/fd/{number}")
        position, _ = fdinfo.state(process, number)
    except OSError:
        return 0
    # Files outside that are made as they are read are as long as nothing.
    made = not status.st_size and "infd" not in pending.files
    if made or not stat.S_ISREG(status.st_mode):
        return min(wanted, _LEAST)
    start = call.read.get("inoffset", position)
    return max(0, min(wanted, status.st_size - start))
