"""Guards that who takes too much of the machine is ended, before anybody is harmed."""

from __future__ import annotations

import fcntl
import mmap
import os
import re
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
import pytest

from racecheck.engine import limits
from racecheck.model import Verdict
from racecheck.scenario import Scenario
from tests.engine.lab import Seen, run

if TYPE_CHECKING:
    from collections.abc import Callable

    from racecheck.engine import Machine

pytestmark = pytest.mark.processes

_MEGABYTE = 10**6


def with_another(
    function: Callable[..., object], *, max_cpu_s: float = 10.0
) -> Scenario:
    """Return a scenario of an actor that is to be ended and of one that is not."""
    made = Scenario("appetite", max_cpu_s=max_cpu_s)
    made.actor(function, name="one")

    @made.actor
    def two(box: Path) -> None:
        (box / "other").touch()

    return made


def ended(seen: Seen, why: str) -> Seen:
    """Check that the actor was ended, and that this is why there is no pass."""
    assert seen.trace.verdict is Verdict.VIOLATED
    assert seen.trace.reason == f"one {why}"
    assert {each.invariant for each in seen.trace.violations} == {"progress"}
    return seen


# --- processes and threads ------------------------------------------------------------


def fork_without_end() -> None:
    while True:
        os.fork()


def start_threads_without_end() -> None:
    while True:
        threading.Thread(target=time.sleep, args=(3600,), daemon=True).start()


@pytest.mark.parametrize("multiply", [fork_without_end, start_threads_without_end])
def test_who_multiplies_without_end_is_ended(multiply: Callable[[], None]) -> None:
    def fewer(machine: Machine) -> None:
        del machine
        # In the process of this one execution, which ends with it.
        vars(limits)["MOST_TASKS"] = 60

    ended(
        run(with_another(multiply), change=fewer),
        "starts more than 60 processes and threads",
    )


def test_many_processes_one_after_another_are_not_too_many() -> None:
    def one() -> int:
        for _ in range(80):
            if (child := os.fork()) == 0:
                os._exit(0)
            os.waitpid(child, 0)
        return 80

    def fewer(machine: Machine) -> None:
        del machine
        vars(limits)["MOST_TASKS"] = 60

    seen = run(with_another(one), change=fewer)

    assert seen.trace.verdict is Verdict.PASSED
    assert seen.operation("one").value == 80


# --- memory ---------------------------------------------------------------------------


def allocate_without_end() -> None:
    kept = []
    while True:
        kept.append(b"x" * (2 * _MEGABYTE))


def allocate_between_calls_without_end(box: Path) -> None:
    kept = []
    while True:
        kept.append(b"x" * (2 * _MEGABYTE))
        (box / "file").touch()


def allow_more(machine: Machine) -> None:
    """Allow the actors 150 MB beyond what a process of theirs begins with.

    That is what this process has: an actor is forked from it, and the modules of all
    other tests may be loaded here.
    """
    del machine
    now = psutil.Process().memory_info().rss
    vars(limits)["MOST_MEMORY"] = now + 150 * _MEGABYTE


@pytest.mark.parametrize(
    "grow", [allocate_without_end, allocate_between_calls_without_end]
)
def test_who_takes_memory_without_end_is_ended(grow: Callable[..., None]) -> None:
    seen = run(with_another(grow), change=allow_more)

    assert seen.trace.verdict is Verdict.VIOLATED
    reason = r"one takes more than [0-9,]+ bytes of memory"
    assert re.fullmatch(reason, seen.trace.reason)
    assert {each.invariant for each in seen.trace.violations} == {"progress"}


def test_memory_that_is_given_back_counts_no_more() -> None:
    def one() -> int:
        return sum(len(b"x" * (50 * _MEGABYTE)) for _ in range(10))

    seen = run(with_another(one), change=allow_more)

    assert seen.trace.verdict is Verdict.PASSED
    assert seen.operation("one").value == 500 * _MEGABYTE


# --- output ---------------------------------------------------------------------------


def print_without_end() -> None:
    while True:
        os.write(1, bytes(_MEGABYTE))


def print_a_file_without_end() -> None:
    # Without this the kernel refuses to copy into it.
    fcntl.fcntl(1, fcntl.F_SETFL, 0)
    os.lseek(1, 0, os.SEEK_END)
    source = os.open(sys.executable, os.O_RDONLY)
    while True:
        os.sendfile(1, source, 0, _MEGABYTE)


def print_at_once() -> None:
    os.write(1, mmap.mmap(-1, 65 * _MEGABYTE))


def reserve_output() -> None:
    os.posix_fallocate(1, 0, 100 * _MEGABYTE)


@pytest.mark.parametrize(
    "flood",
    [print_without_end, print_a_file_without_end, print_at_once, reserve_output],
)
def test_who_prints_without_end_is_ended(flood: Callable[[], None]) -> None:
    seen = ended(run(with_another(flood)), "prints more than 64,000,000 bytes")

    # Only its beginning is kept.
    assert len(seen.printed.get("one", "")) < _MEGABYTE
    if flood in (print_without_end, print_a_file_without_end):
        assert seen.printed["one"]


# --- files without a name in the box --------------------------------------------------

_SEMAPHORE = Path("/dev/shm", f"sem.racecheck-test-{os.getpid()}")


def reserve_memory() -> None:
    os.posix_fallocate(os.memfd_create("file"), 0, 100 * _MEGABYTE)


def write_memory_at_once() -> None:
    os.write(os.memfd_create("file"), mmap.mmap(-1, 65 * _MEGABYTE))


