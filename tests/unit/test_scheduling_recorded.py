"""A recording is followed as far as it can be, and where it is left is told."""

from __future__ import annotations

import pytest

from racecheck.model import (
    Decision,
    Fault,
    FaultKind,
    Kind,
    PlannedFault,
    Schedule,
    SchedulingPoint,
)
from racecheck.scheduling import (
    PlannedFaultsScheduler,
    RandomWalkScheduler,
    RecordedScheduler,
)
from tests.unit.simulation import Execution, Op, after_end_of, execute, program

RACE = program(a="open write close exit", b="open read close exit")


def record(program: dict[str, list[Op]], seed: int = 1) -> Execution:
    execution = execute(program, RandomWalkScheduler(seed))
    assert execution is not None
    return execution


def follow(
    program: dict[str, list[Op]], schedule: Schedule, kinds: tuple[Kind, ...]
) -> tuple[Execution, tuple[int, str, str] | None]:
    scheduler = RecordedScheduler(schedule, kinds)
    execution = execute(program, scheduler)
    assert execution is not None
    return execution, scheduler.left


def schedule_of(actors: str) -> Schedule:
    return Schedule(5, tuple(map(Decision, actors)))


@pytest.mark.parametrize("seed", range(20))
def test_the_same_program_takes_the_same_steps(seed: int) -> None:
    recorded = record(RACE, seed)

    followed, left = follow(RACE, recorded.schedule, recorded.kinds)

    assert followed == recorded
    assert left is None


def test_it_makes_one_execution() -> None:
    scheduler = RecordedScheduler(Schedule(5), ())

    assert [scheduler.start_execution() for _ in range(3)] == [5, None, None]


def test_another_kind_of_call_is_followed_and_told() -> None:
    recorded = (Kind.OPEN, Kind.WRITE, Kind.CLOSE, Kind.EXIT)

    followed, left = follow(
        program(a="open sync close exit"), schedule_of("aaaa"), recorded
    )

    assert followed.actors == "aaaa"
    assert left == (1, "a write", "a sync")


def test_a_fault_that_its_call_cannot_meet_is_left_out_and_told() -> None:
    cut = Fault(FaultKind.SHORT, length=1)
    schedule = Schedule(0, (Decision("a", cut), *schedule_of("aa").decisions))

    followed, left = follow(
        program(a="open close exit"), schedule, (Kind.OPEN, Kind.CLOSE, Kind.EXIT)
    )

    assert followed.actors == "aaa"
    assert left == (0, "a open with short after 1 B", "a open")


def test_an_actor_that_cannot_go_on_is_skipped_and_told() -> None:
    waiting = {
        **program(a="open close exit"),
        "b": [Op(Kind.OPEN, ready=after_end_of("a")), Op(Kind.EXIT)],
    }
    kinds = (Kind.OPEN, Kind.OPEN, Kind.CLOSE, Kind.EXIT, Kind.EXIT)

    followed, left = follow(waiting, schedule_of("abaab"), kinds)

    assert followed.actors == "aaabb"
    assert left == (1, "b open", "only a enabled")


def test_an_actor_that_the_scenario_does_not_have_is_skipped_and_told() -> None:
    _, left = follow(RACE, schedule_of("x"), (Kind.OPEN,))

    assert left == (0, "x open", "only a, b enabled")


def test_only_the_first_departure_is_told() -> None:
    kinds = (Kind.OPEN, Kind.WRITE, Kind.CLOSE, Kind.EXIT)

    _, left = follow(program(a="open sync chmod exit"), schedule_of("aaaa"), kinds)

    assert left == (1, "a write", "a sync")


def test_after_the_recording_the_current_actor_carries_on() -> None:
    followed, left = follow(RACE, schedule_of("ab"), (Kind.OPEN, Kind.OPEN))

    assert followed.actors == "abbbbaaa"
    assert left == (2, "the end", "b read")


def test_an_empty_recording_starts_with_the_first_actor() -> None:
    followed, left = follow(RACE, schedule_of(""), ())

    assert followed.actors == "aaaabbbb"
    assert left == (0, "the end", "a open")


def test_an_execution_that_ends_early_is_told() -> None:
    kinds = (Kind.OPEN, Kind.EXIT, Kind.EXIT)

    _, left = follow(program(a="open exit"), schedule_of("aaa"), kinds)

    assert left == (2, "a exit", "the end")


@pytest.mark.parametrize(
    ("fault", "on"),
    [
        (Fault(FaultKind.ERRNO, errno="EIO"), "write"),
        (Fault(FaultKind.CRASH), "close"),
        (Fault(FaultKind.TEAR, length=3), "write"),
    ],
)
def test_recorded_faults_happen_again(fault: Fault, on: str) -> None:
    recorded = execute(
        RACE,
        PlannedFaultsScheduler(
            RandomWalkScheduler(1), [PlannedFault("a", fault, on=on)]
        ),
    )
    assert recorded is not None

    followed, left = follow(RACE, recorded.schedule, recorded.kinds)

    assert [step.fault for step in followed.steps].count(fault) == 1
    assert followed == recorded
    assert left is None


def test_a_fault_is_kept_from_another_kind_of_call() -> None:
    fault = Fault(FaultKind.ERRNO, errno="ENOSPC")
    scheduler = RecordedScheduler(Schedule(5, (Decision("a", fault),)), (Kind.WRITE,))
    scheduler.start_execution()

    decision = scheduler.choose([SchedulingPoint("a", Kind.CLOSE, "close")], None)

    assert decision == Decision("a")
    assert scheduler.left == (0, "a write", "a close")


def test_kinds_that_do_not_go_with_the_decisions_are_refused() -> None:
    with pytest.raises(ValueError, match="2 decisions, 1 kinds"):
        RecordedScheduler(schedule_of("ab"), (Kind.OPEN,))
