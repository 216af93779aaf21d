"""What programs have asked to be told of later: alarms, timers, descriptors of timers.

The kernel is told of none of them. When the virtual clock comes to where one goes off,
the process gets the signal that it asked for, or its descriptor can be read.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import os
import signal
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from racecheck.kernel.deadlines import (
    MONOTONIC_CLOCKS,
    REALTIME_CLOCKS,
    deadline,
    interval,
)
from racecheck.kernel.ptrace import system_call

if TYPE_CHECKING:
    from collections.abc import Sequence

    from racecheck.engine.task import Process, Task
    from racecheck.engine.tries import Ids
    from racecheck.kernel.registers import Registers
    from racecheck.kernel.rows import Silent
    from racecheck.kernel.table import Table

ORDINARY: Final = "real"
"""Key of the one alarm that alarm(2) and setitimer(2) set."""

_S: Final = 1_000_000_000
_US: Final = 1_000
_ITIMER_REAL: Final = 0
_INTERVALS: Final = ("getitimer", "setitimer")
_DESCRIPTORS: Final = ("timerfd_gettime", "timerfd_settime")

# Timers that count processor time are the kernel's, and it counts from 0.
_FIRST_TIMER: Final = 1000

_SI_TIMER: Final = -2
_SIGEV_SIGNAL, _SIGEV_NONE, _SIGEV_THREAD_ID = 0, 1, 4
_SET_TICKS: Final = 0x40085400  # TFD_IOC_SET_TICKS of linux/timerfd.h
_NO_TIME: Final = bytes(32)

# struct itimerval and itimerspec, sigevent and siginfo of 64-bit machines.
_INTERVAL = struct.Struct("=4q")
_EVENT = struct.Struct("=Q3i")
_INFO = struct.Struct("=3i4x2iQ")
_INFO_SIZE: Final = 128


@dataclass(slots=True, eq=False)
class Alarm:
    """One of them.

    Attributes:
        at_ns: Monotonic time at which it goes off next, or None.
        every_ns: Time between that and the one after it, or 0 if there is none.
        clock_id: Clock that it goes by.
        number: Signal that it sends, or 0 for none.
        timer: Id of the timer that it is, as the program was told it.
        value: What the program wants to be handed with the signal.
        tid: Real id of the thread that gets it, or 0 for the process.
        descriptor: Descriptor of the tracer's for the timer that can be read, or -1.
    """

    at_ns: int | None = None
    every_ns: int = 0
    clock_id: int = 1
    number: int = signal.SIGALRM
    timer: int = 0
    value: int = 0
    tid: int = 0
    descriptor: int = -1

    def left(self, now_ns: int) -> int:
        """Return for how many ns it is still to come, at least 1, or 0 if it is not."""
        return 0 if self.at_ns is None else max(self.at_ns - now_ns, 1)

    def close(self) -> None:
        """Give back what the tracer holds of it."""
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1


class Alarms:
    """Answers the calls that set alarms, and lets them go off."""

    def __init__(self, registers: Registers, table: Table, ids: Ids) -> None:
        self._registers = registers
        self._table = table
        self._ids = ids

    def serve(self, task: Task, silent: Silent, raw: Sequence[int]) -> None:
        """Answer a call at its entry stop, or leave it to the kernel."""
        name = silent.name
        answer: int | None
        try:
            if name == "alarm":
                answer = self._alarm(task, name, raw)
            elif name in _INTERVALS:
                answer = self._itimer(task, name, raw)
            elif name == "timer_create":
                answer = self._create(task, raw)
            elif name in _DESCRIPTORS:
                answer = self._descriptor(task, name, raw)
            else:
                answer = self._timer(task, name, raw)
        except OSError as error:
            answer = -(error.errno or errno.EINVAL)
        if answer is not None:
            self._registers.skip(task.tid, answer)

    def go_off(self, process: Process, alarm: Alarm) -> None:
        """Let an alarm go off, whose time has come; signals are queued."""
        assert alarm.at_ns is not None  # noqa: S101  the caller looked
        alarm.at_ns = alarm.at_ns + alarm.every_ns if alarm.every_ns else None
        if alarm.descriptor >= 0:
            self._tick(alarm.descriptor)
        elif alarm.timer:
            self._queue(process, alarm)
        else:
            os.kill(process.pid, alarm.number)

    # --- alarm and setitimer ----------------------------------------------------------

    @staticmethod
    def _alarm(task: Task, name: str, raw: Sequence[int]) -> int:
        now = task.actor.clock.monotonic_ns
        alarm = task.process.alarms.setdefault(ORDINARY, Alarm())
        left = alarm.left(now)
        alarm.at_ns = deadline(name, raw, task.process.memory, task.actor.clock)
        alarm.every_ns = 0
        return -(-left // _S)

    def _itimer(self, task: Task, name: str, raw: Sequence[int]) -> int | None:
        if raw[0] & 0xFFFFFFFF != _ITIMER_REAL:
            # The others count processor time, which is real.
            return None
        alarm = task.process.alarms.setdefault(ORDINARY, Alarm())
        if name == "getitimer":
            return _tell(task, raw[1], alarm, _US)
        return self._set(task, name, raw, alarm, _US)

    def _set(
        self, task: Task, name: str, raw: Sequence[int], alarm: Alarm, unit: int = 1
    ) -> int:
        memory, clock = task.process.memory, task.actor.clock
        first = deadline(name, raw, memory, clock, timer_clock=alarm.clock_id)
        every = interval(name, raw, memory)
        _tell(task, raw[2 if name == "setitimer" else 3], alarm, unit)
        alarm.at_ns, alarm.every_ns = first, every
        return 0

    # --- timers -----------------------------------------------------------------------

    def _create(self, task: Task, raw: Sequence[int]) -> int | None:
        clock_id = _signed(raw[0])
        if not _moves(clock_id):
            return None
        process = task.process
        keys = [key for key in process.alarms if isinstance(key, int)]
        timer = max(keys, default=_FIRST_TIMER - 1) + 1
        alarm = Alarm(clock_id=clock_id, timer=timer, value=timer)
        if raw[1]:
            data = process.memory.read(raw[1], _EVENT.size)
            alarm.value, alarm.number, notify, tid = _EVENT.unpack(data)
            if notify == _SIGEV_NONE:
                alarm.number = 0
            elif notify == _SIGEV_THREAD_ID:
                alarm.tid = next(
                    (
                        other.tid
                        for other in task.actor.tasks
                        if other.process is process
                        and self._ids.shown(other.tid) == tid
                    ),
                    task.tid,
                )
            elif notify != _SIGEV_SIGNAL:
                return -errno.EINVAL
        process.memory.write(raw[2], struct.pack("=i", timer))
        process.alarms[timer] = alarm
        return 0

    def _timer(self, task: Task, name: str, raw: Sequence[int]) -> int | None:
        alarm = task.process.alarms.get(_signed(raw[0]))
        if alarm is None:
            return None
        if name == "timer_settime":
            return self._set(task, name, raw, alarm)
        if name == "timer_gettime":
            return _tell(task, raw[1], alarm, 1)
        if name == "timer_delete":
            del task.process.alarms[alarm.timer]
        # Nothing overruns, since each signal is sent when its time has come.
        return 0

    def _queue(self, process: Process, alarm: Alarm) -> None:
        if not alarm.number:
            return
        info = _INFO.pack(
            alarm.number, 0, _SI_TIMER, alarm.timer, 0, alarm.value
        ).ljust(_INFO_SIZE, b"\0")
        buffer = ctypes.create_string_buffer(info, _INFO_SIZE)
        address = ctypes.addressof(buffer)
        pid, number = process.pid, alarm.number
        with contextlib.suppress(ProcessLookupError):
            if alarm.tid:
                call = self._table.number("rt_tgsigqueueinfo")
                system_call(call, pid, alarm.tid, number, address)
            else:
                call = self._table.number("rt_sigqueueinfo")
                system_call(call, pid, number, address)

    # --- descriptors ------------------------------------------------------------------

    def _descriptor(self, task: Task, name: str, raw: Sequence[int]) -> int | None:
        number = _signed(raw[0])
        try:
            clock_id, _ = _timer_of(f"{task.process.pid}/fdinfo/{number}")
        except (OSError, KeyError):
            # It is none, as the kernel will say.
            return None
        if not _moves(clock_id):
            return None
        key = ("timerfd", number)
        alarm = task.process.alarms.setdefault(key, Alarm(clock_id=clock_id))
        if name == "timerfd_gettime":
            return _tell(task, raw[1], alarm, 1)
        alarm.close()
        alarm.descriptor = task.process.copy_of(number)
        # What has gone off and was not read is forgotten then.
        self._arm(alarm.descriptor, _NO_TIME)
        return self._set(task, name, raw, alarm)

    def _tick(self, descriptor: int) -> None:
        """Let a timer's descriptor be read, as one that has gone off once more."""
        _, ticks = _timer_of(f"self/fdinfo/{descriptor}")
        try:
            fcntl.ioctl(descriptor, _SET_TICKS, struct.pack("=Q", ticks + 1))
        except OSError:
            # Not every kernel has that. It goes off then, after the least time.
            self._arm(descriptor, _INTERVAL.pack(0, 0, 0, 1))

    def _arm(self, descriptor: int, value: bytes) -> None:
        buffer = ctypes.create_string_buffer(value, len(value))
        call = self._table.number("timerfd_settime")
        system_call(call, descriptor, 0, ctypes.addressof(buffer), 0)


def _tell(task: Task, address: int, alarm: Alarm, unit: int) -> int:
    """Write down when an alarm goes off, fractions of a second in a unit of ns."""
    if address:
        left = alarm.left(task.actor.clock.monotonic_ns)
        every = alarm.every_ns
        data = _INTERVAL.pack(
            every // _S, every % _S // unit, left // _S, left % _S // unit
        )
        task.process.memory.write(address, data)
    return 0


def _timer_of(path: str) -> tuple[int, int]:
    """Return the clock of a timer's descriptor, and how often it went off unread."""
    with open(f"/proc/{path}", encoding="ascii") as file:
        fields = dict(line.split(":", 1) for line in file if ":" in line)
    return int(fields["clockid"]), int(fields["ticks"])


def _moves(clock_id: int) -> bool:
    """Say whether a clock is one that the tracer moves."""
    return clock_id in REALTIME_CLOCKS or clock_id in MONOTONIC_CLOCKS


def _signed(raw: int) -> int:
    return ((raw & 0xFFFFFFFF) ^ 0x80000000) - 0x80000000
