"""Guards waiting for a lock: who is let go, when, and in which orders."""

from __future__ import annotations

import fcntl
import itertools
import math
import os
import signal
from typing import TYPE_CHECKING

import pytest

from racecheck.api import Options, explore
from racecheck.model import Coverage, Verdict
from racecheck.scenario import Budget, Scenario, crash
from racecheck.scheduling import RandomWalkScheduler
from tests.engine.lab import Seen, run, run_all
from tests.locks.kinds import ALL, FLOCK, OFD, POSIX, RANGES, Lock, create

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from racecheck.scenario import Me

pytestmark = pytest.mark.processes


def appending(lock: Lock, count: int = 3) -> Scenario:
    """Return actors who add their number to a file, one after the other."""
    made = Scenario("locks")

    @made.actor(count=count)
    def act(box: Path, me: Me) -> None:
        held = lock.open(box / "lock")
        order = create(box / "order")
        os.lseek(order, 0, os.SEEK_END)
        os.write(order, str(me.index).encode())
        os.close(order)
        os.close(held)

    return made


def tries(seen: Seen, actor: str) -> list[int]:
    return [step.result for step in seen.of(actor, "flock", "lock")]


@ALL
def test_every_order_of_three_waiters_is_reached_and_a_seed_repeats_its_own(
    lock: Lock,
) -> None:
    # Each order has 1/6, and the seeds are always the same.
    seeds = range(30)
    found = run_all(appending(lock), [RandomWalkScheduler(seed) for seed in seeds])
    again = run_all(appending(lock), [RandomWalkScheduler(seed) for seed in seeds[:10]])

    orders = {seen.files["order"] for seen in found}
    assert orders == {"".join(order) for order in itertools.permutations("012")}
    assert {seen.trace.verdict for seen in found} == {Verdict.PASSED}
    assert [seen.trace.steps for seen in again] == [
        seen.trace.steps for seen in found[:10]
    ]


@ALL
def test_who_gets_a_lock_that_two_wait_for_is_a_choice(lock: Lock) -> None:
    head = ["act-1 to lseek", "act-2 to end", "act-3 to end", "act-1 to end"]
    for winner, order in (("act-2", "012"), ("act-3", "021")):
        seen = run(appending(lock), *head, f"{winner} to end")

        assert seen.files["order"] == order
        # The loser was let go too, tried again, and waited on.
        assert tries(seen, "act-2") == [-11, 0] if winner == "act-2" else [-11, -11, 0]


@ALL
def test_the_orders_of_locked_programs_can_all_be_covered(lock: Lock) -> None:
    made = appending(lock, 2)
    made.name = "locks/all"
    result = explore(made, Options(budget=Budget(executions=2000)))

    assert result.verdict is Verdict.PASSED
    assert result.coverage is Coverage.COMPLETE
    # Fewer than one for each order of the calls, which there are thousands of.
    assert math.factorial(2) <= result.executions <= 20


def let_go(lock: Lock, way: str, held: int, box: Path) -> None:
    if way == "unlock":
        lock.let_go(held)
    elif way == "close":
        os.close(held)
    elif way == "close_range":
        os.closerange(held, held + 100)
    elif way == "dup2":
        os.dup2(0, held)
    elif way == "close of another":
        os.close(os.open(box / "lock", os.O_RDONLY))
    elif way == "exit":
        os._exit(0)
    elif way == "exec":
        os.execvp("true", ["true"])  # noqa: S606  a shell would have its own steps
    else:
        os.kill(os.getpid(), signal.SIGKILL)


AT_ONCE = ["unlock", "close", "close_range", "dup2"]
AT_THE_END = ["exit", "exec", "killed", "crash"]


@pytest.mark.parametrize("way", [*AT_ONCE, *AT_THE_END, "close of another"])
@ALL
def test_every_way_of_letting_a_lock_go_lets_a_waiter_try_again(
    lock: Lock, way: str
) -> None:
    made = Scenario(
        "locks", faults=[crash("one", on="chmod")] if way == "crash" else ()
    )

    @made.actor(raises=SystemExit)
    def one(box: Path) -> None:
        held = lock.open(box / "lock")
        (box / "locked").mkdir()
        if way != "crash":
            let_go(lock, way, held, box)
        (box / "lock").chmod(0o600)

    @made.actor
    def two(box: Path) -> None:
        lock.open(box / "lock")

    # Locks of processes end with any descriptor of the file, the others with their own.
    keeps = way in AT_THE_END or (way == "close of another" and lock is not POSIX)
    until = "one to end" if keeps else "one to chmod"
    seen = run(made, "one to mkdir", "two to end", until, "two to return")

    assert tries(seen, "two") == [-11, 0]
    assert seen.operation("two").succeeded


@ALL
def test_letting_another_lock_go_wakes_nobody(lock: Lock) -> None:
    made = Scenario("locks")

    @made.actor
    def one(box: Path) -> None:
        held, other = lock.open(box / "lock"), lock.open(box / "other")
        (box / "locked").mkdir()
        os.close(other)
        os.close(held)

    @made.actor
    def two(box: Path) -> None:
        lock.open(box / "lock")

    seen = run(made, "one to mkdir", "two to end", "one to end")

    assert tries(seen, "two") == [-11, 0]


