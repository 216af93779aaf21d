"""Guards lock files as programs use them: whose holder lives, is killed, or is slow."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from racecheck.api import Options, explore
from racecheck.model import Ending, Kind, Verdict
from racecheck.scenario import Budget, crash, crashes, stall
from racecheck.scheduling import (
    PCTScheduler,
    PlannedFaultsScheduler,
    RandomWalkScheduler,
)
from tests.engine.calls import usual
from tests.engine.lab import Script, Seen, run, run_all
from tests.locks.subjects import (
    PATIENCE_S,
    SUBJECTS,
    endless_poll,
    hurried_poll,
    locked,
    lockf,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from racecheck.model import Scheduler
    from tests.locks.subjects import Subject

pytestmark = pytest.mark.processes

EACH = pytest.mark.parametrize("name", SUBJECTS)
RECOVERS = pytest.mark.parametrize("name", ["FileLock", "portalocker", "lockf"])
POLLED = pytest.mark.parametrize(
    "name", ["FileLock", "SoftFileLock", "portalocker", "poll"]
)


def walks(seeds: int) -> Sequence[Scheduler]:
    return [
        make(seed)
        for make in (RandomWalkScheduler, PCTScheduler)
        for seed in range(seeds)
    ]


@EACH
@pytest.mark.parametrize("count", [2, 3])
def test_a_lock_lets_one_at_a_time_in_and_all_in_the_end(name: str, count: int) -> None:
    found = run_all(locked(SUBJECTS[name], count=count), walks(4))

    assert {seen.trace.verdict for seen in found} == {Verdict.PASSED}
    assert {seen.files["count"] for seen in found} == {str(count)}
    # Somebody had to wait in some of them, if not in all, and it took no minute.
    waited = [
        each.value
        for seen in found
        for each in seen.trace.operations
        if isinstance(each.value, float)
    ]
    assert len(waited) == count * len(found)
    assert 0 < max(waited) < PATIENCE_S


def test_what_is_no_lock_is_found_out() -> None:
    found = run_all(locked(hurried_poll), walks(10))

    broken = {each.invariant for seen in found for each in seen.trace.violations}
    assert broken == {"exclusive"}
    assert any(seen.trace.verdict is Verdict.PASSED for seen in found)


def killed(
    subject: Subject, *, count: int, among_others: bool = True, max_steps: int = 10_000
) -> list[Seen]:
    """Kill the first actor before each of its steps: by itself, and among others."""
    made = locked(subject, count=count, max_steps=max_steps)
    steps = len(run(made, "act-1 to end").of("act-1"))
    return run_all(
        made,
        [
            PlannedFaultsScheduler(scheduler, [crash("act-1", occurrence=number)])
            for number in range(1, steps + 1)
            for scheduler in (Script("act-1 to end"), RandomWalkScheduler(number))
            if among_others or isinstance(scheduler, Script)
        ],
    )


@RECOVERS
@pytest.mark.parametrize("count", [2, 3])
def test_a_lock_of_the_kernel_is_free_when_its_holder_is_killed(
    name: str, count: int
) -> None:
    for seen in killed(SUBJECTS[name], count=count):
        assert seen.trace.verdict is Verdict.PASSED, seen.trace
        others = [
            each for each in seen.trace.operations if each.ending is not Ending.CRASHED
        ]
        assert len(others) >= count - 1
        assert all(each.succeeded for each in others)


def test_a_lock_file_of_who_was_killed_makes_others_give_up() -> None:
    given_up = []
    for seen in killed(SUBJECTS["poll"], count=2, among_others=False):
        assert seen.trace.verdict is Verdict.PASSED
        left = "lock" in seen.files
        other = seen.operation("act-2")
        if left and other.ending is Ending.RAISED:
            given_up.append(other.shown)
        else:
            # It was killed before it had the lock, or when the other had had it.
            assert other.succeeded
    assert set(given_up) == {"TimeoutError: lock is taken"}
    assert len(given_up) > 5


def test_a_lock_file_of_who_was_killed_breaks_progress_where_nobody_gives_up() -> None:
    blocked = []
    for seen in killed(endless_poll, count=2, among_others=False, max_steps=60):
        (crash_step,) = seen.of("act-1", "crash")
        if "lock" not in seen.files:
            # It was killed before it had the lock, or when it had let it go.
            assert seen.trace.verdict is Verdict.PASSED
            continue
        assert seen.trace.verdict is Verdict.VIOLATED
        assert [each.invariant for each in seen.trace.violations] == ["progress"]
        assert "act-2 operation 0 never ended" in seen.trace.violations[0].message
        blocked.append(crash_step.args["before"])
    # From the call after the one that makes the file to the one that removes it.
    assert (blocked[0], blocked[-1]) == ("close", "unlink")
    assert len(blocked) > 5


@pytest.mark.parametrize("subject", [lockf, endless_poll])
def test_a_search_says_which_lock_outlives_its_holder(subject: Subject) -> None:
    broken = {"progress"} if subject is endless_poll else set()
    made = locked(subject, crashes(), max_steps=200, expect=broken)

    result = explore(made, Options(budget=Budget(executions=60)))

    assert {each.invariant for each in result.findings} == broken, result.reason
    for each in result.findings:
        assert each.confirmed
        assert [step.kind for step in each.trace.steps].count(Kind.CRASH) == 1


def test_a_lock_file_that_names_its_owner_is_taken_over_once_it_does() -> None:
    taken_over, given_up = 0, []
    for seen in killed(SUBJECTS["SoftFileLock"], count=2, among_others=False):
        assert seen.trace.verdict is Verdict.PASSED
        other = seen.operation("act-2")
        taken_over += other.succeeded
        if not other.succeeded:
            given_up.append(seen.of("act-1")[-1].args["before"])

    assert taken_over > 10
    # Between the making of the file and the writing of the owner nobody can tell whose
    # it is, and nobody ever will.
    assert {usual(str(each)) for each in given_up} == {"newfstatat", "write"}


@POLLED
@pytest.mark.parametrize("count", [2, 3])
def test_others_give_up_in_time_on_a_holder_that_is_too_slow(
    name: str, count: int
) -> None:
    slow = stall("act-1", 3600, on="pwrite64")
    made = locked(SUBJECTS[name], slow, count=count, max_steps=50_000)

    seen = run(made, "act-1 to read", "act-1")

    assert seen.trace.verdict is Verdict.PASSED, seen.trace.reason
    for number in range(2, count + 1):
        other = seen.operation(f"act-{number}")
        assert other.ending is Ending.RAISED
        assert other.exception.endswith(("Timeout", "TimeoutError", "AlreadyLocked"))
    assert seen.operation("act-1").succeeded
    assert seen.files["count"] == "1"


def test_others_wait_for_a_slow_holder_where_they_have_no_limit() -> None:
    made = locked(SUBJECTS["lockf"], stall("act-1", 3600, on="pwrite64"), count=3)

    seen = run(made, "act-1 to read", "act-1")

    assert seen.trace.verdict is Verdict.PASSED
    waited = [seen.operation(f"act-{number}").value for number in (1, 2, 3)]
    assert sorted(waited, key=str) == [0.0, 3601.0, 3602.0]
    assert seen.files["count"] == "3"
