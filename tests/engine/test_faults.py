"""Guards planned faults: each meets the call it is planned for, and does just that."""

from __future__ import annotations

import errno as errno_names
import fcntl
import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from racecheck.model import Ending, FaultKind, Kind, Verdict
from racecheck.scenario import Scenario, crash, errno, short_write
from racecheck.scheduling import PlannedFaultsScheduler
from tests.engine.lab import Script, Seen, run, run_all

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from racecheck.model import PlannedFault

pytestmark = pytest.mark.processes

FIRST, SECOND = b"abcdefgh", b"ijkl"
WHOLE = "abcdefghijkl"


def create(path: Path) -> int:
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)


def publish(box: Path) -> None:
    descriptor = create(box / "temp")
    os.write(descriptor, FIRST)
    os.write(descriptor, SECOND)
    os.close(descriptor)
    (box / "temp").rename(box / "final")
    (box / "folder").mkdir()
    (box / "final").unlink()


AFTER: Sequence[dict[str, str]] = (
    {},
    {"temp": ""},
    {"temp": "abcdefgh"},
    {"temp": WHOLE},
    {"temp": WHOLE},
    {"final": WHOLE},
    {"final": WHOLE, "folder": "folder"},
    {"folder": "folder"},
    {"folder": "folder"},
)
"""The box after none, one, two and so on of the steps, the return being the last."""


def acting(function: Callable[..., object], *faults: PlannedFault) -> Scenario:
    scenario = Scenario("faults", faults=faults)
    scenario.writer(function, name="one")
    return scenario


def test_a_crash_before_any_step_leaves_that_step_undone() -> None:
    scenario = acting(publish)
    each = range(1, len(AFTER) + 1)
    plain, *crashed = run_all(
        scenario,
        [
            Script(),
            *(
                PlannedFaultsScheduler(Script(), [crash("one", occurrence=n)])
                for n in each
            ),
        ],
    )

    assert len(plain.trace.steps) == len(AFTER)
    for seen, left, done in zip(crashed, AFTER, range(len(AFTER)), strict=True):
        *before, last = seen.trace.steps
        assert [str(step) for step in before] == plain.shown("one")[:done]
        assert last.kind is Kind.CRASH
        assert last.args == {"before": plain.trace.steps[done].call}
        assert last.fault is not None
        assert seen.files == left


def test_a_crashed_actor_is_told_from_one_that_died() -> None:
    seen = run(acting(publish, crash("one", on="rename")))

    (end,) = seen.trace.ends
    assert end.crashed
    assert end.status == -9
    assert seen.operation("one").ending is Ending.CRASHED
    assert seen.operation("one").faults == 1
    assert seen.trace.uncontrolled == ()
    assert seen.trace.verdict is Verdict.PASSED


def test_a_crash_spares_the_other_actors() -> None:
    scenario = acting(publish, crash("one", on="close"))

    @scenario.reader
    def two(box: Path) -> list[str]:
        return sorted(os.listdir(box))

    seen = run(scenario, "one to close", "one", "two to end")

    assert seen.operation("two").value == ["temp"]


@pytest.mark.parametrize(
    ("length", "occurrence", "left"),
    [
        (0, 1, ""),
        (1, 1, "a"),
        (5, 1, "abcde"),
        (8, 1, "abcdefgh"),
        (99, 1, "abcdefgh"),
        (0, 2, "abcdefgh"),
        (3, 2, "abcdefghijk"),
    ],
)
def test_a_torn_write_leaves_exactly_its_first_part(
    length: int, occurrence: int, left: str
) -> None:
    fault = crash("one", after_bytes=length, occurrence=occurrence)
    seen = run(acting(publish, fault))

    assert seen.files == {"temp": left}
    last = seen.trace.steps[-1]
    assert last.kind is Kind.WRITE
    assert last.result == min(length, (8, 4)[occurrence - 1])
    assert last.fault is not None
    assert last.fault.kind is FaultKind.TEAR
    assert seen.operation("one").ending is Ending.CRASHED


