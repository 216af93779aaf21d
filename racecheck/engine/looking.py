"""Footprints of steps, looked at before a call and known after it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from racecheck.footprint import Scene, ending, footprint, look, merge
from racecheck.model import EMPTY, FaultKind

if TYPE_CHECKING:
    from racecheck.engine.pending import Pending
    from racecheck.engine.task import Actor, Process, Task
    from racecheck.footprint import Names
    from racecheck.model import Fault, Footprint


class Look:
    """What the footprint of one step depends on, as it is just before the step."""

    __slots__ = ("_before", "_endings", "_scene")

    def __init__(self, task: Task, pending: Pending, names: Names) -> None:
        self._scene = Scene(
            pending.call,
            task.process.pid,
            pending.walks,
            pending.files or {},
            task.process.descriptors.table(),
            names,
        )
        self._before = look(self._scene)
        # Any call can be a process's last: it exits, is torn, or dies of a signal.
        self._endings = _endings(task.actor)

    def footprint(self, result: int, fault: Fault | None) -> Footprint:
        """Return the footprint of the step, once it has been taken."""
        if fault is not None and fault.kind is FaultKind.ERRNO:
            # The call was not made, whatever the box is like.
            return EMPTY
        done = footprint(self._scene, self._before, result)
        gone = [end for process, end in self._endings if process.ended and end != EMPTY]
        return merge(done, *gone) if gone else done


def footprint_of_end(actor: Actor) -> Footprint:
    """Return the footprint that killing an actor will have."""
    return merge(*(end for _, end in _endings(actor)))


def _endings(actor: Actor) -> list[tuple[Process, Footprint]]:
    return [
        (process, ending(process.pid, process.descriptors.table()))
        for process in actor.processes()
    ]
