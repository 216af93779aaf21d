"""Guards alarms and timers of all kinds: they go off when the clock comes to them."""

from __future__ import annotations

import ctypes
import os
import select
import signal
import struct
import subprocess
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest

from racecheck.model import Verdict
from racecheck.scenario import Scenario, command
from tests.engine.lab import run

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.processes

libc = ctypes.CDLL(None, use_errno=True)


def alone(act: Callable[..., object]) -> Any:  # noqa: ANN401  whatever it returns
    made = Scenario("alarms")
    made.actor(act, name="one")
    seen = run(made)
    assert seen.trace.verdict is Verdict.PASSED, seen.trace.reason
    return seen.operation("one").value


def test_an_alarm_ends_a_sleep_when_its_time_has_come() -> None:
    def act() -> list[float]:
        found: list[float] = []
        start = time.monotonic()
        signal.signal(signal.SIGALRM, lambda *_: found.append(time.monotonic() - start))
        signal.alarm(30)
        # Python sleeps on after a handler.
        time.sleep(100)
        return [*found, time.monotonic() - start]

    assert alone(act) == [30, 100]


def test_what_is_left_of_an_alarm_is_told() -> None:
    def act() -> list[object]:
        first = signal.alarm(100)
        time.sleep(30)
        left = signal.getitimer(signal.ITIMER_REAL)
        second = signal.alarm(50)
        old = signal.setitimer(signal.ITIMER_REAL, 7.5, 2.5)
        return [first, left, second, old, signal.setitimer(signal.ITIMER_REAL, 0)]

    assert alone(act) == [0, [70, 0], 70, [50, 0], [7.5, 2.5]]


def test_a_child_inherits_no_alarm_and_a_program_that_is_executed_does() -> None:
    def act() -> list[int]:
        signal.alarm(50)
        child = os.fork()
        if not child:
            time.sleep(200)
            os._exit(0)
        _, first = os.waitpid(child, 0) if signal.alarm(0) else (0, -1)
        child = os.fork()
        if not child:
            signal.alarm(50)
            os.execvp("sleep", ["sleep", "200"])  # noqa: S606  no shell
        _, second = os.waitpid(child, 0)
        return [first, second]

    assert alone(act) == [0, signal.SIGALRM]


class Value(ctypes.Structure):
    _fields_ = (("every", ctypes.c_int64 * 2), ("first", ctypes.c_int64 * 2))


def timer(clock: int, event: bytes | None = None) -> ctypes.c_void_p:
    made = ctypes.c_void_p()
    assert libc.timer_create(clock, event, ctypes.byref(made)) == 0
    return made


def test_a_timer_sends_its_signal_again_and_again() -> None:
    def act() -> list[float]:
        found: list[float] = []
        start = time.monotonic()
        number = signal.SIGUSR1
        signal.signal(number, lambda *_: found.append(time.monotonic() - start))
        # struct sigevent: value, signal, SIGEV_SIGNAL.
        made = timer(time.CLOCK_MONOTONIC, struct.pack("=Qii48x", 7, number, 0))
        value, left = Value((3, 0), (10, 500_000_000)), Value()
        assert libc.timer_settime(made, 0, ctypes.byref(value), None) == 0
        time.sleep(20)
        assert libc.timer_gettime(made, ctypes.byref(left)) == 0
        assert libc.timer_delete(made) == 0
        time.sleep(20)
        return [*found, left.first[0] + left.first[1] / 1e9, left.every[0]]

    assert alone(act) == [10.5, 13.5, 16.5, 19.5, 2.5, 3]


def test_a_timer_goes_off_at_a_point_of_time() -> None:
    def act() -> list[float]:
        made = timer(time.CLOCK_REALTIME)
        now = time.time()
        value = Value((0, 0), (int(now) + 40, 0))
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGALRM})
        # TIMER_ABSTIME is 1.
        assert libc.timer_settime(made, 1, ctypes.byref(value), None) == 0
        got = signal.sigwait({signal.SIGALRM})
        return [got, time.time() - now]

    assert alone(act) == [signal.SIGALRM, 40]


