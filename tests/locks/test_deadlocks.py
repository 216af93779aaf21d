"""Guards circles of waiting: who is told, as the kernel would, and who has what."""

from __future__ import annotations

import errno
import fcntl
import os
from typing import TYPE_CHECKING

import pytest

from racecheck.api import Options, explore
from racecheck.invariants import invariant
from racecheck.model import Verdict
from racecheck.report import render
from racecheck.report.circle import circle as circle_of
from racecheck.scenario import Budget, Scenario
from racecheck.scheduling import RandomWalkScheduler
from tests.engine.lab import Seen, run, run_all
from tests.locks.kinds import ALL, FLOCK, OFD, POSIX, Lock, create

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from racecheck.model import History, View
    from racecheck.scenario import Me

pytestmark = pytest.mark.processes

DEADLOCK = errno.EDEADLK


def circle(lock: Lock, count: int) -> Scenario:
    """Return actors of whom each takes one lock, and then the next one's."""
    made = Scenario("deadlocks", expect="deadlock")

    @made.actor(count=count, raises=OSError)
    def act(box: Path, me: Me) -> None:
        first = lock.open(box / str(me.index))
        second = lock.open(box / str((me.index + 1) % count))
        os.close(second)
        os.close(first)

    return made


def crossed(lock: Lock, count: int) -> list[str]:
    """Return a script in which everybody has one lock, and then wants another."""
    names = [f"act-{number + 1}" for number in range(count)]
    got = [line for name in names for line in (f"{name} to {lock.call}", name)]
    return [*got, *(f"{name} to end" for name in names)]


@pytest.mark.parametrize("lock", [FLOCK, OFD], ids=lambda lock: lock.name)
@pytest.mark.parametrize("count", [2, 3])
def test_a_circle_that_the_kernel_does_not_see_is_a_deadlock(
    lock: Lock, count: int
) -> None:
    seen = run(circle(lock, count), *crossed(lock, count))

    # Opening and taking are two steps.
    parts = [
        f"act-{n + 1} in {lock.call} {(n + 1) % count}, held by "
        f"act-{(n + 1) % count + 1} since step {2 * ((n + 1) % count) + 1}"
        for n in range(count)
    ]
    assert seen.trace.verdict is Verdict.DEADLOCKED
    assert seen.trace.reason == f"waiting for ever: {'; '.join(parts)}"
    for n in range(count):
        (step,) = [s for s in seen.trace.steps if s.index == 2 * n + 1]
        assert (step.actor, step.call, step.result) == (f"act-{n + 1}", lock.call, 0)


@pytest.mark.parametrize("count", [2, 3, 5])
def test_who_would_close_a_circle_of_process_locks_is_told_so(count: int) -> None:
    seen = run(circle(POSIX, count), *crossed(POSIX, count))

    last = seen.operation(f"act-{count}")
    assert last.exception == "builtins.OSError"
    assert os.strerror(DEADLOCK) in last.shown
    for n in range(count - 1):
        assert seen.operation(f"act-{n + 1}").succeeded
    assert seen.trace.verdict is Verdict.PASSED
    assert "fcntl(4, F_SETLKW, F_WRLCK, SEEK_SET, 0, 0, 0) = EDEADLK" in seen.shown(
        f"act-{count}"
    )


def test_in_a_longer_circle_than_the_kernel_follows_nobody_is_told() -> None:
    # As measured with processes that nobody controls.
    found = [run(circle(POSIX, n), *crossed(POSIX, n)).trace for n in (12, 13)]

    assert [trace.verdict for trace in found] == [Verdict.PASSED, Verdict.DEADLOCKED]


@ALL
def test_a_circle_is_met_by_some_orders_and_not_by_others(lock: Lock) -> None:
    schedulers = [RandomWalkScheduler(seed) for seed in range(20)]
    found = run_all(circle(lock, 2), schedulers)

    endings = {
        (seen.trace.verdict, *(each.shown for each in seen.trace.operations))
        for seen in found
    }
    bad = Verdict.PASSED if lock is POSIX else Verdict.DEADLOCKED
    assert len(endings) > 1
    assert {verdict for verdict, *_ in endings} == {Verdict.PASSED, bad}


def test_both_who_may_be_told_of_a_circle_are_found_by_a_search() -> None:
    rules = [first_not, second_not]
    made = Scenario(
        "deadlocks/search", invariants=rules, expect={"first_not", "second_not"}
    )

    @made.actor(count=2, raises=OSError)
    def act(box: Path, me: Me) -> str:
        try:
            for index in (me.index, 1 - me.index):
                POSIX.open(box / str(index))
        except OSError:
            (box / f"told-{me.index}").mkdir()
            raise
        return "both"

    result = explore(made, Options(budget=Budget(executions=500), scheduler="dpor"))

    assert result.as_expected, result


@invariant
def first_not(view: View, history: History) -> bool:
    del history
    return not view.exists("told-0")


@invariant
def second_not(view: View, history: History) -> bool:
    del history
    return not view.exists("told-1")


