"""Guards that each bound on faults is counted by itself."""

from __future__ import annotations

import pytest

from racecheck.engine.allowed import AllowedFaults
from racecheck.model import Fault, FaultBound, FaultKind, Kind, SchedulingPoint

EIO = Fault(FaultKind.ERRNO, errno="EIO")
CRASH = Fault(FaultKind.CRASH)
WRITE = SchedulingPoint("save", Kind.WRITE, "write", 4)
SYNC = SchedulingPoint("save", Kind.SYNC, "fsync")
RENAME = SchedulingPoint("save", Kind.RENAME, "rename")


def at(allowed: AllowedFaults, point: SchedulingPoint) -> tuple[Fault, ...]:
    return allowed.at("save", point, has_written=False)


def test_one_error_at_two_calls_is_counted_for_each_of_them() -> None:
    allowed = AllowedFaults([FaultBound(EIO, on="write"), FaultBound(EIO, on="fsync")])

    assert at(allowed, SYNC) == (EIO,)
    allowed.use(EIO, "save")

    assert at(allowed, SYNC) == ()
    assert at(allowed, WRITE) == (EIO,)


def test_stalls_of_two_lengths_are_counted_by_themselves() -> None:
    short, long = (Fault(FaultKind.STALL, length=length) for length in (60, 3600))
    allowed = AllowedFaults([FaultBound(short), FaultBound(long)])

    assert at(allowed, WRITE) == (short, long)
    allowed.use(long, "save")

    assert at(allowed, WRITE) == (short,)


def test_the_bound_that_says_more_of_the_call_is_used_up_first() -> None:
    allowed = AllowedFaults([FaultBound(EIO), FaultBound(EIO, on="write")])

    assert at(allowed, WRITE) == (EIO,)
    allowed.use(EIO, "save")

    assert at(allowed, RENAME) == (EIO,)
    allowed.use(EIO, "save")
    assert at(allowed, WRITE) == ()


def test_a_write_that_is_torn_is_a_crash() -> None:
    allowed = AllowedFaults([FaultBound(CRASH)])

    (torn,) = at(allowed, WRITE)
    assert (torn.kind, torn.length) == (FaultKind.TEAR, 2)
    allowed.use(torn, "save")

    assert allowed.at("save", RENAME, has_written=True) == ()


@pytest.mark.parametrize(("size", "lengths"), [(9, [4]), (1, []), (0, [])])
def test_a_copy_is_torn_like_a_write(size: int, lengths: list[int]) -> None:
    point = SchedulingPoint("save", Kind.COPY, "sendfile", size)

    torn = at(AllowedFaults([FaultBound(CRASH)]), point)

    assert [(fault.kind, fault.length) for fault in torn] == [
        (FaultKind.TEAR, length) for length in lengths
    ]


def test_a_planned_fault_counts_for_no_bound() -> None:
    allowed = AllowedFaults([FaultBound(EIO, on="write")])

    assert at(allowed, RENAME) == ()
    allowed.use(EIO, "save")

    assert at(allowed, WRITE) == (EIO,)


def test_the_others_have_no_fault_that_is_one_actors() -> None:
    allowed = AllowedFaults([FaultBound(EIO, actor="load")])

    assert at(allowed, WRITE) == ()
