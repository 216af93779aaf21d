"""Ends actors that neither stop nor end, so that every execution ends."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING, Final, Self

if TYPE_CHECKING:
    from types import FrameType, TracebackType

    from racecheck.engine.tracee import Tracee

_PERIOD_S: Final = 0.25


class Watchdog:
    """Looks at the running actor a few times a second.

    The tracer waits without a limit, which costs nothing while all is well. A timer
    interrupts it, and an actor that has used up its time is killed, so that the tracer
    learns of it as it does of any end.

    Attributes:
        reason: Why the watchdog killed an actor, or empty.
    """

    def __init__(self, *, max_cpu_s: float, max_sleep_s: float) -> None:
        """Set the limits.

        Args:
            max_cpu_s: Processor time of an actor between two of its stops.
            max_sleep_s: Time that an actor may sleep in the kernel between them.
        """
        self.reason = ""
        self._max_cpu_s = max_cpu_s
        self._max_sleep_s = max_sleep_s
        self._running: Tracee | None = None
        self._segment = 0
        self._seen = -1
        self._cpu_s = 0.0
        self._ticks = 0
        self._tick_s = 1 / os.sysconf("SC_CLK_TCK")

    def __enter__(self) -> Self:
        signal.signal(signal.SIGALRM, self._look)
        signal.setitimer(signal.ITIMER_REAL, _PERIOD_S, _PERIOD_S)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)

    def runs(self, tracee: Tracee) -> None:
        """Take note that an actor has been let go."""
        self._running = tracee
        self._segment += 1

    def _look(self, number: int, frame: FrameType | None) -> None:
        del number, frame
        tracee = self._running
        if tracee is None or tracee.end is not None:
            return
        found = self._cpu(tracee.pid)
        if found is None:
            return
        state, cpu_s = found
        if self._seen != self._segment:
            self._seen, self._cpu_s, self._ticks = self._segment, cpu_s, 0
            return
        if state in "tT":
            return
        self._ticks += 1
        if cpu_s - self._cpu_s > self._max_cpu_s:
            self.reason = (
                f"{tracee.name} ran for {self._max_cpu_s:g} s without a call"
            )
        elif self._ticks * _PERIOD_S - (cpu_s - self._cpu_s) > self._max_sleep_s:
            self.reason = (
                f"{tracee.name} slept in the kernel for {self._max_sleep_s:g} s"
            )
        else:
            return
        # Killing is all that may happen here: an exception could come between the end
        # of a wait and the note of what it returned.
        tracee.kill()

    def _cpu(self, pid: int) -> tuple[str, float] | None:
        try:
            with open(f"/proc/{pid}/stat", "rb") as file:  # noqa: PTH123  in a handler
                fields = file.read().rpartition(b")")[2].split()
        except OSError:
            return None
        return fields[0].decode(), (int(fields[11]) + int(fields[12])) * self._tick_s
