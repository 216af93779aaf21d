"""Guards waiting for locks: tried, parked, never hung; a deadlock is called one."""

from __future__ import annotations

import fcntl
import os
from typing import TYPE_CHECKING

import pytest

from racecheck.model import Verdict
from racecheck.scenario import Scenario, crash
from racecheck.scheduling import PlannedFaultsScheduler, RandomWalkScheduler
from tests.engine.lab import Script, run, run_all

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.processes


def flock(box: Path, name: str) -> int:
    descriptor = os.open(box / name, os.O_RDWR | os.O_CREAT, 0o644)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    return descriptor


def posix(box: Path, name: str) -> int:
    descriptor = os.open(box / name, os.O_RDWR | os.O_CREAT, 0o644)
    fcntl.lockf(descriptor, fcntl.LOCK_EX)
    return descriptor


def ofd(box: Path, name: str) -> int:
    descriptor = os.open(box / name, os.O_RDWR | os.O_CREAT, 0o644)
    # struct flock: type F_WRLCK, whence, start, length, pid.
    fcntl.fcntl(descriptor, 38, bytes([1, 0]) + bytes(30))
    return descriptor


LOCKS = pytest.mark.parametrize("lock", [flock, posix, ofd])


def counting(lock: Callable[[Path, str], int], actors: int = 2) -> Scenario:
    """Return actors that each add one to a file, under a lock."""
    made = Scenario("locks")

    @made.setup
    def setup(box: Path) -> None:
        (box / "count").write_text("0")

    @made.actor(count=actors)
    def act(box: Path) -> None:
        held = lock(box, "lock")
        count = int((box / "count").read_text())
        (box / "count").write_text(str(count + 1))
        os.close(held)

    return made


@LOCKS
def test_an_actor_that_finds_a_lock_taken_is_parked_until_it_is_free(
    lock: Callable[[Path, str], int],
) -> None:
    made = counting(lock)

    seen = run(made, "act-1 to read", "act-2 to end", "act-1 to end", "act-2 to end")

    assert seen.files["count"] == "2"
    assert seen.trace.verdict is Verdict.PASSED
    tries = [step.result for step in seen.of("act-2", "flock", "lock")]
    assert tries == [-11, 0]
    assert [step.result for step in seen.of("act-1", "flock", "lock")] == [0]


@LOCKS
def test_no_order_makes_a_locked_program_hang_or_lose_an_update(
    lock: Callable[[Path, str], int],
) -> None:
    found = run_all(counting(lock, 3), [RandomWalkScheduler(seed) for seed in range(8)])

    assert {seen.files["count"] for seen in found} == {"3"}
    assert {seen.trace.verdict for seen in found} == {Verdict.PASSED}
    # Some of those orders did make somebody wait.
    assert any(step.result == -11 for seen in found for step in seen.trace.steps)


def test_the_scheduler_decides_who_gets_a_lock_that_two_wait_for() -> None:
    made = counting(flock, 3)
    head = ["act-1 to read", "act-2 to end", "act-3 to end"]
    second, third = (
        run(made, *head, "act-1 to exit", f"{winner} to read")
        for winner in ("act-2", "act-3")
    )

    for seen, winner in ((second, "act-2"), (third, "act-3")):
        won = [
            step.actor
            for step in seen.trace.steps
            if step.kind == "flock" and step.result == 0
        ]
        assert won[:2] == ["act-1", winner]
        assert seen.files["count"] == "3"


@pytest.mark.parametrize("way", ["unlock", "close", "dup2", "exit", "exec", "crash"])
def test_every_way_of_letting_a_lock_go_wakes_who_waits(way: str) -> None:
    made = Scenario("locks")

    @made.actor(raises=SystemExit)
    def one(box: Path) -> None:
        held = flock(box, "lock")
        (box / "file").touch()
        if way == "unlock":
            fcntl.flock(held, fcntl.LOCK_UN)
        elif way == "close":
            os.close(held)
        elif way == "dup2":
            os.dup2(0, held)
        elif way == "exit":
            os._exit(0)
        elif way == "exec":
            os.execvp("true", ["true"])  # noqa: S606  that is the way
        (box / "more").touch()

    @made.actor
    def two(box: Path) -> None:
        flock(box, "lock")

    plan = [crash("one", on="openat", occurrence=3)] if way == "crash" else []
    (seen,) = run_all(
        made,
        [PlannedFaultsScheduler(Script("one to flock", "one", "two to end"), plan)],
    )

    assert [step.result for step in seen.of("two", "flock")] == [-11, 0]
    assert seen.operation("two").succeeded