@RANGES
def test_locks_of_other_bytes_keep_nobody_waiting(lock: Lock) -> None:
    made = Scenario("locks")

    @made.actor
    def one(box: Path) -> None:
        held = create(box / "lock")
        lock.take(held, fcntl.LOCK_EX, (0, 10))
        (box / "locked").mkdir()
        lock.take(held, fcntl.LOCK_EX, (20, 1))
        lock.let_go(held)

    @made.actor
    def two(box: Path) -> None:
        held = create(box / "lock")
        lock.take(held, fcntl.LOCK_EX, (10, 10))
        lock.take(held, fcntl.LOCK_EX, (9, 1))

    seen = run(made, "one to mkdir", "two to end", "one to end", "two to end")

    assert tries(seen, "two") == [0, -11, 0]


def test_a_process_that_shares_an_open_file_keeps_its_lock() -> None:
    made = Scenario("locks")

    @made.actor
    def one(box: Path) -> None:
        held = FLOCK.open(box / "lock")
        child = os.fork()
        if not child:
            (box / "child").mkdir()
            os._exit(0)
        os.close(held)
        (box / "closed").mkdir()
        os.waitpid(child, 0)

    @made.actor
    def two(box: Path) -> None:
        FLOCK.open(box / "lock")

    seen = run(made, "one to close", "two to end", "one to mkdir", "one:1 to end")

    assert tries(seen, "two") == [-11, 0]
    ended = next(step for step in seen.of("one", "exit") if step.task == 1)
    assert seen.of("two", "flock")[-1].index > ended.index
    assert seen.trace.verdict is Verdict.PASSED


def test_a_waiter_gets_a_lock_whose_holder_was_killed_by_its_own_kin() -> None:
    made = Scenario("locks")

    @made.actor
    def one(box: Path) -> None:
        read, write = os.pipe()
        child = os.fork()
        if not child:
            FLOCK.open(box / "lock")
            os.write(write, b".")
            signal.pause()
        os.read(read, 1)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        (box / "done").mkdir()

    @made.actor
    def two(box: Path) -> None:
        FLOCK.open(box / "lock")

    seen = run(
        made, "one:1 to flock", "one:1", "two to end", "one to mkdir", "two to end"
    )

    assert tries(seen, "two") == [-11, 0]
    assert seen.trace.verdict is Verdict.PASSED


def test_shared_locks_let_each_other_in_and_all_of_them_keep_a_writer_out() -> None:
    for lock in (FLOCK, POSIX, OFD):
        made = Scenario("locks")

        def read(box: Path, lock: Lock = lock) -> None:
            held = create(box / "lock")
            lock.take(held, fcntl.LOCK_SH)
            (box / f"read-{os.getpid()}").mkdir()
            os.close(held)

        def write(box: Path, lock: Lock = lock) -> None:
            lock.open(box / "lock")

        made.actor(read, count=2)
        made.actor(write)

        order = ["read-1 to mkdir", "read-2 to mkdir", "write to end", "read-1 to end"]
        seen = run(made, *order, "read-2 to end", "write to end")

        assert tries(seen, "write") == [-11, 0]
        assert tries(seen, "read-1") == tries(seen, "read-2") == [0]


def test_two_kinds_of_fcntl_locks_exclude_each_other_and_none_excludes_flock() -> None:
    made = Scenario("locks")

    @made.actor
    def one(box: Path) -> None:
        POSIX.open(box / "lock")
        (box / "locked").mkdir()

    @made.actor
    def two(box: Path) -> None:
        FLOCK.open(box / "lock")
        OFD.open(box / "lock")

    seen = run(made, "one to mkdir", "two to end", "one to end", "two to end")

    assert tries(seen, "two") == [0, -11, 0]


def test_a_lock_by_one_of_two_names_is_a_lock_of_the_file() -> None:
    made = Scenario("locks")

    @made.setup
    def setup(box: Path) -> None:
        (box / "lock").touch()
        (box / "same").hardlink_to(box / "lock")
        (box / "link").symlink_to("lock")

    @made.actor
    def one(box: Path) -> None:
        FLOCK.open(box / "lock")
        (box / "locked").mkdir()

    def other(box: Path, name: str) -> None:
        FLOCK.open(box / name)

    made.actor(lambda box: other(box, "same"), name="two")
    made.actor(lambda box: other(box, "link"), name="three")

    seen = run(made, "one to mkdir", "two to end", "three to end", "one to end")

    assert tries(seen, "two")[0] == tries(seen, "three")[0] == -11
    assert seen.trace.verdict is Verdict.PASSED


@pytest.mark.parametrize("replaced", [False, True])
def test_a_lock_file_that_was_replaced_is_another_lock(replaced: bool) -> None:  # noqa: FBT001  a parameter
    made = Scenario("locks")

    @made.actor
    def one(box: Path) -> None:
        FLOCK.open(box / "lock")
        if replaced:
            (box / "lock").unlink()
        (box / "locked").mkdir()

    @made.actor
    def two(box: Path) -> None:
        FLOCK.open(box / "lock")

    seen = run(made, "one to mkdir", "two to end", "one to end", "two to end")

    assert tries(seen, "two") == ([0] if replaced else [-11, 0])


def opened(name: str) -> Callable[[Path], None]:
    def act(box: Path) -> None:
        FLOCK.open(box / name)

    return act


def test_a_waiter_that_is_crashed_by_another_death_leaves_no_trace() -> None:
    made = Scenario("locks", faults=[crash("two", on="flock", occurrence=2)])
    made.actor(opened("lock"), name="one")
    made.actor(opened("lock"), name="two")
    made.actor(opened("lock"), name="three")

    order = ["one to return", "two to end", "three to end", "one to end"]
    seen = run(made, *order, "two to end", "three to end")

    assert tries(seen, "two") == [-11]
    assert tries(seen, "three") == [-11, 0]
    assert seen.trace.verdict is Verdict.PASSED
