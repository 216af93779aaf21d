"""Guards timeouts of locks that are made of an alarm: its handler runs in a waiter."""

from __future__ import annotations

import os
import signal
import time
from typing import TYPE_CHECKING, NoReturn

import pytest

from racecheck.model import Verdict
from racecheck.scenario import Scenario, command, stall
from tests.engine.lab import run
from tests.locks.kinds import ALL, FLOCK, Lock

if TYPE_CHECKING:
    from pathlib import Path

    from racecheck.model import PlannedFault

pytestmark = pytest.mark.processes


class AlarmedError(Exception):
    """The alarm went off."""


def give_up(number: int, frame: object) -> NoReturn:
    del number, frame
    raise AlarmedError


def locking(lock: Lock, *faults: PlannedFault, held_s: float = 0) -> Scenario:
    """Return who sleeps with the lock, and who waits for it for a minute."""
    made = Scenario("alarms", faults=faults)

    @made.actor
    def holder(box: Path) -> None:
        held = lock.open(box / "lock")
        time.sleep(held_s)
        (box / "held").mkdir()
        os.close(held)

    @made.actor
    def waiter(box: Path) -> list[object]:
        signal.signal(signal.SIGALRM, give_up)
        start = time.monotonic()
        signal.alarm(60)
        try:
            lock.open(box / "lock")
            got = True
        except AlarmedError:
            got = False
        left = signal.alarm(0)
        return [got, time.monotonic() - start, left]

    return made


def taken(lock: Lock) -> tuple[str, str]:
    """Return the part of a script in which the holder gets the lock."""
    return f"holder to {lock.call}", "holder"


@ALL
def test_an_alarm_ends_the_wait_for_a_lock_that_is_held_too_long(lock: Lock) -> None:
    seen = run(locking(lock, held_s=3600), *taken(lock), "waiter to end")

    assert seen.operation("waiter").value == [False, 60.0, 0]
    assert seen.trace.verdict is Verdict.PASSED


@ALL
def test_an_alarm_that_is_not_needed_is_taken_back(lock: Lock) -> None:
    seen = run(locking(lock, held_s=20.5), *taken(lock), "waiter to end")

    # What is left of a minute after 20.5 seconds is 39.5, and 40 in whole ones.
    assert seen.operation("waiter").value == [True, 20.5, 40]


@ALL
def test_a_stalled_holder_makes_a_waiter_time_out(lock: Lock) -> None:
    made = locking(lock, stall("holder", 3600, on="mkdir"))

    seen = run(made, *taken(lock), "holder", "waiter to end")

    assert seen.operation("waiter").value == [False, 60.0, 0]
    assert seen.files["held"] == "folder"
    assert seen.trace.verdict is Verdict.PASSED


@ALL
def test_an_alarm_before_the_first_try_comes_after_it_if_the_lock_is_free(
    lock: Lock,
) -> None:
    # The waiter is held up before its call, and the alarm goes off meanwhile.
    made = locking(lock, stall("waiter", 100, on=lock.call))

    seen = run(made, f"waiter to {lock.call}", "waiter", "holder to end")

    assert seen.operation("waiter").value == [False, 100.0, 0]
    assert [step.result for step in seen.of("waiter", lock.call)][-1] == 0


@ALL
def test_an_alarm_before_the_first_try_ends_a_try_that_would_wait(lock: Lock) -> None:
    made = locking(lock, stall("waiter", 100, on=lock.call), held_s=3600)

    seen = run(made, *taken(lock), "waiter to end")

    assert seen.operation("waiter").value == [False, 100.0, 0]
    assert [step.result for step in seen.of("waiter", lock.call)][-1] == -11


def test_an_alarm_that_repeats_goes_off_again_and_again() -> None:
    made = Scenario("alarms")

    @made.actor
    def holder(box: Path) -> None:
        FLOCK.open(box / "lock")
        time.sleep(10)

    @made.actor
    def waiter(box: Path) -> list[float]:
        start = time.monotonic()
        alarms: list[float] = []
        signal.signal(
            signal.SIGALRM, lambda *_: alarms.append(time.monotonic() - start)
        )
        signal.setitimer(signal.ITIMER_REAL, 3, 2.5)
        # Python makes the call again after a handler that does not raise.
        FLOCK.open(box / "lock")
        signal.setitimer(signal.ITIMER_REAL, 0)
        return [*alarms, time.monotonic() - start]

    seen = run(made, *taken(FLOCK), "waiter to end")

    assert seen.operation("waiter").value == [3.0, 5.5, 8.0, 10.0]


def test_an_alarm_that_nobody_handles_ends_a_waiter() -> None:
    made = Scenario("alarms")

    @made.actor
    def holder(box: Path) -> None:
        FLOCK.open(box / "lock")
        time.sleep(100)

    @made.actor
    def waiter(box: Path) -> None:
        signal.alarm(60)
        FLOCK.open(box / "lock")

    seen = run(made, *taken(FLOCK), "waiter to end")

    ends = {end.actor: end.status for end in seen.trace.ends}
    assert ends == {"waiter": -signal.SIGALRM, "holder": 0}


@pytest.mark.compiler
@ALL
def test_a_program_whose_calls_are_restarted_waits_on_after_an_alarm(
    waiter: Path, lock: Lock
) -> None:
    assert minute(waiter, lock, "restart") == "got it after 90 s with 1 alarms\n"


@pytest.mark.compiler
@ALL
def test_a_program_whose_calls_are_not_restarted_is_told_of_the_alarm(
    waiter: Path, lock: Lock
) -> None:
    text = minute(waiter, lock, "interrupt")

    assert text == "Interrupted system call after 60 s with 1 alarms\n"


def minute(program: Path, lock: Lock, mode: str) -> str:
    """Return what the program prints that waits for a lock held for 90 seconds."""
    made = Scenario("alarms")

    @made.actor
    def holder(box: Path) -> None:
        lock.open(box / "lock")
        time.sleep(90)

    made.actor(command([str(program), "lock", lock.name, mode]), name="waiter")
    seen = run(made, *taken(lock), "waiter to end")
    assert seen.trace.verdict is Verdict.PASSED
    return seen.printed["waiter"]