def test_shared_locks_exclude_only_exclusive_ones() -> None:
    made = Scenario("locks")

    @made.actor(count=2)
    def read(box: Path) -> None:
        descriptor = os.open(box, os.O_RDONLY)
        fcntl.flock(descriptor, fcntl.LOCK_SH)

    @made.actor
    def write(box: Path) -> None:
        descriptor = os.open(box, os.O_RDONLY)
        fcntl.flock(descriptor, fcntl.LOCK_EX)

    seen = run(
        made, "read-1 to return", "read-2 to return", "write to end", "read-1 to end"
    )

    results = {
        actor: [step.result for step in seen.of(actor, "flock")]
        for actor in ("read-1", "read-2", "write")
    }
    # The first reader's end lets the writer try again, in vain.
    assert results["read-1"] == results["read-2"] == [0]
    assert results["write"][0] == -11
    assert results["write"][-1] == 0


def test_a_lock_that_is_only_tried_fails_as_the_program_asked() -> None:
    made = Scenario("locks")

    @made.actor
    def one(box: Path) -> None:
        flock(box, "lock")

    @made.actor
    def two(box: Path) -> str:
        descriptor = os.open(box / "lock", os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return "taken"
        return "got it"

    assert run(made, "one to return", "two to end").operation("two").value == "taken"
    assert run(made, "one to end").operation("two").value == "got it"


@LOCKS
def test_two_locks_taken_in_two_orders_are_a_deadlock(
    lock: Callable[[Path, str], int],
) -> None:
    made = Scenario("locks")

    @made.actor
    def one(box: Path) -> None:
        lock(box, "first")
        lock(box, "second")

    @made.actor
    def two(box: Path) -> None:
        lock(box, "second")
        lock(box, "first")

    call = "flock" if lock is flock else "fcntl"
    crossed = [f"one to {call}", "one", f"two to {call}", "two"]
    seen = run(made, *crossed)

    if lock is posix:
        # The kernel sees it, and tells the one who would have closed the circle.
        assert seen.trace.verdict is Verdict.VIOLATED
        assert seen.operation("one").exception == "builtins.OSError"
    else:
        assert seen.trace.verdict is Verdict.DEADLOCKED
        assert seen.trace.reason == (
            f"waiting for ever: one in {call} second, held by two since step 3; "
            f"two in {call} first, held by one since step 1"
        )
    assert run(made, "one to end", "two to end").trace.verdict is Verdict.PASSED


def test_an_actor_that_waits_for_itself_is_a_deadlock() -> None:
    made = Scenario("locks")

    @made.actor
    def one(box: Path) -> None:
        flock(box, "lock")
        flock(box, "lock")

    seen = run(made)

    assert seen.trace.verdict is Verdict.DEADLOCKED
    assert seen.trace.reason == (
        "waiting for ever: one in flock lock, held by itself since step 1"
    )


def test_who_waits_while_another_hangs_is_not_a_deadlock() -> None:
    made = Scenario("locks", max_steps=60)

    @made.actor
    def one(box: Path) -> None:
        flock(box, "lock")
        while True:
            (box / "lock").exists()

    @made.actor
    def two(box: Path) -> None:
        flock(box, "lock")

    seen = run(made, "one to stat", "two to end")

    assert seen.trace.verdict is Verdict.VIOLATED
    assert {each.invariant for each in seen.trace.violations} == {"progress"}


def test_the_argument_of_a_lost_try_is_whole_again() -> None:
    # Compilers rely on registers that a system call does not change.
    made = Scenario("locks")

    @made.actor
    def one(box: Path) -> None:
        os.close(flock(box, "lock"))

    @made.actor
    def two(box: Path) -> None:
        os.close(flock(box, "lock"))

    seen = run(made, "one to close", "two to end", "one to end", "two to end")

    commands = [step.args["command"] for step in seen.of("two", "flock")]
    assert commands == ["LOCK_EX", "LOCK_EX"]
