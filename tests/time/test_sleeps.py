"""Guards that waiting takes no time, and that all clocks agree on what has passed."""

from __future__ import annotations

import asyncio
import os
import queue
import select
import signal
import subprocess
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest

from racecheck.engine.clock import EPOCH_NS, UPTIME_NS
from racecheck.model import Verdict
from racecheck.scenario import Scenario, command
from tests.engine.lab import Seen, run

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.processes

HOUR = 3600.0


def alone(act: Callable[[], object]) -> Seen:
    """Run an actor by itself."""
    made = Scenario("sleeps")
    made.actor(act, name="one")
    seen = run(made)
    assert seen.trace.verdict is Verdict.PASSED, seen.trace.reason
    return seen


def passed(act: Callable[[], object]) -> list[float]:
    """Return how much time an actor lets pass, by four clocks."""

    def timed() -> list[float]:
        clocks = (time.time, time.monotonic, time.perf_counter)
        before = [clock() for clock in clocks]
        boot = time.clock_gettime(time.CLOCK_BOOTTIME)
        act()
        after = [clock() - start for clock, start in zip(clocks, before, strict=True)]
        return [*after, time.clock_gettime(time.CLOCK_BOOTTIME) - boot]

    value: Any = alone(timed).operation("one").value
    return [round(each, 6) for each in value]


def sleep() -> None:
    time.sleep(HOUR)


def wait_for_event() -> None:
    assert not threading.Event().wait(HOUR)


def wait_for_lock() -> None:
    lock = threading.Lock()
    lock.acquire()
    assert not lock.acquire(timeout=HOUR)


def wait_for_condition() -> None:
    condition = threading.Condition()
    with condition:
        assert not condition.wait(HOUR)


def wait_for_item() -> None:
    with pytest.raises(queue.Empty):
        queue.Queue[int]().get(timeout=HOUR)


def wait_for_thread() -> None:
    thread = threading.Thread(target=time.sleep, args=(2 * HOUR,), daemon=True)
    thread.start()
    thread.join(HOUR)
    assert thread.is_alive()


def wait_in_select() -> None:
    assert select.select([os.pipe()[0]], [], [], HOUR) == ([], [], [])


def wait_in_poll() -> None:
    poll = select.poll()
    poll.register(os.pipe()[0])
    assert poll.poll(HOUR * 1000) == []


def wait_in_epoll() -> None:
    epoll = select.epoll()
    epoll.register(os.pipe()[0])
    assert epoll.poll(HOUR) == []


def wait_for_alarm() -> None:
    signal.signal(signal.SIGALRM, lambda *_: None)
    signal.setitimer(signal.ITIMER_REAL, HOUR)
    signal.pause()


def wait_for_child() -> None:
    subprocess.run(["sleep", "3600"], check=True)


EXACT = [
    sleep,
    wait_for_event,
    wait_for_lock,
    wait_for_condition,
    wait_for_item,
    wait_for_thread,
    wait_in_select,
    wait_in_poll,
    wait_in_epoll,
    wait_for_alarm,
    wait_for_child,
]


@pytest.mark.parametrize("act", EXACT, ids=lambda act: act.__name__)
def test_an_hour_of_python_is_an_hour_by_every_clock(
    act: Callable[[], object],
) -> None:
    assert passed(act) == [HOUR] * 4


def sleep_in_asyncio() -> None:
    asyncio.run(asyncio.sleep(HOUR))


def time_out_in_asyncio() -> None:
    async def wait() -> None:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(asyncio.Event().wait(), HOUR)

    asyncio.run(wait())


def gather_in_asyncio() -> None:
    async def wait() -> None:
        await asyncio.gather(*(asyncio.sleep(HOUR / n) for n in (1, 2, 3)))

    asyncio.run(wait())


LOOPS = [sleep_in_asyncio, time_out_in_asyncio, gather_in_asyncio]


@pytest.mark.parametrize("act", LOOPS, ids=lambda act: act.__name__)
def test_an_hour_of_an_event_loop_is_the_same_by_every_clock(
    act: Callable[[], object],
) -> None:
    found = passed(act)

    # It waits in whole milliseconds.
    assert len(set(found)) == 1
    assert HOUR <= found[0] <= HOUR + 0.01


