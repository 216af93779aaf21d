"""Groups of processes: the kernel's ids, and those that programs are shown.

An actor is shown as a shell starts a job: its first process leads the group that it was
born in. To the kernel that group is the one of all that the worker has started.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from racecheck.engine.task import Actor, Process
    from racecheck.engine.tries import Ids


def members(actor: Actor, group: int) -> list[Process]:
    """Return the processes of an actor that are in a group, by the kernel's id."""
    return [
        process for process in actor.processes() if os.getpgid(process.pid) == group
    ]


def real_group(actor: Actor, ids: Ids, shown: int) -> int:
    """Return the kernel's id of a group."""
    real = ids.real(shown)
    if shown == actor.program.pid and not members(actor, real):
        for process in actor.processes():
            group = os.getpgid(process.pid)
            if ids.shown(group) == group:
                return group
    return real


def shown_group(actor: Actor, ids: Ids, real: int) -> int:
    """Return the id of a group that programs are shown."""
    shown = ids.shown(real)
    # One that nobody here leads is the one that the actor was born in.
    return actor.program.pid if shown == real else shown
