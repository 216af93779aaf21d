"""Letting processes see what time it is, while they do not run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from racecheck.engine.clock import Clock
    from racecheck.engine.task import Task

_MOMENT_NS: Final = 1000


def show_clock(clock: Clock, task: Task) -> None:
    """Let a process that does not run see what time it is."""
    now = clock.monotonic_ns
    if task.process.clock < now:
        _show(task, now)


def take_time(clock: Clock, task: Task) -> None:
    """Let a process see that what it has just done took some time.

    Those who ask without waiting whether anything is there go on until a time limit of
    zero has *passed*, which it never has where the clock stands still.
    """
    now = max(task.process.clock, clock.monotonic_ns)
    _show(task, now + _MOMENT_NS)


def _show(task: Task, monotonic_ns: int) -> None:
    process = task.process
    process.clock = monotonic_ns
    if process.vdso is not None:
        realtime = task.actor.clock.realtime_ns
        process.vdso.set_clock(process.memory, realtime, monotonic_ns)