def append(box: Path) -> None:
    for text in (b"old:", b"new!"):
        descriptor = os.open(
            box / "temp", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644
        )
        os.write(descriptor, text)
        os.close(descriptor)


def write_in_place(box: Path) -> None:
    descriptor = create(box / "temp")
    os.write(descriptor, b"........")
    os.pwrite(descriptor, b"xyz", 2)


def write_pieces(box: Path) -> None:
    os.writev(create(box / "temp"), [b"ab", b"", b"cdef", b"gh"])


@pytest.mark.parametrize(
    ("function", "fault", "left"),
    [
        (append, crash("one", after_bytes=2, occurrence=2), "old:ne"),
        (write_in_place, crash("one", on="pwrite64", after_bytes=2), "..xy...."),
        (write_pieces, crash("one", after_bytes=5), "abcde"),
        (write_pieces, crash("one", after_bytes=2), "ab"),
        (write_pieces, crash("one", after_bytes=0), ""),
    ],
)
def test_every_way_of_writing_can_be_torn(
    function: Callable[..., object], fault: PlannedFault, left: str
) -> None:
    assert run(acting(function, fault)).files == {"temp": left}


def test_others_see_the_first_part_of_a_torn_write() -> None:
    scenario = acting(publish, crash("one", after_bytes=3))

    @scenario.reader
    def two(box: Path) -> str:
        return (box / "temp").read_text()

    seen = run(scenario, "one to write", "one", "two to end")

    assert seen.operation("two").value == "abc"


@pytest.mark.parametrize(
    ("fault", "left"),
    [
        (errno("EACCES", "one", on="openat"), AFTER[0]),
        (errno("ENOSPC", "one", on="write"), AFTER[1]),
        (errno("ENOSPC", "one", on="write", occurrence=2), AFTER[2]),
        (errno("EIO", "one", on="close"), AFTER[3]),
        (errno("EXDEV", "one", on="rename"), AFTER[4]),
        (errno("EDQUOT", "one", on="mkdir"), AFTER[5]),
        (errno("EROFS", "one", on="unlink"), AFTER[6]),
    ],
)
def test_a_call_that_fails_by_plan_is_not_made(
    fault: PlannedFault, left: dict[str, str]
) -> None:
    seen = run(acting(publish, fault))

    name = fault.fault.errno
    assert seen.files == left
    (step,) = [step for step in seen.trace.steps if step.fault is not None]
    assert str(step).endswith(f" = {name}")
    operation = seen.operation("one")
    assert operation.ending is Ending.RAISED
    assert os.strerror(-step.result) in operation.shown
    # It has a fault of its own, so that it is no surprise.
    assert seen.trace.verdict is Verdict.PASSED


def test_a_close_that_fails_by_plan_closes_all_the_same() -> None:
    # As close(2) says of Linux: the descriptor is gone whatever the close returns.
    def close_and_write(box: Path) -> list[str | None]:
        descriptor = create(box / "temp")
        failures: list[str | None] = []
        for act in (os.close, lambda fd: os.write(fd, b"open"), os.close):
            try:
                act(descriptor)
            except OSError as error:
                failures.append(errno_names.errorcode[error.errno or 0])
        return failures

    seen = run(acting(close_and_write, errno("EIO", "one", on="close")))

    assert seen.operation("one").value == ["EIO", "EBADF", "EBADF"]
    assert seen.shown("one", "close")[0] == "close(3, temp) = EIO"


def test_a_close_that_fails_by_plan_lets_go_of_its_lock() -> None:
    def lock(box: Path) -> None:
        descriptor = create(box / "lock")
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        with suppress(OSError):
            os.close(descriptor)

    scenario = acting(lock, errno("EIO", "one", on="close"))
    scenario.writer(lock, name="two")

    seen = run(scenario, "one to close", "two to flock", "two", "one", "two to end")

    assert seen.trace.verdict is Verdict.PASSED, seen.trace.reason
    tries = [step.failed for step in seen.of("two", Kind.FLOCK)]
    assert tries == [True, False]
    (closing,) = seen.of("one", Kind.CLOSE)
    assert any(write.resource.kind == "lock" for write in closing.footprint.writes)


