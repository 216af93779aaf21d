"""Looks after tasks that neither stop nor end, so that every execution ends."""

from __future__ import annotations

import contextlib
import mmap
import os
import signal
import time
from typing import TYPE_CHECKING, Final, NamedTuple, Self

from racecheck.engine import limits
from racecheck.kernel import ptrace

if TYPE_CHECKING:
    from types import FrameType, TracebackType

    from racecheck.engine.task import Task

_PERIOD_S: Final = 0.005
_BURNING_S: Final = 0.1
_STAT: Final = 2048
_STOPPED: Final = "tT"
_USER_TIME: Final = 11
_SYSTEM_TIME: Final = 12
_RESIDENT: Final = 21


class Watchdog:
    """Looks at the running task some hundred times a second.

    The tracer waits without a limit, which costs nothing while all is well. A timer
    interrupts it. A task that has used up its time or its memory is killed, and one
    that is found asleep in the kernel is made to stop, so that the tracer learns of
    both as it does of any event. So is one that has run for a while without a step,
    which may wait for a clock to move.

    Attributes:
        reason: Why the watchdog killed an actor, or empty.
        interrupted: Task that was made to stop, until it is let go again, or 0.
        burning: Whether it was made to stop because it runs, and not in its sleep.
        stepping: Whether the task is on its way to its next step.
        stretch: Counts the times that a task was let run to its next step. Its stops on
            the way are no reason to begin to count its time anew: a program that asks
            for its process id for ever makes no step either.
    """

    def __init__(self, *, max_cpu_s: float) -> None:
        """Set the limit.

        Args:
            max_cpu_s: Processor time of a task between two of its steps.
        """
        self.reason = ""
        self.interrupted = 0
        self.burning = False
        self._max_cpu_s = max_cpu_s
        self._running: Task | None = None
        self.stepping = False
        self.stretch = 0
        self._measured = -1
        self._segment = 0
        self._seen = -1
        self._cpu_s = 0.0
        self._asleep = ""
        self._tick_s = 1 / os.sysconf("SC_CLK_TCK")

    def __enter__(self) -> Self:
        signal.signal(signal.SIGALRM, self._look)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.look(often=False)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)

    def look(self, *, often: bool) -> None:
        """Begin to look at tasks, or leave off.

        What a handler allocates moves what is allocated after it, and when the timer
        goes off is chance. So there is none while that is set up which actors are
        forked from: their objects would lie elsewhere in each run.

        Args:
            often: Whether to look from now on.
        """
        period = _PERIOD_S if often else 0.0
        signal.setitimer(signal.ITIMER_REAL, period, period)

    def runs(self, task: Task) -> None:
        """Take note that a task is waited for."""
        self._running = task
        self._segment += 1
        # It may have come to another stop first, which takes the place of that one.
        self.interrupted = 0
        self.burning = False

    def break_off(self, reason: str) -> None:
        """End the actor that runs, and have the execution end after it.

        This may be called in a signal handler, as `_look` is: where an exception would
        come between the end of a wait and the note of what it returned.
        """
        self.reason = self.reason or reason
        if self._running is not None:
            self._running.actor.kill()

    def _look(self, number: int, frame: FrameType | None) -> None:
        del number, frame
        task = self._running
        if task is None or task.ended:
            return
        found = _state(task.process.pid, task.tid)
        if found is None:
            return
        if found.resident > limits.MOST_MEMORY:
            most = f"{limits.MOST_MEMORY:,} bytes of memory"
            self._end(task, found, f"{task.name} takes more than {most}")
            return
        if self._measured != self.stretch:
            # It was another task, or an earlier step of it, at the last look.
            self._measured, self._cpu_s = self.stretch, -1.0
            self._seen, self._asleep = self._segment, ""
            return
        if self._seen != self._segment:
            self._seen, self._asleep = self._segment, ""
        # That of the tracer counts, too: a program can keep it busy with calls that are
        # no steps.
        cpu_s = found.ticks * self._tick_s + time.process_time()
        if self._cpu_s < 0:
            self._cpu_s = cpu_s
        cpu_s -= self._cpu_s
        if cpu_s > self._max_cpu_s:
            most = f"{self._max_cpu_s:g} s without a step"
            self._end(task, found, f"{task.name} ran for {most}")
        elif found.letter == "R" and self.stepping and cpu_s > _BURNING_S:
            self._asleep = ""
            if not task.process.asks:
                self._interrupt(task, burning=True)
        elif found.letter == "S" and (asleep := _sleep(task.process.pid, task.tid)):
            if asleep == self._asleep:
                self._interrupt(task, burning=False)
            self._asleep = asleep
        else:
            self._asleep = ""

    def _end(self, task: Task, found: _State, reason: str) -> None:
        self.reason = reason
        # An exception could come between the end of a wait and the note of what it
        # returned, and so could a kill where the tracer does not reckon with it.
        if self.stepping:
            self._interrupt(task, burning=True)
        elif found.letter not in _STOPPED:
            # Otherwise the tracer is at work on it, and breaks off by itself.
            task.actor.kill()

    def _interrupt(self, task: Task, *, burning: bool) -> None:
        if not self.interrupted:
            with contextlib.suppress(OSError):
                self.burning = burning
                self.interrupted = task.tid
                ptrace.interrupt(task.tid)


class _State(NamedTuple):
    """The state letter of a task, its processor time, and its bytes in memory."""

    letter: str
    ticks: int
    resident: int


def _state(pid: int, tid: int) -> _State | None:
    data = _read(f"/proc/{pid}/task/{tid}/stat")
    fields = data.rpartition(b")")[2].split()
    if len(fields) <= _RESIDENT:
        return None
    ticks = int(fields[_USER_TIME]) + int(fields[_SYSTEM_TIME])
    return _State(fields[0].decode(), ticks, int(fields[_RESIDENT]) * mmap.PAGESIZE)


def _sleep(pid: int, tid: int) -> str:
    """Return what a task sleeps in, and how often it has run; empty if it runs.

    The state letter alone is not to be trusted: a task that is about to find its
    condition true has it as well. Its file `syscall` says `running` then.
    """
    call = _read(f"/proc/{pid}/task/{tid}/syscall")
    if not call or call.startswith(b"running"):
        return ""
    runs = _read(f"/proc/{pid}/task/{tid}/schedstat").split()
    return f"{call!r} {runs[2:3]}"


def _read(path: str) -> bytes:
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except OSError:
        return b""
    try:
        return os.read(descriptor, _STAT)
    except OSError:
        return b""
    finally:
        os.close(descriptor)