def write_many_files_in_memory() -> None:
    for _ in range(10):
        os.write(os.memfd_create("file"), mmap.mmap(-1, 10 * _MEGABYTE))


def write_files_in_memory_of_many() -> None:
    for _ in range(10):
        if os.fork() == 0:
            os.write(os.memfd_create("file"), mmap.mmap(-1, 10 * _MEGABYTE))
            time.sleep(3600)
    time.sleep(1)
    os.write(os.memfd_create("file"), b"x")


def reserve_a_semaphore() -> None:
    descriptor = os.open(_SEMAPHORE, os.O_RDWR | os.O_CREAT)
    os.posix_fallocate(descriptor, 0, 100 * _MEGABYTE)


def write_semaphores() -> None:
    for number in range(10):
        descriptor = os.open(f"{_SEMAPHORE}{number}", os.O_RDWR | os.O_CREAT)
        os.write(descriptor, mmap.mmap(-1, 10 * _MEGABYTE))
        os.close(descriptor)


@pytest.mark.parametrize(
    "fill",
    [
        reserve_memory,
        write_memory_at_once,
        write_many_files_in_memory,
        write_files_in_memory_of_many,
        reserve_a_semaphore,
        write_semaphores,
    ],
)
def test_who_fills_memory_by_files_is_ended(fill: Callable[[], None]) -> None:
    seen = run(with_another(fill))

    left = list(_SEMAPHORE.parent.glob(f"{_SEMAPHORE.name}*"))
    size = sum(path.stat().st_size for path in left)
    for path in left:
        path.unlink()
    assert seen.trace.verdict is Verdict.VIOLATED
    reason = "one(:[0-9]+)? writes more than 64,000,000 bytes outside the sandbox"
    assert re.fullmatch(reason, seen.trace.reason)
    assert size <= 64 * _MEGABYTE


def test_files_that_are_gone_take_no_room() -> None:
    def one() -> None:
        for _ in range(10):
            descriptor = os.memfd_create("file")
            os.write(descriptor, mmap.mmap(-1, 10 * _MEGABYTE))
            os.close(descriptor)
        descriptor = os.memfd_create("file")
        for _ in range(10):
            os.pwrite(descriptor, mmap.mmap(-1, 10 * _MEGABYTE), 0)
        os.posix_fallocate(descriptor, 0, 20 * _MEGABYTE)

    seen = run(with_another(one))

    assert seen.trace.verdict is Verdict.PASSED


# --- the box --------------------------------------------------------------------------


def write_without_end(box: Path) -> None:
    with (box / "file").open("wb", buffering=0) as file:
        while True:
            file.write(bytes(5 * _MEGABYTE))


def write_in_pieces_without_end(box: Path) -> None:
    descriptor = os.open(box / "file", os.O_CREAT | os.O_WRONLY)
    while True:
        os.writev(descriptor, [bytes(5 * _MEGABYTE), bytes(5 * _MEGABYTE)])


def copy_without_end(box: Path) -> None:
    (box / "source").write_bytes(bytes(5 * _MEGABYTE))
    source = os.open(box / "source", os.O_RDONLY)
    target = os.open(box / "file", os.O_CREAT | os.O_WRONLY)
    while True:
        os.sendfile(target, source, 0, 5 * _MEGABYTE)


def reserve_without_end(box: Path) -> None:
    descriptor = os.open(box / "file", os.O_CREAT | os.O_WRONLY)
    for place in range(10_000):
        os.posix_fallocate(descriptor, place * 5 * _MEGABYTE, 5 * _MEGABYTE)


@pytest.mark.parametrize(
    "fill",
    [
        write_without_end,
        write_in_pieces_without_end,
        copy_without_end,
        reserve_without_end,
    ],
)
def test_who_fills_the_box_is_ended(fill: Callable[[Path], None]) -> None:
    def less(machine: Machine) -> None:
        del machine
        vars(limits)["MOST_WRITTEN"] = 20 * _MEGABYTE

    seen = run(with_another(fill), change=less)

    ended(seen, "writes more than 20,000,000 bytes")
    assert len(seen.trace.steps) < 20
    assert len(seen.files["file"]) <= 30 * _MEGABYTE


def write_a_gigabyte_at_once(box: Path) -> None:
    with (box / "file").open("wb", buffering=0) as file:
        file.write(mmap.mmap(-1, 2000 * _MEGABYTE))


def reserve_a_terabyte(box: Path) -> None:
    descriptor = os.open(box / "file", os.O_CREAT | os.O_WRONLY)
    os.posix_fallocate(descriptor, 0, _MEGABYTE * _MEGABYTE)


@pytest.mark.parametrize("fill", [write_a_gigabyte_at_once, reserve_a_terabyte])
def test_no_call_fills_the_box_at_once(fill: Callable[[Path], None]) -> None:
    # To copy so much takes seconds where memory is slow to be had.
    seen = run(with_another(fill, max_cpu_s=100))

    ended(seen, "writes more than 1,000,000,000 bytes")
    assert seen.files["file"] == ""


def test_a_file_of_holes_takes_no_room() -> None:
    def one(box: Path) -> int:
        with (box / "file").open("wb") as file:
            file.truncate(1000 * _MEGABYTE * 1000)
            os.pwrite(file.fileno(), b"x", 1000 * _MEGABYTE * 1000)
        size = (box / "file").stat().st_size
        (box / "file").unlink()
        return size

    seen = run(with_another(one))

    assert seen.trace.verdict is Verdict.PASSED
    assert seen.operation("one").value == 1000 * _MEGABYTE * 1000 + 1