def give_up_on_child() -> None:
    with pytest.raises(subprocess.TimeoutExpired):
        subprocess.run(["sleep", "3600"], check=True, timeout=60)


def test_who_polls_for_a_minute_polls_for_a_minute() -> None:
    found = passed(give_up_on_child)

    # Popen looks twenty times a second.
    assert len(set(found)) == 1
    assert 60 <= found[0] <= 60.05


def test_time_stands_still_while_nobody_waits() -> None:
    def act() -> list[int]:
        before = time.time_ns(), time.monotonic_ns()
        for _ in range(10):
            os.stat(".")
        sum(range(1_000_000))
        return [*before, time.time_ns(), time.monotonic_ns()]

    assert alone(act).operation("one").value == [EPOCH_NS, UPTIME_NS] * 2


def test_processor_time_is_real() -> None:
    def act() -> list[float]:
        before = time.process_time(), time.thread_time()
        time.sleep(HOUR)
        sum(range(2_000_000))
        return [time.process_time() - before[0], time.thread_time() - before[1]]

    value: Any = alone(act).operation("one").value
    assert all(0 < spent < HOUR for spent in value)


def sleeping(made: Scenario, seconds: float) -> None:
    """Add an actor that sleeps so long, and makes a folder then."""

    def act(box: Path) -> float:
        start = time.monotonic()
        time.sleep(seconds)
        (box / f"after-{seconds:g}").mkdir(exist_ok=True)
        return time.monotonic() - start

    made.actor(act, name=f"for-{seconds:g}")


def test_sleepers_wake_in_the_order_of_their_times() -> None:
    made = Scenario("sleeps")
    for seconds in (30, 10, 20):
        sleeping(made, seconds)

    seen = run(made)

    woken = [step.args["path"] for step in seen.trace.steps if step.kind == "mkdir"]
    assert woken == ["after-10", "after-20", "after-30"]
    assert [each.value for each in seen.trace.operations] == [10, 20, 30]


def test_of_two_who_sleep_equally_long_either_may_go_on_first() -> None:
    made = Scenario("sleeps")

    @made.actor(count=2)
    def act(box: Path) -> None:
        (box / f"before-{os.getpid()}").mkdir()
        time.sleep(5)
        (box / f"after-{os.getpid()}").mkdir()

    for first in ("act-1", "act-2"):
        # Both have to be asleep for both to wake.
        script = ["act-1 to mkdir", "act-1", "act-2 to mkdir", "act-2"]
        steps = run(made, *script, f"{first} to end").trace.steps
        made_folders = [step.actor for step in steps if step.kind == "mkdir"]
        assert made_folders[2] == first


def test_a_sleep_of_no_length_lets_others_go_first_or_not() -> None:
    made = Scenario("sleeps")

    @made.actor
    def one(box: Path) -> None:
        time.sleep(0)
        (box / "one").mkdir()

    @made.actor
    def two(box: Path) -> None:
        (box / "two").mkdir()

    for first in ("one", "two"):
        steps = run(made, f"{first} to end").trace.steps
        assert next(step.actor for step in steps if step.kind == "mkdir") == first


def test_a_sleep_in_a_shell_takes_no_time() -> None:
    made = Scenario("sleeps")
    script = "date +%s; sleep 3600; date +%s; touch late; stat -c %Y late"
    made.actor(command(["sh", "-c", script]), name="one")

    seen = run(made)

    start = EPOCH_NS // 1_000_000_000
    shown = [int(line) for line in seen.printed["one"].split()]
    assert shown == [start, start + 3600, start + 3600]
    assert seen.trace.verdict is Verdict.PASSED


WAYS = ["sleep", "usleep", "nanosleep", "clock_nanosleep", "until", "select", "poll"]


@pytest.mark.compiler
@pytest.mark.parametrize("option", ["", "-static"])
def test_an_hour_of_a_program_in_c_is_an_hour_by_every_clock(
    sleeper: Callable[[str], Path], option: str
) -> None:
    made = Scenario("sleeps")
    for way in WAYS:
        made.actor(command([str(sleeper(option)), way]), name=way)

    seen = run(made)

    assert seen.trace.verdict is Verdict.PASSED
    for way in WAYS:
        assert seen.printed[way] == "3600.000000 3600.000000 3600.000000 3600\n"
