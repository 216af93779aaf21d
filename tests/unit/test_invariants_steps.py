"""Guards which steps are looked at: none that can have changed a file is left out."""

from __future__ import annotations

import pytest

from racecheck.invariants.steps import is_crash, may_have_changed
from racecheck.model import MUTATING, Fault, FaultKind, Kind, Step
from tests.unit.fakes import ERRNO, STALL, TEAR

CRASH = Fault(FaultKind.CRASH)
SHORT = Fault(FaultKind.SHORT, length=3)


def step(kind: Kind, result: int = 0, fault: Fault | None = None) -> Step:
    return Step(0, "a", 0, str(kind), kind, {}, result, fault=fault)


@pytest.mark.parametrize("kind", sorted(MUTATING | {Kind.OTHER}))
def test_steps_that_change_files_are_looked_at(kind: Kind) -> None:
    assert may_have_changed(step(kind))


@pytest.mark.parametrize("kind", sorted(set(Kind) - MUTATING - {Kind.OTHER}))
def test_steps_that_only_look_are_not_looked_at(kind: Kind) -> None:
    assert not may_have_changed(step(kind))


@pytest.mark.parametrize("kind", [Kind.WRITE, Kind.COPY, Kind.ALLOCATE])
def test_a_failure_that_may_come_half_way_is_looked_at(kind: Kind) -> None:
    assert may_have_changed(step(kind, -28))
    assert may_have_changed(step(kind, -28, SHORT))


@pytest.mark.parametrize("kind", sorted(MUTATING - {Kind.CRASH}))
def test_a_call_that_was_not_made_is_not_looked_at(kind: Kind) -> None:
    assert not may_have_changed(step(kind, -28, ERRNO))


@pytest.mark.parametrize("kind", [Kind.OPEN, Kind.RENAME, Kind.UNLINK])
def test_a_failure_that_changes_nothing_is_not_looked_at(kind: Kind) -> None:
    assert not may_have_changed(step(kind, -2))


@pytest.mark.parametrize(
    "crash",
    [
        step(Kind.CRASH),
        step(Kind.CRASH, -4),
        step(Kind.READ, -4, CRASH),
        step(Kind.WRITE, 3, TEAR),
        step(Kind.WRITE, -4, TEAR),
    ],
    ids=str,
)
def test_a_crash_is_looked_at_however_it_is_recorded(crash: Step) -> None:
    assert is_crash(crash)
    assert may_have_changed(crash)


@pytest.mark.parametrize("fault", [None, SHORT, ERRNO, STALL])
def test_other_faults_are_no_crash(fault: Fault | None) -> None:
    assert not is_crash(step(Kind.WRITE, 0, fault))
