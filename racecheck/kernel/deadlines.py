"""When a call gives up waiting, in the virtual time of an execution.

Calls give their timeouts in seconds with a fraction or in milliseconds, from now on or
as a point of time, by clocks that show real time or by others. All become points of
monotonic time in nanoseconds here, so that they can be compared.
"""

from __future__ import annotations

import errno
import os
import time
from functools import partial
from struct import Struct
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


class Memory(Protocol):
    """The memory of the process that makes the call."""

    def read(self, address: int, length: int, /) -> bytes:
        """Return up to `length` bytes, or raise OSError if there are none."""
        ...


class Clock(Protocol):
    """What the clocks of the process that makes the call show."""

    @property
    def realtime_ns(self) -> int:
        """Time since 1970."""
        ...

    @property
    def monotonic_ns(self) -> int:
        """Time since the machine was started."""
        ...


# `time` has no names for those with a plain number: coarse clocks and alarm clocks.
REALTIME_CLOCKS: Final = frozenset({time.CLOCK_REALTIME, 5, 8, time.CLOCK_TAI})
"""Clocks that show real time."""

MONOTONIC_CLOCKS: Final = frozenset(
    {time.CLOCK_MONOTONIC, time.CLOCK_MONOTONIC_RAW, 6, time.CLOCK_BOOTTIME, 9}
)
"""Clocks that show monotonic time."""

_ONLY_READ: Final = frozenset({time.CLOCK_MONOTONIC_RAW, 5, 6})
"""Clocks that nothing can wait by."""

_S: Final = 1_000_000_000
_MS: Final = 1_000_000
_US: Final = 1_000
_NS: Final = 1
_FOR_EVER: Final = (1 << 63) - 1
"""KTIME_MAX: the kernel takes longer times for this one, which is 292 years."""

_ABSOLUTE: Final = 1
"""TIMER_ABSTIME and TFD_TIMER_ABSTIME."""

_FUTEX_WAIT: Final = 0
_FUTEX_LOCK_PI: Final = 6
# LOCK_PI, WAIT_BITSET, WAIT_REQUEUE_PI and LOCK_PI2.
_FUTEX_ABSOLUTE: Final = frozenset({_FUTEX_LOCK_PI, 9, 11, 13})
_FUTEX_PRIVATE: Final = 128
_FUTEX_CLOCK_REALTIME: Final = 256

_PAIR: Final = Struct("=2q")

ALARMS: Final = {
    "alarm": (0, 0),
    "setitimer": (1, _US),
    "timer_settime": (2, _NS),
    "timerfd_settime": (2, _NS),
}
"""Calls that set an alarm: which argument points to when it goes off first and again,
and how many ns a unit of the fractions there has; 0 where there is nothing to read."""


def deadline(
    name: str,
    raw: Sequence[int],
    memory: Memory,
    clock: Clock,
    *,
    timer_clock: int = time.CLOCK_MONOTONIC,
) -> int | None:
    """Return when a call gives up, or when the alarm that it sets goes off.

    Args:
        name: Name of the call, one of `TIMED`.
        raw: Its arguments, as they are in the registers at its entry.
        memory: Memory of the process.
        clock: What the clocks of the process show now.
        timer_clock: Clock of the timer that `timerfd_settime` or `timer_settime` sets,
            as it was given to `timerfd_create` or `timer_create`.

    Returns:
        A point of monotonic time, in ns. If it is not after `clock.monotonic_ns`, the
        call does not wait. None if it waits for ever, or takes an alarm away.

    Raises:
        OSError: It does not wait by these clocks and has to be left to the kernel,
            which refuses it, or has it wait by a clock of processor time.
        KeyError: It is none of `TIMED`.
    """
    return _DEADLINES[name](_Call(raw, memory, clock, timer_clock))


def interval(name: str, raw: Sequence[int], memory: Memory) -> int:
    """Return after how long the alarm that a call sets goes off again, and again.

    Args:
        name: Name of the call, one of `ALARMS`.
        raw: Its arguments.
        memory: Memory of the process.

    Returns:
        A time in ns, or 0 if it goes off only once.

    Raises:
        OSError: The kernel refuses the call.
        KeyError: It is none of `ALARMS`.
    """
    index, unit = ALARMS[name]
    return _span(raw[index], memory, unit) if unit and raw[index] else 0


class _Call(NamedTuple):
    """What there is to read a timeout from; see `deadline`."""

    raw: Sequence[int]
    memory: Memory
    clock: Clock
    timer_clock: int

    def after(self, span: int) -> int | None:
        """Return the end of a time that starts now."""
        end = self.clock.monotonic_ns + span
        return end if end < _FOR_EVER else None

    def at(self, point: int, clock_id: int) -> int | None:
        """Return the point of time at which one of the clocks shows `point`."""
        if point >= _FOR_EVER:
            return None
        if clock_id in REALTIME_CLOCKS:
            return point - self.clock.realtime_ns + self.clock.monotonic_ns
        return point


def _refuse(number: int) -> OSError:
    return OSError(number, os.strerror(number))


def _pair(address: int, memory: Memory) -> tuple[int, int]:
    data = memory.read(address, _PAIR.size) if address else b""
    if len(data) < _PAIR.size:
        raise _refuse(errno.EFAULT)
    seconds, fraction = _PAIR.unpack(data)
    return seconds, fraction