@ALL
def test_who_waits_for_himself_is_the_smallest_circle(lock: Lock) -> None:
    made = Scenario("deadlocks")

    @made.actor
    def act(box: Path) -> str:
        lock.open(box / "lock")
        lock.open(box / "lock")
        return "both"

    seen = run(made)

    if lock is POSIX:
        # A process has its locks whatever descriptor they were taken by.
        assert seen.operation("act").value == "both"
    else:
        assert seen.trace.verdict is Verdict.DEADLOCKED
        assert seen.trace.reason == (
            f"waiting for ever: act in {lock.call} lock, held by itself since step 1"
        )


def test_two_who_share_and_both_want_more_are_a_circle_of_process_locks() -> None:
    made = Scenario("deadlocks")

    @made.actor(count=2, raises=OSError)
    def act(box: Path) -> None:
        held = create(box / "lock")
        POSIX.take(held, fcntl.LOCK_SH)
        POSIX.take(held, fcntl.LOCK_EX)

    seen = run(made, *crossed(POSIX, 2))

    assert os.strerror(DEADLOCK) in seen.operation("act-2").shown
    assert seen.operation("act-1").succeeded


def test_two_who_share_a_flock_and_both_want_more_lose_what_they_had() -> None:
    made = Scenario("deadlocks")

    @made.actor(count=2)
    def act(box: Path) -> None:
        held = create(box / "lock")
        FLOCK.take(held, fcntl.LOCK_SH)
        FLOCK.take(held, fcntl.LOCK_EX)

    seen = run(made, *crossed(FLOCK, 2))

    # The first gives up its shared lock to wait, so that the second need not wait.
    assert results(seen, "act-1") == [0, -errno.EAGAIN, 0]
    assert results(seen, "act-2") == [0, 0]
    assert seen.trace.verdict is Verdict.PASSED


def results(seen: Seen, actor: str) -> Sequence[int]:
    return [step.result for step in seen.of(actor, "flock", "lock")]


def test_a_circle_of_two_kinds_of_locks_is_a_deadlock() -> None:
    made = Scenario("deadlocks")

    @made.actor
    def one(box: Path) -> None:
        FLOCK.open(box / "a")
        POSIX.open(box / "b")

    @made.actor
    def two(box: Path) -> None:
        POSIX.open(box / "b")
        FLOCK.open(box / "a")

    order = ["one to flock", "one", "two to fcntl", "two", "one to end"]
    seen = run(made, *order)

    assert seen.trace.verdict is Verdict.DEADLOCKED
    assert seen.trace.reason == (
        "waiting for ever: one in fcntl b, held by two since step 3; "
        "two in flock a, held by one since step 1"
    )


def test_a_wait_for_a_lock_of_an_open_file_closes_no_circle_for_the_kernel() -> None:
    made = Scenario("deadlocks")

    @made.actor
    def one(box: Path) -> None:
        OFD.open(box / "a")
        POSIX.open(box / "b")

    @made.actor
    def two(box: Path) -> None:
        POSIX.open(box / "b")
        POSIX.open(box / "a")

    seen = run(made, "one to fcntl", "one", "two to fcntl", "two", "one to end")

    assert seen.trace.verdict is Verdict.DEADLOCKED


def test_many_who_hold_a_lock_are_all_named() -> None:
    made = Scenario("deadlocks")

    @made.actor(count=2)
    def share(box: Path) -> None:
        FLOCK.take(create(box / "lock"), fcntl.LOCK_SH)
        FLOCK.open(box / "other")

    @made.actor
    def want(box: Path) -> None:
        FLOCK.open(box / "other")
        FLOCK.open(box / "lock")

    order = ["share-1 to flock", "share-1", "share-2 to flock", "share-2"]
    seen = run(made, *order, "want to flock", "want", "want to end")

    assert seen.trace.reason.endswith(
        "want in flock lock, held by share-1 since step 1 and share-2 since step 3"
    )


def test_a_deadlock_is_told_with_the_lines_that_took_and_that_wait() -> None:
    made = Scenario("deadlocks/lines", expect="deadlock")

    @made.actor
    def one(box: Path) -> None:
        first, second = create(box / "a"), create(box / "b")
        fcntl.flock(first, fcntl.LOCK_EX)
        fcntl.flock(second, fcntl.LOCK_EX)

    @made.actor
    def two(box: Path) -> None:
        other, last = create(box / "b"), create(box / "a")
        fcntl.flock(other, fcntl.LOCK_EX)
        fcntl.flock(last, fcntl.LOCK_EX)

    (finding,) = explore(made, Options(budget=Budget(executions=100))).findings
    parts = [(part.text, part.place) for part in circle_of(finding.trace)]

    # Shrunk, it is always the same two that take what the other wants.
    told = [(text.split()[0], place.text) for text, place in parts if place]
    assert sorted(told) == [
        ("one", "fcntl.flock(first, fcntl.LOCK_EX)"),
        ("one", "fcntl.flock(second, fcntl.LOCK_EX)"),
        ("two", "fcntl.flock(last, fcntl.LOCK_EX)"),
        ("two", "fcntl.flock(other, fcntl.LOCK_EX)"),
    ]
    assert [text.split()[1] for text, _ in parts] == ["waits", "waits", "took", "took"]
    text = render(finding.trace)
    for _, place in parts:
        assert place is not None
        assert f"{place.where} {place.text}" in text