@pytest.mark.parametrize("apart", [True, False])
def test_renames_from_another_mount_fail(*, apart: bool) -> None:
    def move(box: Path) -> list[str]:
        tmp = Path(os.environ["TMPDIR"])
        results = []
        for path in (tmp / "temp", box / "temp"):
            os.close(create(path))
            for act in (os.link, os.rename):
                try:
                    act(path, box / f"final-{act.__name__}")
                except OSError as error:
                    results.append(errno_names.errorcode[error.errno or 0])
                else:
                    results.append("done")
        try:
            os.rename(tmp / "temp", box / "nowhere" / "final")
        except OSError as error:
            results.append(errno_names.errorcode[error.errno or 0])
        return results

    scenario = Scenario("mounts", tmp_on_other_mount=apart)
    scenario.writer(move, name="one")

    seen = run(scenario)

    expected = ["EXDEV", "EXDEV", "done", "done"]
    if not apart:
        expected = ["done", "done", "EEXIST", "done"]
    assert seen.operation("one").value == [*expected, "ENOENT"]


def write_all(box: Path) -> list[int]:
    descriptor = create(box / "temp")
    lengths = []
    data = memoryview(b"0123456789")
    while data:
        lengths.append(os.write(descriptor, data))
        data = data[lengths[-1] :]
    return lengths


@pytest.mark.parametrize(
    ("faults", "lengths"),
    [
        ([short_write("one", 3)], [3, 7]),
        ([short_write("one", 3), short_write("one", 2, occurrence=2)], [3, 2, 5]),
        ([short_write("one", 1, occurrence=2)], [10]),
        ([short_write("one", 99)], [10]),
    ],
)
def test_a_short_write_transfers_its_first_bytes_and_says_so(
    faults: list[PlannedFault], lengths: list[int]
) -> None:
    seen = run(acting(write_all, *faults))

    assert seen.operation("one").value == lengths
    assert seen.files == {"temp": "0123456789"}


def test_a_short_write_of_pieces_transfers_their_first_bytes() -> None:
    seen = run(acting(write_pieces, short_write("one", 5)))

    assert [step.result for step in seen.of("one", "writev")] == [5]
    assert seen.files == {"temp": "abcde"}


def test_short_reads_and_copies_can_be_planned_too() -> None:
    def copy(box: Path) -> list[object]:
        source = os.open(box / "temp", os.O_RDWR | os.O_CREAT, 0o644)
        os.pwrite(source, b"0123456789", 0)
        read = os.read(source, 10)
        target = create(box / "copy")
        return [read.decode(), os.sendfile(target, source, 0, 10)]

    faults = [short_write("one", 4, on="read"), short_write("one", 6, on="sendfile")]
    seen = run(acting(copy, *faults))

    assert seen.operation("one").value == ["0123", 6]
    assert seen.files == {"temp": "0123456789", "copy": "012345"}


def test_a_call_is_found_by_its_name_and_by_its_kind() -> None:
    by_kind = run(acting(write_in_place, errno("EIO", "one", on="write", occurrence=2)))
    by_name = run(acting(write_in_place, errno("EIO", "one", on="pwrite64")))

    assert by_kind.files == by_name.files == {"temp": "........"}


def test_arguments_are_whole_again_after_a_fault() -> None:
    # The registers of a system call survive it, and compilers rely on that.
    def pieces_twice(box: Path) -> list[int]:
        descriptor = create(box / "temp")
        pieces = [b"ab", b"cdef", b"gh"]
        return [os.writev(descriptor, pieces), os.writev(descriptor, pieces)]

    seen = run(acting(pieces_twice, short_write("one", 3)))

    assert seen.operation("one").value == [3, 8]
    assert seen.files == {"temp": "abcabcdefgh"}


def test_a_fault_that_never_met_its_call_is_told() -> None:
    seen: Seen = run(acting(publish, errno("EIO", "one", on="fsync")))

    assert seen.unmet == 1
    assert all(step.fault is None for step in seen.trace.steps)
