"""Footprints of steps, looked at before a call and known after it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from racecheck.footprint import Scene, ending, footprint, look, merge
from racecheck.model import EMPTY, FaultKind

if TYPE_CHECKING:
    from racecheck.engine.pending import Pending
    from racecheck.engine.task import Task
    from racecheck.footprint import Names
    from racecheck.model import Fault, Footprint


class Look:
    """What the footprint of one step depends on, as it is just before the step."""

    __slots__ = ("_before", "_ending", "_scene")

    def __init__(self, task: Task, pending: Pending, names: Names) -> None:
        held = task.process.descriptors.table()
        self._scene = Scene(
            pending.call, task.process.pid, pending.walks, pending.files or {}, held, names
        )
        self._before = look(self._scene)
        # Any call can be an actor's last: it exits, is torn, or dies of a signal.
        self._ending = ending(task.process.pid, held)

    def footprint(self, result: int, fault: Fault | None, task: Task) -> Footprint:
        """Return the footprint of the step, once it has been taken."""
        if fault is not None and fault.kind is FaultKind.ERRNO:
            # The call was not made, whatever the box is like.
            return EMPTY
        done = footprint(self._scene, self._before, result)
        return done if task.actor.end is None else merge(done, self._ending)
