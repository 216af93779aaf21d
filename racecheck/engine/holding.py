"""Holding up tasks that look in vain, and letting them go on when anything has changed.

Who does so is for `spinning` to say, and why.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from racecheck.engine.spinning import IN_VAIN, Spinning
from racecheck.engine.waits import SpinWait, Yield
from racecheck.model import Kind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from racecheck.engine.clock import Clock
    from racecheck.engine.locks import Locks
    from racecheck.engine.spinning import Patience
    from racecheck.engine.task import Actor, Task
    from racecheck.model import Step

_LEAST_PAUSES: Final = 40  # half a day, which is more than most are patient


class Holding:
    """Holds up the tasks of one execution.

    Attributes:
        stuck: Who has been held up so often that the execution is to be broken off.
    """

    def __init__(
        self, actors: Sequence[Actor], clock: Clock, locks: Locks, *, max_steps: int
    ) -> None:
        self.stuck = ""
        self._actors = actors
        self._clock = clock
        self._locks = locks
        self._most = max(max_steps // 10, _LEAST_PAUSES)
        self._spinning = Spinning()
        self._anybody = False

    @property
    def happened(self) -> bool:
        """Whether anybody was held up so far."""
        return self._spinning.happened

    def is_in_vain(self, task: Task, step: Step) -> bool:
        """Say whether a step is one look too many; wake others if it was none."""
        spinning = self._spinning
        in_vain = False
        if step.may_change and step.kind is not Kind.OPEN:
            if spinning.quiet:
                spinning.change()
        else:
            spinning.quiet += 1
            # Most executions never get here, and need not pay for it.
            if spinning.quiet >= IN_VAIN:
                in_vain = spinning.took(task.lane, step, task.pending)
        if self._anybody and not spinning.quiet:
            self._wake()
        return in_vain

    def hold_up(self, task: Task, step: Step) -> None:
        """Hold up a task that looks in vain, unless it has come to something else."""
        point, wait = task.point, task.wait
        now = self._clock.monotonic_ns
        if self._locks.holds_any(task.process):
            # Others may wait for that.
            return
        if point is not None and task.pending is not None:
            patience = self._spinning.patience(task.lane)
            task.wait, task.point = SpinWait(point, now + patience.pause()), None
            self._anybody = True
        elif isinstance(wait, Yield):
            patience = self._spinning.patience(task.lane)
            wait.deadline_ns = now + patience.pause()
            wait.expired = False
            self._anybody = True
        else:
            return
        self.limit(task, patience, step)

    def limit(self, task: Task, patience: Patience, step: Step) -> None:
        """Take note of a task that is held up, and that this has to have an end."""
        self._spinning.happened |= patience.pauses > 0
        if patience.pauses > self._most:
            self.stuck = f"{task.lane} spins: {step}, over and over"

    def _wake(self) -> None:
        self._anybody = False
        for task in (task for actor in self._actors for task in actor.tasks):
            wait = task.wait
            if isinstance(wait, SpinWait):
                task.point, task.wait = wait.point, None
            elif isinstance(wait, Yield):
                wait.expired = True