def _span(address: int, memory: Memory, unit: int = _NS) -> int:
    """Read seconds and fractions in that unit: a `timespec` or `timeval`."""
    seconds, fraction = _pair(address, memory)
    if seconds < 0 or not 0 <= fraction < _S // unit:
        raise _refuse(errno.EINVAL)
    return seconds * _S + fraction * unit


def _check(clock_id: int) -> None:
    if clock_id in _ONLY_READ or clock_id not in REALTIME_CLOCKS | MONOTONIC_CLOCKS:
        raise _refuse(errno.ENOTSUP)


def _signed(raw: int) -> int:
    """Return an argument of which the kernel takes 32 bits, one of them for a sign."""
    return ((raw & 0xFFFFFFFF) ^ 0x80000000) - 0x80000000


# The first argument of these is the index of the one with the timeout.


def _milliseconds(index: int, call: _Call) -> int | None:
    count = _signed(call.raw[index])
    return None if count < 0 else call.after(count * _MS)


def _relative(index: int, call: _Call) -> int | None:
    address = call.raw[index]
    return call.after(_span(address, call.memory)) if address else None


def _realtime(index: int, call: _Call) -> int | None:
    address = call.raw[index]
    if not address:
        return None
    return call.at(_span(address, call.memory), time.CLOCK_REALTIME)


def _with_clock(index: int, call: _Call) -> int | None:
    """Read a point of time, by the clock in the argument after it."""
    address, clock_id = call.raw[index], _signed(call.raw[index + 1])
    if not address:
        return None
    _check(clock_id)
    return call.at(_span(address, call.memory), clock_id)


def _nanosleep(call: _Call) -> int | None:
    return call.after(_span(call.raw[0], call.memory))


def _clock_nanosleep(call: _Call) -> int | None:
    clock_id, flags, address = _signed(call.raw[0]), call.raw[1], call.raw[2]
    _check(clock_id)
    time_ns = _span(address, call.memory)
    return call.at(time_ns, clock_id) if flags & _ABSOLUTE else call.after(time_ns)


def _select(call: _Call) -> int | None:
    address = call.raw[4]
    if not address:
        return None
    # This one also takes a second and more of microseconds.
    seconds, fraction = _pair(address, call.memory)
    if seconds < 0 or fraction < 0:
        raise _refuse(errno.EINVAL)
    return call.after(seconds * _S + fraction * _US)


def _futex(call: _Call) -> int | None:
    operation, address = call.raw[1] & 0xFFFFFFFF & ~_FUTEX_PRIVATE, call.raw[3]
    command = operation & ~_FUTEX_CLOCK_REALTIME
    if operation != _FUTEX_WAIT and command not in _FUTEX_ABSOLUTE:
        # It does not wait, or has a flag that it must not have.
        raise _refuse(errno.ENOSYS)
    if not address:
        return None
    time_ns = _span(address, call.memory)
    if operation == _FUTEX_WAIT:
        return call.after(time_ns)
    real = operation != command or command == _FUTEX_LOCK_PI
    return call.at(time_ns, time.CLOCK_REALTIME if real else time.CLOCK_MONOTONIC)


def _alarm(call: _Call) -> int | None:
    seconds = call.raw[0] & 0xFFFFFFFF
    return call.after(seconds * _S) if seconds else None


def _setitimer(call: _Call) -> int | None:
    if _signed(call.raw[0]):
        # ITIMER_VIRTUAL and ITIMER_PROF count processor time.
        raise _refuse(errno.ENOTSUP)
    first = _first("setitimer", call) if call.raw[1] else 0
    return call.after(first) if first else None


def _settime(call: _Call) -> int | None:
    _check(call.timer_clock)
    first = _first("timer_settime", call)
    if not first:
        return None
    absolute = call.raw[1] & _ABSOLUTE
    return call.at(first, call.timer_clock) if absolute else call.after(first)


def _first(name: str, call: _Call) -> int:
    index, unit = ALARMS[name]
    # The interval comes first; the kernel refuses the call if that is not valid either.
    _span(call.raw[index], call.memory, unit)
    return _span(call.raw[index] + _PAIR.size, call.memory, unit)


_DEADLINES: Final[dict[str, Callable[[_Call], int | None]]] = {
    "nanosleep": _nanosleep,
    "clock_nanosleep": _clock_nanosleep,
    "futex": _futex,
    "futex_wait": partial(_with_clock, 4),
    "futex_waitv": partial(_with_clock, 3),
    "poll": partial(_milliseconds, 2),
    "ppoll": partial(_relative, 2),
    "select": _select,
    "pselect6": partial(_relative, 4),
    "epoll_wait": partial(_milliseconds, 3),
    "epoll_pwait": partial(_milliseconds, 3),
    "epoll_pwait2": partial(_relative, 3),
    "rt_sigtimedwait": partial(_relative, 2),
    "semtimedop": partial(_relative, 3),
    "mq_timedsend": partial(_realtime, 4),
    "mq_timedreceive": partial(_realtime, 4),
    "alarm": _alarm,
    "setitimer": _setitimer,
    "timer_settime": _settime,
    "timerfd_settime": _settime,
}

TIMED: Final = frozenset(_DEADLINES)
"""Calls that can wait for a time to come, or set an alarm for it."""
