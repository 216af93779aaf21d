"""Every way to give a timeout becomes the same kind of deadline.

The cases say what a call is given and when it should give up. At the end a process
waits for hours in all the ways that Python has, and none of them passes.
"""

from __future__ import annotations

import contextlib
import errno
import os
import select
import signal
import struct
import threading
import time
from typing import TYPE_CHECKING, NamedTuple

import pytest

from racecheck.kernel import ptrace
from racecheck.kernel.deadlines import ALARMS, TIMED, deadline, interval
from racecheck.kernel.memory import Memory
from racecheck.kernel.numbers import MACHINES, names, numbers
from racecheck.kernel.registers import registers
from racecheck.kernel.seccomp import Filter
from racecheck.kernel.vdso import VDSO

if TYPE_CHECKING:
    from collections.abc import Callable

S = 1_000_000_000
MS = 1_000_000
NOW = 1_000 * S
REAL = 5_000 * S
AT = 0x1000
"""Address of the structure with the timeout."""


class Clock(NamedTuple):
    realtime_ns: int = REAL
    monotonic_ns: int = NOW


class Bytes(NamedTuple):
    """Memory with nothing in it but one structure."""

    data: bytes

    def read(self, address: int, length: int) -> bytes:
        if not AT <= address < AT + len(self.data):
            raise OSError(errno.EIO, "nothing there")
        return self.data[address - AT :][:length]


def words(*values: int) -> Bytes:
    return Bytes(struct.pack(f"={len(values)}q", *values))


def when(
    name: str, *raw: int, at: tuple[int, ...] = (), timer_clock: int = 1
) -> int | None:
    arguments = (*raw, *[0] * (6 - len(raw)))
    return deadline(name, arguments, words(*at), Clock(), timer_clock=timer_clock)


RELATIVE = {
    "nanosleep": (AT,),
    "clock_nanosleep": (1, 0, AT),
    "futex": (0, 0, 0, AT),
    "ppoll": (0, 0, AT),
    "pselect6": (0, 0, 0, 0, AT),
    "epoll_pwait2": (0, 0, 0, AT),
    "rt_sigtimedwait": (0, 0, AT),
    "semtimedop": (0, 0, 0, AT),
}
"""Calls that are given a `timespec` from now on."""

FUTEX_PRIVATE, FUTEX_REAL = 128, 256
MONOTONIC = {
    "clock_nanosleep": (1, 1, AT),
    "futex": (0, 9 | FUTEX_PRIVATE, 0, AT),
    "futex_wait": (0, 0, 0, 0, AT, 1),
    "futex_waitv": (0, 0, 0, AT, 1),
}
"""Calls that are given a point of monotonic time."""

REALTIME = {
    "clock_nanosleep": (0, 1, AT),
    "futex": (0, 9 | FUTEX_PRIVATE | FUTEX_REAL, 0, AT),
    "futex_wait": (0, 0, 0, 0, AT, 0),
    "futex_waitv": (0, 0, 0, AT, 0),
    "mq_timedsend": (0, 0, 0, 0, AT),
    "mq_timedreceive": (0, 0, 0, 0, AT),
}
"""Calls that are given a point of real time."""

MILLISECONDS = {"poll": 2, "epoll_wait": 3, "epoll_pwait": 3}


@pytest.mark.parametrize("name", RELATIVE)
def test_a_time_from_now_on(name: str) -> None:
    assert when(name, *RELATIVE[name], at=(3600, 5)) == NOW + 3600 * S + 5
    assert when(name, *RELATIVE[name], at=(0, 0)) == NOW


@pytest.mark.parametrize("name", MONOTONIC)
def test_a_point_of_monotonic_time(name: str) -> None:
    assert when(name, *MONOTONIC[name], at=(1001, 7)) == NOW + S + 7
    assert when(name, *MONOTONIC[name], at=(3, 0)) == 3 * S


@pytest.mark.parametrize("name", REALTIME)
def test_a_point_of_real_time(name: str) -> None:
    assert when(name, *REALTIME[name], at=(5001, 7)) == NOW + S + 7
    passed = when(name, *REALTIME[name], at=(3, 0))
    assert passed is not None
    assert passed < NOW


@pytest.mark.parametrize(("name", "index"), MILLISECONDS.items())
def test_milliseconds(name: str, index: int) -> None:
    before = (0,) * index

    assert when(name, *before, 1500) == NOW + 1500 * MS
    assert when(name, *before, 0) == NOW
    # Of the register only the low half counts.
    assert when(name, *before, 0xDEAD_0000_0001) == NOW + MS
    assert when(name, *before, (1 << 64) - 1) is None
    assert when(name, *before, 0xFFFFFFFF) is None


