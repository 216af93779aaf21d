"""What a task waits for, and how it goes on when that has come.

A waiting task stands at the entry of the call that would block. It can go on when its
`Wait` is over; which of several does is the scheduler's choice.
"""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING

from racecheck.engine.masks import is_pending

if TYPE_CHECKING:
    from collections.abc import Callable

    from racecheck.engine.futexes import Futexes
    from racecheck.engine.task import Process, Task
    from racecheck.engine.tries import Try
    from racecheck.kernel.registers import Registers
    from racecheck.model import SchedulingPoint


class Wait:
    """A wait that time alone can end; the others build on it.

    Attributes:
        call: Name of the call that waits.
        deadline_ns: Monotonic virtual time at which it ends by itself, or None.
        expired: Whether that time has come.
        restarts: Whether a signal's handler may be followed by the call's repetition.
        looks: Whether it is only there because the task looks at something in vain.
    """

    restarts: bool = False
    looks = False

    def __init__(self, call: str, deadline_ns: int | None = None) -> None:
        self.call = call
        self.deadline_ns = deadline_ns
        self.expired = False

    def is_over(self) -> bool:
        """Say whether the task could go on."""
        return self.expired

    def finish(self, task: Task, registers: Registers) -> None:
        """Give the call its result; the task is resumed after that."""
        registers.skip(task.tid, 0)

    def interrupt(self, task: Task, registers: Registers) -> None:
        """Give the call the result of one that a signal has ended."""
        registers.skip(task.tid, -errno.EINTR)

    def leave(self) -> None:
        """Take note that the task waits no longer, for whatever reason."""


class Sleep(Wait):
    """A sleep; who is woken from it by a signal is told how much of it was left."""

    def __init__(
        self, call: str, deadline_ns: int | None, left: Callable[[], None]
    ) -> None:
        super().__init__(call, deadline_ns)
        self._left = left

    def interrupt(self, task: Task, registers: Registers) -> None:
        """See `Wait.interrupt`."""
        self._left()
        super().interrupt(task, registers)


class SuspendWait(Wait):
    """A wait for a signal with other signals blocked meanwhile; see sigsuspend(2)."""

    def __init__(self, call: str, task: Task, blocked: int) -> None:
        super().__init__(call)
        self._task = task
        self._blocked = blocked

    def is_over(self) -> bool:
        """See `Wait.is_over`."""
        return is_pending(self._task, self._blocked)

    def finish(self, task: Task, registers: Registers) -> None:
        """Let the call be made; it will not wait, and the kernel does the rest."""


class Yield(Wait):
    """A sleep of no length, which only gives way to others before another look."""

    looks = True


class FutexWait(Wait):
    """A wait for a wake-up at a futex; see futex(2)."""

    def __init__(
        self, call: str, deadline_ns: int | None, futexes: Futexes, key: object
    ) -> None:
        super().__init__(call, deadline_ns)
        # With a time limit it never is, however the handler was installed.
        self.restarts = deadline_ns is None
        self.key = key
        self.woken = False
        self._futexes = futexes

    def is_over(self) -> bool:
        """See `Wait.is_over`."""
        return self.expired or self.woken or self._futexes.has_permit(self)

    def finish(self, task: Task, registers: Registers) -> None:
        """See `Wait.finish`."""
        if not self.woken and self._futexes.has_permit(self):
            self._futexes.take_permit(self)
        elif self.expired and not self.woken:
            registers.skip(task.tid, -errno.ETIMEDOUT)
            return
        registers.skip(task.tid, 0)

    def leave(self) -> None:
        """See `Wait.leave`."""
        self._futexes.remove(self)


class TryWait(Wait):
    """A wait for something that only the kernel can say: it is asked again and again.

    The call is made without blocking each time that anything has happened.
    """

    def __init__(self, call: str, deadline_ns: int | None, attempt: Try) -> None:
        super().__init__(call, deadline_ns)
        self.restarts = call in ("wait4", "waitid")
        self._attempt = attempt

    def is_over(self) -> bool:
        """See `Wait.is_over`."""
        return self.expired or self._attempt.again()

    def finish(self, task: Task, registers: Registers) -> None:
        """See `Wait.finish`."""
        del task, registers
        self._attempt.finish(expired=self.expired)


class LockWait(Wait):
    """A wait for a file lock: the task tries again when it can be had.

    Attributes:
        point: Where the task stands.
        known: Whether it is known who has the lock.
    """

    restarts = True

    def __init__(self, call: str, point: SchedulingPoint) -> None:
        super().__init__(call)
        self.point = point
        self.known = False


class StallWait(Wait):
    """An injected hold-up before a call.

    Attributes:
        point: Where the task stands, and is enabled again when the time has come.
    """

    def __init__(
        self, point: SchedulingPoint, deadline_ns: int, call: str = "stall"
    ) -> None:
        super().__init__(call, deadline_ns)
        self.point = point

    def is_over(self) -> bool:
        """Never by itself: when its time has come the task is back at its call."""
        return False


class SpinWait(StallWait):
    """A hold-up of a task that looks in vain; see `spinning`."""

    def __init__(self, point: SchedulingPoint, deadline_ns: int) -> None:
        super().__init__(point, deadline_ns, point.call)


class ClockWait(Wait):
    """The same for a task that only looks at a clock: it is told a later time."""

    looks = True

    def __init__(self, deadline_ns: int, answer: Callable[[], None]) -> None:
        super().__init__("clock", deadline_ns)
        self._answer = answer

    def finish(self, task: Task, registers: Registers) -> None:
        """See `Wait.finish`."""
        del task, registers
        self._answer()

    def interrupt(self, task: Task, registers: Registers) -> None:
        """It is no call that waits, as far as the program knows."""
        self.finish(task, registers)


class KernelWait(Wait):
    """A wait that was not foreseen: the task was found asleep in the kernel.

    Whether it is over only shows when the task is let go.
    """

    def is_over(self) -> bool:
        """See `Wait.is_over`."""
        return False

    def interrupt(self, task: Task, registers: Registers) -> None:
        """The kernel does that."""


class VforkWait(Wait):
    """A wait of the parent until its vfork child has executed a program or ended.

    The kernel lets the parent go on by then, but says so in its own time. Who looks in
    between has to wait for it, or it would depend on luck who can go on.
    """

    def __init__(
        self, task: Task, child: Process, collect: Callable[[Task], None]
    ) -> None:
        super().__init__("vfork")
        self._task = task
        self._child = child
        self._collect = collect

    def is_over(self) -> bool:
        """See `Wait.is_over`."""
        if not (self._child.borrows or self._task.events or self._task.ended):
            self._collect(self._task)
        return bool(self._task.events)

    def finish(self, task: Task, registers: Registers) -> None:
        """Nothing to answer: the event says all."""


class Interrupted(Wait):
    """No wait any more: a signal has ended it, and its handler is to run."""

    def is_over(self) -> bool:
        """See `Wait.is_over`."""
        return True

    def finish(self, task: Task, registers: Registers) -> None:
        """Nothing to answer: that has been done."""
