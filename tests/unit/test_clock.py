"""Guards the time of an execution: when it moves, who sees which, and files' times."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

import pytest

from racecheck.engine.clock import EPOCH_NS, UPTIME_NS, Clock, HostClock
from racecheck.model.epoch import EPOCH

if TYPE_CHECKING:
    from pathlib import Path

HOUR = 3_600_000_000_000


@pytest.fixture
def clock() -> Clock:
    """A clock that no longer shows what it started with."""
    clock = Clock()
    clock.advance_to(UPTIME_NS + HOUR)
    return clock


@pytest.fixture
def file(tmp_path: Path) -> str:
    """A file that was made and read in the real present."""
    path = tmp_path / "file"
    path.write_bytes(b"x")
    return str(path)


def times(path: str) -> tuple[int, int]:
    status = os.lstat(path)
    return status.st_atime_ns, status.st_mtime_ns


def test_every_execution_starts_when_the_files_of_its_box_were_made() -> None:
    clock = Clock()

    assert clock.realtime_ns == EPOCH_NS == EPOCH * 10**9
    assert clock.monotonic_ns == UPTIME_NS


def test_both_times_move_together() -> None:
    clock = Clock()

    assert clock.advance_to(UPTIME_NS + HOUR)
    assert clock.monotonic_ns == UPTIME_NS + HOUR
    assert clock.realtime_ns == EPOCH_NS + HOUR


@pytest.mark.parametrize("past", [0, UPTIME_NS, UPTIME_NS + HOUR])
def test_time_never_goes_back(clock: Clock, past: int) -> None:
    assert not clock.advance_to(past)
    assert clock.monotonic_ns == UPTIME_NS + HOUR


@pytest.mark.parametrize("offset", [0, 7, -2 * HOUR])
def test_hosts_differ_in_real_time_only(clock: Clock, offset: int) -> None:
    host = clock.on_host(offset)

    clock.advance_to(UPTIME_NS + 2 * HOUR)

    assert host.offset_ns == offset
    assert host.realtime_ns == EPOCH_NS + 2 * HOUR + offset
    assert host.monotonic_ns == UPTIME_NS + 2 * HOUR


def test_a_clock_by_its_number(clock: Clock) -> None:
    host = HostClock(clock, 5)
    real, monotonic = EPOCH_NS + HOUR + 5, UPTIME_NS + HOUR

    assert host.read(time.CLOCK_REALTIME) == real
    assert host.read(time.CLOCK_TAI) == real
    assert host.read(time.CLOCK_MONOTONIC) == monotonic
    assert host.read(time.CLOCK_MONOTONIC_RAW) == monotonic
    assert host.read(time.CLOCK_BOOTTIME) == monotonic
    assert host.read(time.CLOCK_PROCESS_CPUTIME_ID) is None
    assert host.read(time.CLOCK_THREAD_CPUTIME_ID) is None
    # That of another process, as clock_getcpuclockid(3) gives it.
    assert host.read(-42) is None


def test_a_file_is_stamped_by_path(clock: Clock, file: str) -> None:
    assert clock.stamp(file)
    assert times(file) == (clock.realtime_ns, clock.realtime_ns)


def test_a_file_is_stamped_by_descriptor(clock: Clock, file: str) -> None:
    descriptor = os.open(file, os.O_RDONLY)
    os.unlink(file)
    try:
        assert clock.stamp(descriptor, follow_symlinks=False)
        status = os.fstat(descriptor)
    finally:
        os.close(descriptor)

    assert status.st_mtime_ns == status.st_atime_ns == clock.realtime_ns


def test_a_stamp_is_exact_to_the_nanosecond(clock: Clock, file: str) -> None:
    clock.advance_to(UPTIME_NS + 2 * HOUR + 123_456_789)

    clock.stamp(file)

    assert times(file)[1] == EPOCH_NS + 2 * HOUR + 123_456_789


@pytest.mark.parametrize(
    ("accessed", "modified", "expected"),
    [
        (True, False, (EPOCH_NS + HOUR, 2)),
        (False, True, (1, EPOCH_NS + HOUR)),
        (False, False, (1, 2)),
    ],
)
def test_one_time_can_be_left_alone(
    clock: Clock,
    file: str,
    *,
    accessed: bool,
    modified: bool,
    expected: tuple[int, int],
) -> None:
    os.utime(file, ns=(1, 2))

    assert clock.stamp(file, accessed=accessed, modified=modified)
    assert times(file) == expected


@pytest.mark.parametrize("follow", [True, False])
def test_a_link_or_what_it_leads_to(clock: Clock, file: str, *, follow: bool) -> None:
    link = f"{file}.link"
    os.symlink(file, link)
    meant, other = (file, link) if follow else (link, file)
    before = times(other)

    assert clock.stamp(link, follow_symlinks=follow)
    assert times(meant)[1] == clock.realtime_ns
    assert times(other)[1] == before[1]


def test_a_folder_is_stamped_after_a_change_in_it(clock: Clock, file: str) -> None:
    folder = os.path.dirname(file)
    os.utime(folder, ns=(1, 2))
    os.unlink(file)

    assert clock.stamp_parent(file)
    assert times(folder) == (1, clock.realtime_ns)


def test_a_bare_name_lies_in_the_current_folder(
    clock: Clock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    assert clock.stamp_parent("name")
    assert times(str(tmp_path))[1] == clock.realtime_ns


def test_what_is_gone_is_not_stamped(clock: Clock, file: str) -> None:
    assert not clock.stamp(f"{file}.gone")
    assert not clock.stamp(f"{file}/below", modified=False)
    assert not clock.stamp_parent(f"{file}.gone/below")


def test_a_stamp_that_is_refused_is_an_error(clock: Clock, file: str) -> None:
    descriptor = os.open(file, os.O_RDONLY)
    os.close(descriptor)

    with pytest.raises(OSError, match="Bad file descriptor"):
        clock.stamp(descriptor)