def test_select_takes_any_number_of_microseconds() -> None:
    raw = (0, 0, 0, 0, AT)

    assert when("select", *raw, at=(2, 5)) == NOW + 2 * S + 5_000
    assert when("select", *raw, at=(0, 2_500_000)) == NOW + 2_500 * MS
    assert when("select", 0, 0, 0, 0, 0) is None
    for bad in ((-1, 0), (0, -1)):
        with pytest.raises(OSError, match="Invalid argument"):
            when("select", *raw, at=bad)


@pytest.mark.parametrize(
    "name", (RELATIVE.keys() | REALTIME.keys()) - {"nanosleep", "clock_nanosleep"}
)
def test_no_address_means_for_ever(name: str) -> None:
    raw = {**RELATIVE, **REALTIME}[name]

    assert when(name, *(0 if one == AT else one for one in raw)) is None


@pytest.mark.parametrize("calls", [RELATIVE, MONOTONIC, REALTIME])
def test_what_the_kernel_refuses_is_left_to_it(
    calls: dict[str, tuple[int, ...]],
) -> None:
    for name, raw in calls.items():
        for bad in ((-1, 0), (0, -1), (0, S)):
            with pytest.raises(OSError, match="Invalid argument"):
                when(name, *raw, at=bad)
        # Half of a structure, and none.
        with pytest.raises(OSError, match="Bad address"):
            when(name, *raw, at=(1,))
        with pytest.raises(OSError, match="nothing there"):
            when(name, *raw)
    for name in ("nanosleep", "clock_nanosleep"):
        with pytest.raises(OSError, match="Bad address"):
            when(name, 0, 0, 0)


@pytest.mark.parametrize("calls", [RELATIVE, MONOTONIC, REALTIME])
def test_centuries_are_for_ever(calls: dict[str, tuple[int, ...]]) -> None:
    for name, raw in calls.items():
        # What the kernel takes for the end of time, and what `sleep infinity` asks for.
        assert when(name, *raw, at=(9_223_372_037, 0)) is None
        assert when(name, *raw, at=((1 << 63) - 1, 999_999_999)) is None
        assert when(name, *raw, at=(9_000_000_000, 0)) is not None


def test_a_relative_sleep_does_not_depend_on_its_clock() -> None:
    assert when("clock_nanosleep", 0, 0, AT, at=(2, 0)) == NOW + 2 * S
    assert when("clock_nanosleep", 7, 0, AT, at=(2, 0)) == NOW + 2 * S


@pytest.mark.parametrize("clock", [2, 3, 4, 5, 6, 10, 99, 0xFFFFFFFA])
def test_other_clocks_are_left_to_the_kernel(clock: int) -> None:
    with pytest.raises(OSError, match="not supported"):
        when("clock_nanosleep", clock, 0, AT, at=(1, 0))
    with pytest.raises(OSError, match="not supported"):
        when("timer_settime", 0, 0, AT, at=(0, 0, 1, 0), timer_clock=clock)


def test_futexes_that_lock() -> None:
    lock_pi, requeue_pi, lock_pi2 = 6, 11, 13
    real, monotonic = (5002, 0), (1002, 0)

    # The oldest of them has always gone by real time.
    assert when("futex", 0, lock_pi, 0, AT, at=real) == NOW + 2 * S
    assert when("futex", 0, lock_pi2, 0, AT, at=monotonic) == NOW + 2 * S
    assert when("futex", 0, lock_pi2 | FUTEX_REAL, 0, AT, at=real) == NOW + 2 * S
    assert when("futex", 0, requeue_pi, 0, AT, at=monotonic) == NOW + 2 * S


@pytest.mark.parametrize("operation", [1, 3, 4, 5, 0 | FUTEX_REAL, 1 | FUTEX_PRIVATE])
def test_futexes_that_do_not_wait(operation: int) -> None:
    # Here the argument is a number and no address.
    with pytest.raises(OSError, match="not implemented"):
        when("futex", 0, operation, 1, 1)


def test_alarms() -> None:
    assert when("alarm", 30) == NOW + 30 * S
    assert when("alarm", 0) is None
    assert when("alarm", 0xDEAD_FFFF_FFFF) == NOW + 0xFFFFFFFF * S
    assert interval("alarm", (30,), words()) == 0


def test_setitimer() -> None:
    real, virtual = 0, 1

    assert when("setitimer", real, AT, at=(9, 0, 1, 5)) == NOW + S + 5_000
    assert when("setitimer", real, AT, at=(9, 0, 0, 0)) is None
    assert when("setitimer", real, 0) is None
    assert interval("setitimer", (real, AT), words(9, 8, 1, 5)) == 9 * S + 8_000
    assert interval("setitimer", (real, 0), words()) == 0
    with pytest.raises(OSError, match="not supported"):
        when("setitimer", virtual, AT, at=(0, 0, 1, 0))
    for bad in ((0, 1_000_000, 1, 0), (0, 0, 1, 1_000_000)):
        with pytest.raises(OSError, match="Invalid argument"):
            when("setitimer", real, AT, at=bad)


