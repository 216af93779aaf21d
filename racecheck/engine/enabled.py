"""Who can go on, and who waits for what."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import msgspec

from racecheck.engine.copies import left_to_copy
from racecheck.engine.waits import LockWait
from racecheck.model import Kind

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from racecheck.engine.allowed import AllowedFaults
    from racecheck.engine.control import Control
    from racecheck.engine.locks import Locks
    from racecheck.engine.machine import Machine
    from racecheck.engine.task import Actor, Task
    from racecheck.engine.waits import Wait
    from racecheck.model import Fault, SchedulingPoint


class Enabled:
    """Looks for the tasks of one execution that can go on.

    Attributes:
        stuck: Who sleeps in the kernel when nobody else can go on, or empty.
        waiting: Who was left waiting, and for what, when nobody could go on.
    """

    def __init__(
        self,
        machine: Machine,
        actors: Sequence[Actor],
        *,
        control: Control,
        locks: Locks,
        allowed: AllowedFaults | None,
    ) -> None:
        """Look at nobody yet.

        Args:
            machine: Says for how long to wait for what sleeps in the kernel.
            actors: All actors that have started; whoever starts more adds them.
            control: Knows who sleeps, and can have time pass.
            locks: Knows who holds what others wait for.
            allowed: Faults that may be chosen, if any.
        """
        self.stuck = ""
        self.waiting: tuple[str, ...] = ()
        self._machine = machine
        self._actors = actors
        self._control = control
        self._locks = locks
        self._allowed = allowed
        # By lane, as of the last look.
        self._tasks: dict[str, Task] = {}

    def points(self) -> list[SchedulingPoint]:
        """Return who can go on; time passes if that needs time.

        Returns:
            One for each task that can, in the order of the actors; none if nobody can,
            now or ever.
        """
        points = self._look()
        if points or next(self.left(), None) is None:
            return points
        self._control.look_harder()
        points = self._look()
        until = time.monotonic() + self._machine.max_sleep_s
        while not points:
            moment = self._control.signals.next_deadline()
            if moment is not None:
                self._control.signals.move_clock(moment)
            elif (
                self._control.sleepers()
                and time.monotonic() < until
                and not self._machine.ending
            ):
                # Something outside may wake them, such as a timer of the kernel's own.
                self._control.settle()
            else:
                self._give_up()
                return []
            points = self._look()
        return points

    def task(self, lane: str) -> Task | None:
        """Return the task of a lane if it could go on at the last look."""
        return self._tasks.get(lane)

    def left(self) -> Iterator[Task]:
        """Go through the tasks that have not ended."""
        for actor in self._actors:
            for task in actor.tasks:
                if not task.ended:
                    yield task

    def waits(self) -> dict[str, str]:
        """Return what each task that waits is waiting for."""
        return {
            task.lane: self._describe(task, task.wait)
            for task in self.left()
            if task.wait is not None
        }

    def use(self, fault: Fault, actor: str) -> None:
        """Take note that a fault was chosen, which may not be often."""
        if self._allowed is not None:
            self._allowed.use(fault, actor)

    def _look(self) -> list[SchedulingPoint]:
        self._tasks.clear()
        points = []
        for task in self.left():
            point = task.point or task.choice()
            if point is None:
                continue
            self._tasks[task.lane] = task
            if self._allowed is not None:
                if point.kind is Kind.COPY:
                    size = left_to_copy(task)
                    point = msgspec.structs.replace(point, size=size)
                faults = self._allowed.at(
                    task.actor.name, point, has_written=task.actor.has_written
                )
                point = msgspec.structs.replace(point, faults=faults)
            points.append(point)
        return points

    def _give_up(self) -> None:
        waits = self.waits()
        if self._control.sleepers():
            self.stuck = ", ".join(f"{lane} sleeps in the kernel" for lane in waits)
        else:
            self.waiting = tuple(f"{lane} in {call}" for lane, call in waits.items())

    def _describe(self, task: Task, wait: Wait) -> str:
        return self._locks.describe(task) if isinstance(wait, LockWait) else wait.call