def test_a_wait_for_a_signal_ends_with_its_time() -> None:
    def act() -> list[object]:
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1, signal.SIGALRM})
        start = time.monotonic()
        first = signal.sigtimedwait({signal.SIGUSR1}, 100)
        signal.alarm(50)
        second = signal.sigtimedwait({signal.SIGALRM}, 100)
        assert second is not None
        return [first, second.si_signo, time.monotonic() - start]

    assert alone(act) == [None, signal.SIGALRM, 150]


def timer_descriptor(value: Value, clock: int = time.CLOCK_MONOTONIC) -> int:
    descriptor: int = libc.timerfd_create(clock, 0)
    assert descriptor >= 0
    assert libc.timerfd_settime(descriptor, 0, ctypes.byref(value), None) == 0
    return descriptor


def count(descriptor: int) -> int:
    return int.from_bytes(os.read(descriptor, 8), "little")


def test_a_timer_that_can_be_read_is_read_in_its_time() -> None:
    def act() -> list[float]:
        start = time.monotonic()
        descriptor = timer_descriptor(Value((30, 0), (100, 0)))
        found: list[float] = [count(descriptor), time.monotonic() - start]
        time.sleep(100)
        found += [count(descriptor), time.monotonic() - start]
        found += [count(descriptor), time.monotonic() - start]
        left = Value()
        assert libc.timerfd_gettime(descriptor, ctypes.byref(left)) == 0
        return [*found, left.first[0], left.every[0]]

    assert alone(act) == [1, 100, 3, 200, 1, 220, 30, 30]


def test_a_timer_that_can_be_read_is_waited_for_with_others() -> None:
    def act() -> list[object]:
        start = time.monotonic()
        first = timer_descriptor(Value((0, 0), (50, 0)), time.CLOCK_REALTIME)
        epoll = select.epoll()
        epoll.register(first, select.EPOLLIN)
        none = epoll.poll(20)
        found = epoll.poll(3600)
        return [none, found == [(first, select.EPOLLIN)], time.monotonic() - start]

    assert alone(act) == [[], True, 50]


def test_a_timer_that_is_set_anew_forgets_what_was() -> None:
    def act() -> list[object]:
        start = time.monotonic()
        descriptor = timer_descriptor(Value((0, 0), (50, 0)))
        time.sleep(60)
        late = Value((0, 0), (1000, 0))
        assert libc.timerfd_settime(descriptor, 0, ctypes.byref(late), None) == 0
        ready = select.select([descriptor], [], [], 100)[0]
        return [ready, count(descriptor), time.monotonic() - start]

    assert alone(act) == [[], 1, 1060]


def test_a_thread_can_wait_for_a_counter_that_another_raises() -> None:
    def act() -> list[float]:
        start = time.monotonic()
        descriptor = os.eventfd(0)

        def later() -> None:
            time.sleep(25)
            os.eventfd_write(descriptor, 3)

        thread = threading.Thread(target=later)
        thread.start()
        found = [os.eventfd_read(descriptor), time.monotonic() - start]
        thread.join()
        return found

    assert alone(act) == [3, 25]


def test_a_shell_gives_up_on_what_takes_too_long() -> None:
    made = Scenario("alarms")
    script = "timeout 7 sleep 100; echo $?; timeout 7 sleep 5; echo $?; date +%s"
    made.actor(command(["sh", "-c", f"date +%s; {script}"]), name="one")

    seen = run(made)

    assert seen.trace.verdict is Verdict.PASSED
    start, first, second, end = map(int, seen.printed["one"].split())
    assert (first, second, end - start) == (124, 0, 12)


def test_the_time_since_some_start_is_virtual_and_processor_time_is_not() -> None:
    def act() -> list[object]:
        before = os.times()
        time.sleep(100)
        sum(range(3_000_000))
        subprocess.run(["sh", "-c", "sleep 100"], check=True)
        after = os.times()
        return [after.elapsed - before.elapsed, 0 < after.user - before.user < 100]

    assert alone(act) == [200, True]
