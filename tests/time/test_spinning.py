"""Guards that loops end: by what they wait for, by their time limit, or by a bound."""

from __future__ import annotations

import os
import select
import signal
import time
from typing import TYPE_CHECKING, Any

import pytest

from racecheck.api import Options, explore
from racecheck.explore.explorer import ASSUMED_OF_SPINS
from racecheck.model import Coverage, Ending, Verdict
from racecheck.scenario import Budget, Scenario, command, crash, stall
from racecheck.scheduling import PCTScheduler, RandomWalkScheduler
from tests.engine.lab import Seen, run, run_all

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from racecheck.model import PlannedFault, Scheduler

pytestmark = pytest.mark.processes

MINUTE = 60.0


# What waits for a lock file, one way or another.


def take(lock: Path, pause_s: float | None, limit_s: float | None = None) -> None:
    """Make a lock file; wait until it is gone if somebody else's is there."""
    start = time.monotonic()
    while True:
        try:
            os.close(os.open(lock, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
        except FileExistsError:
            pass
        else:
            return
        if limit_s is not None and time.monotonic() - start > limit_s:
            raise TimeoutError(f"no lock after {time.monotonic() - start:.3f} s")
        if pause_s is not None:
            time.sleep(pause_s)


def counting(
    pause_s: float | None,
    *faults: PlannedFault,
    limit_s: float | None = None,
    count: int = 2,
) -> Scenario:
    """Return actors that each add one to a file, under a lock file."""
    made = Scenario("spinning", faults=faults, max_steps=3000)

    @made.setup
    def setup(box: Path) -> None:
        (box / "count").write_text("0")

    @made.actor(count=count, raises=TimeoutError)
    def act(box: Path) -> float:
        start = time.monotonic()
        take(box / "lock", pause_s, limit_s)
        number = int((box / "count").read_text())
        (box / "count").write_text(str(number + 1))
        (box / "lock").unlink()
        return time.monotonic() - start

    return made


def schedulers(seeds: range) -> Sequence[Scheduler]:
    return [
        make(seed) for make in (RandomWalkScheduler, PCTScheduler) for seed in seeds
    ]


PAUSES = pytest.mark.parametrize("pause_s", [None, 0, 0.05], ids=["none", "0", "50ms"])


@PAUSES
def test_who_has_a_lock_file_gets_on_whoever_polls_for_it(
    pause_s: float | None,
) -> None:
    found = run_all(counting(pause_s, count=3), schedulers(range(6)))

    assert {seen.files["count"] for seen in found} == {"3"}
    assert {seen.trace.verdict for seen in found} == {Verdict.PASSED}
    # Nobody polled for long, as the one with the lock was never kept from going on.
    assert max(len(seen.trace.steps) for seen in found) < 400


def orphaned(pause_s: float | None, *, limit_s: float | None) -> Seen:
    """Run an execution in which the one with the lock file dies."""
    made = counting(pause_s, crash("act-1", on="unlink"), limit_s=limit_s)
    return run(made, "act-1 to unlink", "act-1", "act-2 to end")


@PAUSES
def test_a_lock_file_of_the_dead_breaks_progress_where_nobody_gives_up(
    pause_s: float | None,
) -> None:
    seen = orphaned(pause_s, limit_s=None)

    assert seen.trace.verdict is Verdict.VIOLATED
    (violation,) = seen.trace.violations
    assert violation.invariant == "progress"
    assert "act-2 operation 0 never ended" in violation.message
    if not pause_s:
        assert seen.trace.reason.startswith("act-2 spins: openat(cwd, lock")
    assert seen.operation("act-2").ending is Ending.UNFINISHED


@PAUSES
def test_who_gives_up_on_a_lock_file_of_the_dead_does_so_after_its_time(
    pause_s: float | None,
) -> None:
    seen = orphaned(pause_s, limit_s=MINUTE)

    assert seen.trace.verdict is Verdict.PASSED
    # Pauses double, so that one without sleeps overshoots.
    late = 60.05 if pause_s else 2 * MINUTE
    shown = seen.operation("act-2").shown
    waited = float(shown.removeprefix("TimeoutError: no lock after ").split()[0])
    assert MINUTE < waited <= late


@PAUSES
def test_a_stalled_holder_outlasts_a_time_limit(pause_s: float | None) -> None:
    made = counting(pause_s, stall("act-1", 3600, on="unlink"), limit_s=MINUTE)

    seen = run(made, "act-1 to unlink", "act-1", "act-2 to end")

    assert seen.trace.verdict is Verdict.PASSED
    assert "TimeoutError" in seen.operation("act-2").shown
    assert seen.operation("act-1").value == 3600.0
    assert seen.files == {"count": "1"}


def test_a_holder_that_is_slow_and_no_slower_than_the_limit_is_waited_for() -> None:
    made = counting(None, stall("act-1", 30, on="unlink"), limit_s=MINUTE)

    seen = run(made, "act-1 to unlink", "act-1", "act-2 to end")

    # What ends the wait is the change, not the end of a pause.
    assert seen.operation("act-2").value == 30.0


def looking(look: Callable[[Path], object]) -> Scenario:
    """Return an actor that looks until it sees something, and one that makes a file."""
    made = Scenario("spinning/looking")

    @made.actor
    def poll(box: Path) -> float:
        start = time.monotonic()
        while not look(box):
            pass
        return time.monotonic() - start

    @made.actor
    def make(box: Path) -> None:
        for number in range(40):
            (box / f"other-{number}").exists()
        (box / "file").write_text("ready")

    return made


def read(box: Path) -> bool:
    return (box / "file").exists() and (box / "file").read_text() == "ready"


LOOKS: dict[str, Callable[[Path], object]] = {
    "exists": lambda box: (box / "file").exists(),
    "list": lambda box: "file" in os.listdir(box),
    "scan": lambda box: any(entry.name == "file" for entry in os.scandir(box)),
    "read": read,
    "size": lambda box: any(path.stat().st_size for path in box.iterdir()),
}


@pytest.mark.parametrize("look", LOOKS)
def test_what_is_looked_for_is_seen_when_it_is_there(look: str) -> None:
    found = run_all(looking(LOOKS[look]), schedulers(range(3)))

    assert {seen.trace.verdict for seen in found} == {Verdict.PASSED}
    # Somebody else could always go on, so that no time passed.
    assert {seen.operation("poll").value for seen in found} == {0.0}


def test_a_search_through_all_orders_of_a_loop_comes_to_an_end() -> None:
    result = explore(looking(LOOKS["exists"]), Options(budget=Budget(executions=500)))

    assert result.verdict is Verdict.PASSED
    assert result.executions < 100
    assert result.bounds["exhaustive"] == result.executions
    # In all of them it looks no more often in vain than is said.
    assert result.coverage is Coverage.CUT
    assert ASSUMED_OF_SPINS in result.assumptions


def test_a_program_that_reads_equal_pieces_does_not_spin() -> None:
    made = Scenario("spinning")

    @made.setup
    def setup(box: Path) -> None:
        (box / "zeros").write_bytes(bytes(200 * 512))

    @made.actor
    def act(box: Path) -> list[float]:
        start = time.monotonic()
        with open(box / "zeros", "rb", buffering=0) as file:
            pieces = sum(1 for _ in iter(lambda: file.read(512), b""))
        return [pieces, time.monotonic() - start]

    assert run(made).operation("act").value == [200, 0.0]


# What waits for a clock, without any call that a tracer would see.


def until(clock: Callable[[], float]) -> Callable[[], float]:
    def act() -> float:
        start = clock()
        while clock() < start + MINUTE:
            pass
        return clock() - start

    return act


def alone(act: Callable[..., object], **options: Any) -> Seen:  # noqa: ANN401
    made = Scenario("spinning", **options)
    made.actor(act, name="one")
    return run(made)


CLOCKS = {
    "monotonic": time.monotonic,
    "time": time.time,
    "perf_counter": time.perf_counter,
    "boottime": lambda: time.clock_gettime(time.CLOCK_BOOTTIME),
}


@pytest.mark.parametrize("clock", CLOCKS)
def test_a_loop_around_a_clock_ends(clock: str) -> None:
    seen = alone(until(CLOCKS[clock]))

    assert seen.trace.verdict is Verdict.PASSED
    value: Any = seen.operation("one").value
    assert MINUTE <= value < 2.5 * MINUTE


def test_a_loop_around_a_clock_is_told_the_same_times_each_time() -> None:
    made = Scenario("spinning")
    made.actor(until(time.monotonic), name="one")

    found = run_all(made, [RandomWalkScheduler(0) for _ in range(4)])

    assert len({seen.operation("one").value for seen in found}) == 1
    assert all(seen.trace == found[0].trace for seen in found)


def test_reading_the_clock_is_as_fast_as_before_once_a_loop_has_ended() -> None:
    def act(box: Path) -> float:
        until(time.monotonic)()
        (box / "file").touch()
        spent = time.process_time()
        for _ in range(20_000):
            time.monotonic()
        return time.process_time() - spent

    value: Any = alone(act).operation("one").value
    # A stop costs the program itself some microseconds, a look at a table none.
    assert value < 0.05


def test_a_program_that_only_computes_sees_no_time_pass() -> None:
    def act() -> list[float]:
        start, spent = time.monotonic(), time.process_time() + 0.3
        while time.process_time() < spent:
            sum(range(10_000))
        return [time.monotonic() - start, time.monotonic() - start]

    assert alone(act).operation("one").value == [0.0, 0.0]


def test_a_loop_around_a_clock_without_end_is_stuck() -> None:
    def act() -> None:
        while time.time() > 0:
            pass

    seen = alone(act)

    assert seen.trace.verdict is Verdict.VIOLATED
    assert seen.trace.reason == "one spins: wake(clock, 1) = 0, over and over"
    assert {each.invariant for each in seen.trace.violations} == {"progress"}


def test_others_go_on_while_one_waits_for_a_clock() -> None:
    made = Scenario("spinning")
    made.actor(until(time.monotonic), name="spin")

    @made.actor
    def sleep(box: Path) -> list[float]:
        start = time.monotonic()
        found = []
        for _ in range(3):
            time.sleep(10)
            (box / "file").touch()
            found.append(time.monotonic() - start)
        return found

    for seen in run_all(made, schedulers(range(1))):
        assert seen.trace.verdict is Verdict.PASSED
        assert seen.operation("sleep").value == [10.0, 20.0, 30.0]


def poll_without_waiting() -> float:
    start = time.monotonic()
    while time.monotonic() < start + MINUTE:
        select.select([], [], [], 0)
    return time.monotonic() - start


def wait_for_nobody() -> float:
    child = os.fork()
    if not child:
        time.sleep(MINUTE)
        os._exit(0)
    start = time.monotonic()
    while os.waitpid(child, os.WNOHANG) == (0, 0):
        pass
    return time.monotonic() - start


def give_way() -> float:
    start = time.monotonic()
    while time.monotonic() < start + MINUTE:
        os.sched_yield()
    return time.monotonic() - start


def sleep_for_nothing() -> float:
    start = time.monotonic()
    while time.monotonic() < start + MINUTE:
        time.sleep(0)
    return time.monotonic() - start


@pytest.mark.parametrize(
    "act",
    [poll_without_waiting, wait_for_nobody, give_way, sleep_for_nothing],
    ids=lambda act: act.__name__,
)
def test_a_loop_around_calls_that_do_not_wait_ends(act: Callable[[], float]) -> None:
    seen = alone(act)

    assert seen.trace.verdict is Verdict.PASSED, seen.trace.reason
    value: Any = seen.operation("one").value
    assert MINUTE <= value < 2.5 * MINUTE


def test_a_loop_around_a_flag_that_a_handler_sets_ends() -> None:
    def act() -> float:
        flags: list[int] = []
        signal.signal(signal.SIGALRM, lambda *_: flags.append(1))
        start = time.monotonic()
        signal.alarm(60)
        while not flags:
            time.monotonic()
        return time.monotonic() - start

    assert alone(act).operation("one").value == MINUTE


@pytest.mark.compiler
@pytest.mark.parametrize("option", ["", "-static"])
@pytest.mark.parametrize("way", ["spin", "spin_time", "spin_day", "spin_by_call"])
def test_a_loop_of_a_program_in_c_ends(
    sleeper: Callable[[str], Path], option: str, way: str
) -> None:
    made = Scenario("spinning")
    made.actor(command([str(sleeper(option)), way]), name="one")

    seen = run(made)

    assert seen.trace.verdict is Verdict.PASSED, seen.trace.reason
    *clocks, seconds = map(float, seen.printed["one"].split())
    assert len(set(clocks)) == 1
    assert 3600 <= clocks[0] < 3 * 3600
    assert abs(seconds - clocks[0]) <= 1


def test_a_loop_around_a_call_that_is_no_step_is_ended() -> None:
    def act() -> None:
        while True:
            os.getpid()

    seen = alone(act, max_cpu_s=0.3)

    assert seen.trace.verdict is Verdict.VIOLATED
    assert "one ran for 0.3 s without a step" in seen.trace.violations[0].message


def test_what_a_polling_program_does_wrong_is_found() -> None:
    # It looks and then makes, as two calls: a lock that two can have.
    made = Scenario("spinning")

    @made.setup
    def setup(box: Path) -> None:
        (box / "count").write_text("0")

    @made.actor(count=2)
    def act(box: Path) -> None:
        while (box / "lock").exists():
            pass
        (box / "lock").touch()
        number = int((box / "count").read_text())
        (box / "count").write_text(str(number + 1))
        (box / "lock").unlink(missing_ok=True)

    found = run_all(made, [RandomWalkScheduler(seed) for seed in range(20)])
    assert {seen.files["count"] for seen in found} == {"1", "2"}