@pytest.mark.parametrize("name", ["timer_settime", "timerfd_settime"])
def test_timers(name: str) -> None:
    relative, absolute, cancel_on_set = 0, 1, 2

    assert when(name, 0, relative, AT, at=(0, 0, 2, 5)) == NOW + 2 * S + 5
    assert when(name, 0, relative, AT, at=(0, 0, 2, 5), timer_clock=0) == (
        NOW + 2 * S + 5
    )
    assert when(name, 0, absolute, AT, at=(0, 0, 1003, 0)) == NOW + 3 * S
    assert when(
        name, 0, absolute | cancel_on_set, AT, at=(0, 0, 5003, 0), timer_clock=0
    ) == (NOW + 3 * S)
    # An interval alone sets nothing off.
    assert when(name, 0, relative, AT, at=(7, 0, 0, 0)) is None
    assert interval(name, (0, 0, AT), words(7, 6, 1, 0)) == 7 * S + 6
    with pytest.raises(OSError, match="Invalid argument"):
        when(name, 0, relative, AT, at=(0, S, 1, 0))
    with pytest.raises(OSError, match="Bad address"):
        when(name, 0, relative, 0)


def test_calls_have_the_names_of_the_call_table() -> None:
    every = set[str]().union(*(numbers(machine) for machine in MACHINES))

    assert every >= TIMED >= ALARMS.keys()
    with pytest.raises(KeyError):
        when("read")


def waits() -> list[int]:
    """Wait for a while in each way, and tell how long each has taken."""
    taken = []

    def measure(wait: Callable[[], object]) -> None:
        start = time.monotonic_ns()
        wait()
        taken.append(time.monotonic_ns() - start)

    measure(lambda: time.sleep(3600))
    held = threading.Lock()
    held.acquire()
    measure(lambda: held.acquire(timeout=1800))
    measure(lambda: select.select([], [], [], 900.5))
    poll = select.poll()
    measure(lambda: poll.poll(250_000))
    with select.epoll() as epoll:
        measure(lambda: epoll.poll(120))
    measure(lambda: signal.sigtimedwait({signal.SIGUSR1}, 60))
    measure(lambda: threading.Event().wait(30))
    return taken


LASTED = [3600 * S, 1800 * S, 900 * S + 500 * MS, 250 * S, 120 * S, 60 * S, 30 * S]
TIMED_OUT = {"futex": -errno.ETIMEDOUT, "rt_sigtimedwait": -errno.EAGAIN}


@pytest.mark.processes
@pytest.mark.skipif(os.uname().machine not in MACHINES, reason="no call table for it")
def test_a_process_waits_for_hours_in_no_time() -> None:
    trapped = {numbers()[name] for name in TIMED & numbers().keys()}
    change = registers()
    filter_ = Filter(change.audit_arch, set(names()) - trapped, {})
    answer, tell = os.pipe()
    start, go = os.pipe()
    pid = os.fork()
    if pid == 0:
        with contextlib.suppress(BaseException):
            os.close(go)
            if os.read(start, 1) == b"g":
                filter_.install()
                time.sleep(0)  # where the clock is set for the first time
                os.write(tell, struct.pack("=7q", *waits()))
        os._exit(0)
    os.close(tell)
    os.close(start)
    memory = Memory(pid)
    try:
        ptrace.seize(pid)
        os.write(go, b"g")
        os.waitpid(pid, ptrace.WALL)
        vdso = VDSO.find(pid, memory)
        if vdso is None:
            pytest.skip("the vDSO of this system cannot be replaced")
        vdso.patch(memory)
        now = 1_000_000 * S
        vdso.set_clock(memory, 0, now)
        change.skip(pid, 0)
        ptrace.resume(pid)
        while os.WIFSTOPPED(os.waitpid(pid, ptrace.WALL)[1]):
            _, number, args = ptrace.entry(pid)
            name = names()[number]
            ends = deadline(name, args, memory, Clock(0, now))
            assert ends is not None
            now = max(now, ends)
            vdso.set_clock(memory, 0, now)
            change.skip(pid, TIMED_OUT.get(name, 0))
            ptrace.resume(pid)
        pid = 0
        took = struct.unpack("=7q", os.read(answer, 56))
    finally:
        memory.close()
        os.close(answer)
        os.close(go)
        if pid:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, ptrace.WALL)

    assert list(took) == LASTED
