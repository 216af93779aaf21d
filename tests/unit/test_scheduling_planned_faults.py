"""Planned faults hit exactly the step that the plan names, whoever chooses."""

from __future__ import annotations

import pytest

from racecheck.errors import UsageError
from racecheck.model import Fault, FaultKind, Kind, PlannedFault
from racecheck.scheduling import (
    PlannedFaultsScheduler,
    RandomWalkScheduler,
    RecordedScheduler,
)
from tests.unit.simulation import Execution, Op, execute, execute_all, program

ENOSPC = Fault(FaultKind.ERRNO, errno="ENOSPC")
CRASH = Fault(FaultKind.CRASH)
TEAR = Fault(FaultKind.TEAR, length=4)
SHORT = Fault(FaultKind.SHORT, length=4)
STALL = Fault(FaultKind.STALL, length=3600)
WRITERS = program(
    a="open write write write close return exit",
    b="open write write write close return exit",
)


def met_at(execution: Execution) -> list[tuple[str, Kind, int, Fault]]:
    """Return actor, kind and place among the actor's steps of each fault."""
    return [
        (
            step.actor,
            step.kind,
            [other.actor for other in execution.steps[: step.index + 1]].count(
                step.actor
            ),
            step.fault,
        )
        for step in execution.steps
        if step.fault is not None
    ]


@pytest.mark.parametrize("occurrence", [1, 2, 3])
def test_a_fault_hits_exactly_its_occurrence_in_every_execution(
    occurrence: int,
) -> None:
    plan = [PlannedFault("a", ENOSPC, on="write", occurrence=occurrence)]
    scheduler = PlannedFaultsScheduler(RandomWalkScheduler(1, executions=30), plan)

    executions = execute_all(WRITERS, scheduler)

    assert len(executions) == 30
    for execution in executions:
        assert met_at(execution) == [("a", Kind.WRITE, occurrence + 1, ENOSPC)]
    assert scheduler.unmet == ()


def test_the_choices_of_the_wrapped_scheduler_stay_as_they_are() -> None:
    plan = [PlannedFault("b", ENOSPC, on="close")]

    wrapped = execute(WRITERS, PlannedFaultsScheduler(RandomWalkScheduler(3), plan))

    alone = execute(WRITERS, RandomWalkScheduler(3))
    assert wrapped is not None
    assert alone is not None
    assert (wrapped.seed, wrapped.actors) == (alone.seed, alone.actors)


def test_a_call_is_matched_by_its_name_or_by_its_kind() -> None:
    calls = {"a": [Op(Kind.WRITE, "pwrite64"), Op(Kind.WRITE, "writev")]}

    for on, place in [("pwrite64", 1), ("writev", 2), ("write", 1)]:
        scheduler = PlannedFaultsScheduler(
            RandomWalkScheduler(1), [PlannedFault("a", ENOSPC, on=on)]
        )
        execution = execute(calls, scheduler)
        assert execution is not None
        assert met_at(execution) == [("a", Kind.WRITE, place, ENOSPC)]


@pytest.mark.parametrize("occurrence", range(1, 8))
def test_without_a_name_every_step_counts_ends_included(occurrence: int) -> None:
    scheduler = PlannedFaultsScheduler(
        RandomWalkScheduler(1), [PlannedFault("a", CRASH, occurrence=occurrence)]
    )

    execution = execute(WRITERS, scheduler)

    assert execution is not None
    assert met_at(execution) == [("a", Kind.CRASH, occurrence, CRASH)]
    assert execution.actors.count("a") == occurrence
    assert scheduler.unmet == ()


def test_a_plan_can_have_several_entries() -> None:
    plan = [
        PlannedFault("a", ENOSPC, on="write", occurrence=2),
        PlannedFault("b", SHORT, on="write", occurrence=3),
        PlannedFault("b", TEAR, on="write", occurrence=1),
    ]
    scheduler = PlannedFaultsScheduler(RandomWalkScheduler(1), plan)

    execution = execute(WRITERS, scheduler)

    assert execution is not None
    assert sorted(met_at(execution), key=lambda met: met[0]) == [
        ("a", Kind.WRITE, 3, ENOSPC),
        ("b", Kind.CRASH, 2, TEAR),
    ]
    assert scheduler.unmet == (plan[1],)


