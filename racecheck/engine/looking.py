"""Footprints of steps, looked at before a call and known after it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from racecheck.engine.clock import EPOCH_NS
from racecheck.footprint import Scene, Stamps, ending, footprint, look, merge
from racecheck.model import EMPTY, FaultKind, Kind

if TYPE_CHECKING:
    from racecheck.engine.pending import Pending
    from racecheck.engine.task import Actor, Process, Task
    from racecheck.engine.times import FileTimes
    from racecheck.footprint import Names
    from racecheck.model import Fault, Footprint


class Look:
    """What the footprint of one step depends on, as it is just before the step."""

    __slots__ = (
        "_actor",
        "_before",
        "_endings",
        "_scene",
        "_times",
        "_with_entries",
    )

    def __init__(
        self,
        task: Task,
        pending: Pending,
        names: Names,
        times: FileTimes,
        *,
        with_entries: bool,
    ) -> None:
        self._scene = Scene(
            pending.call,
            task.process.proc,
            pending.walks,
            pending.files,
            task.process.descriptors.table(),
            names,
        )
        self._before = look(self._scene)
        # Any call can be a process's last: it exits, is torn, or dies of a signal.
        self._actor = task.actor
        self._endings = _endings(task.actor)
        self._times = times
        self._with_entries = with_entries
        times.stamped.clear()

    def footprint(self, result: int, fault: Fault | None) -> Footprint:
        """Return the footprint of the step, once it has been taken."""
        if fault is not None and fault.kind is FaultKind.ERRNO:
            if self._scene.call.row.kind is not Kind.CLOSE:
                # The call was not made, whatever the box is like.
                return EMPTY
            result = 0
        now = self._times.now
        stamps = Stamps(self._times.stamped, now, moved=now != EPOCH_NS)
        done = footprint(
            self._scene, self._before, result, stamps, with_entries=self._with_entries
        )
        # Processes can share their descriptors, which then stay open.
        kept = {process.descriptors for process in self._actor.processes()}
        gone = [
            end
            for process, end in self._endings
            if end != EMPTY and process.ended and process.descriptors not in kept
        ]
        return merge(done, *gone) if gone else done


def footprint_of_end(actor: Actor) -> Footprint:
    """Return the footprint that killing an actor will have."""
    return merge(*(end for _, end in _endings(actor)))


def _endings(actor: Actor) -> list[tuple[Process, Footprint]]:
    return [
        (process, ending(process.proc, process.descriptors.table()))
        for process in actor.processes()
    ]