def test_a_stall_is_a_step_of_its_own_and_the_call_after_it_counts() -> None:
    plan = [
        PlannedFault("a", CRASH, on="write", occurrence=2),
        PlannedFault("a", STALL, on="write"),
        PlannedFault("a", ENOSPC, on="write"),
        PlannedFault("a", STALL, on="exit"),
    ]
    scheduler = PlannedFaultsScheduler(RandomWalkScheduler(1), plan)

    execution = execute(WRITERS, scheduler)

    assert execution is not None
    assert met_at(execution) == [
        ("a", Kind.STALL, 2, STALL),
        ("a", Kind.WRITE, 3, ENOSPC),
        ("a", Kind.CRASH, 4, CRASH),
    ]
    assert scheduler.unmet == (plan[3],)


@pytest.mark.parametrize(
    "planned",
    [
        PlannedFault("nobody", CRASH),
        PlannedFault("a", CRASH, on="rename"),
        PlannedFault("a", ENOSPC, on="write", occurrence=4),
        PlannedFault("a", ENOSPC, on="return"),
        PlannedFault("a", ENOSPC, occurrence=7),
        PlannedFault("a", TEAR, on="open"),
        PlannedFault("a", SHORT, on="close"),
    ],
)
def test_an_entry_that_has_no_effect_is_unmet(planned: PlannedFault) -> None:
    scheduler = PlannedFaultsScheduler(RandomWalkScheduler(1, executions=5), [planned])

    executions = execute_all(WRITERS, scheduler)

    assert not any(map(met_at, executions))
    assert scheduler.unmet == (planned,)


@pytest.mark.parametrize("kind", [Kind.START, Kind.WAKE])
def test_who_makes_no_call_is_not_stalled(kind: Kind) -> None:
    scheduler = PlannedFaultsScheduler(
        RandomWalkScheduler(1), [PlannedFault("a", STALL)]
    )

    execution = execute({"a": [Op(kind), Op(Kind.EXIT)]}, scheduler)

    assert execution is not None
    assert not met_at(execution)


def test_an_entry_that_was_met_once_stays_met() -> None:
    planned = PlannedFault("a", ENOSPC, on="write")
    scheduler = PlannedFaultsScheduler(RandomWalkScheduler(1, executions=2), [planned])

    execute(WRITERS, scheduler)
    execute(program(b="open exit"), scheduler)

    assert scheduler.unmet == ()


def test_the_first_of_two_entries_for_one_step_wins() -> None:
    plan = [PlannedFault("a", CRASH, on="write"), PlannedFault("a", ENOSPC, on="write")]
    scheduler = PlannedFaultsScheduler(RandomWalkScheduler(1), plan)

    execution = execute(WRITERS, scheduler)

    assert execution is not None
    assert [fault for *_, fault in met_at(execution)] == [CRASH]
    assert scheduler.unmet == (plan[1],)


def test_a_fault_of_the_wrapped_scheduler_stays() -> None:
    recorded = execute(
        WRITERS,
        PlannedFaultsScheduler(
            RandomWalkScheduler(1), [PlannedFault("a", SHORT, on="write")]
        ),
    )
    assert recorded is not None
    scheduler = PlannedFaultsScheduler(
        RecordedScheduler(recorded.schedule, recorded.kinds),
        [PlannedFault("a", ENOSPC, on="write")],
    )

    assert execute(WRITERS, scheduler) == recorded
    assert len(scheduler.unmet) == 1


def test_an_occurrence_before_the_first_is_refused() -> None:
    planned = PlannedFault("a", ENOSPC, on="write", occurrence=0)

    with pytest.raises(UsageError, match="occurrence 0, but they count from 1"):
        PlannedFaultsScheduler(RandomWalkScheduler(1), [planned])
