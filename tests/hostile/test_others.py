"""Guards that an actor does nothing to processes of others, and can to its own."""

from __future__ import annotations

import ctypes
import fcntl
import os
import resource
import signal
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
import pytest

from racecheck.kernel.numbers import numbers
from racecheck.model import Verdict
from racecheck.scenario import Scenario
from tests.engine.lab import Seen, run

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = pytest.mark.processes

_LIMITS = (64, 64)
_F_SETOWN_EX = 15


@pytest.fixture
def bystander() -> Iterator[psutil.Process]:
    """A process that has nothing to do with any scenario, in a group of its own."""
    process = subprocess.Popen(["sleep", "600"], start_new_session=True)
    yield psutil.Process(process.pid)
    process.kill()
    process.wait()


def lives(process: psutil.Process) -> bool:
    """Say whether a process has neither ended nor been stopped."""
    return process.status() in (psutil.STATUS_RUNNING, psutil.STATUS_SLEEPING)


def state(process: psutil.Process) -> tuple[object, ...]:
    """Return what there is to change about how a process is run."""
    return (
        lives(process),
        process.nice(),
        process.ionice(),
        process.cpu_affinity(),
        process.rlimit(resource.RLIMIT_NOFILE),
        os.sched_getscheduler(process.pid),
    )


def attempt(act: Callable[[], object]) -> Seen:
    """Run an actor that tries something, and tells which error it got."""
    made = Scenario("others")

    @made.actor
    def one() -> str:
        try:
            act()
        except OSError as error:
            return type(error).__name__
        return "nothing"

    return run(made)


def call(name: str, *args: int) -> int:
    """Make a call that Python has no function for; returns as the C library does."""
    libc = ctypes.CDLL(None, use_errno=True)
    found: int = libc.syscall(numbers()[name], *map(ctypes.c_long, args))
    return found


def change_limits(pid: int) -> None:
    resource.prlimit(pid, resource.RLIMIT_NOFILE, _LIMITS)


def change_processors(pid: int) -> None:
    os.sched_setaffinity(pid, {min(os.sched_getaffinity(0))})


def change_class(pid: int) -> None:
    os.sched_setscheduler(pid, os.SCHED_BATCH, os.sched_param(0))


def change_parameters(pid: int) -> None:
    os.sched_setparam(pid, os.sched_param(0))


def change_priority(pid: int) -> None:
    os.setpriority(os.PRIO_PROCESS, pid, 5)


def change_priority_of_group(pid: int) -> None:
    os.setpriority(os.PRIO_PGRP, pid, 5)


def change_priority_of_all(pid: int) -> None:
    del pid
    # Nothing is lower than that already, so that a failure does no harm.
    os.setpriority(os.PRIO_USER, 0, 5)


def change_priority_of_reads(pid: int) -> None:
    if call("ioprio_set", 1, pid, 3 << 13) == -1:
        raise PermissionError


CHANGES = [
    change_limits,
    change_processors,
    change_class,
    change_parameters,
    change_priority,
    change_priority_of_group,
    change_priority_of_reads,
]


@pytest.mark.parametrize("change", CHANGES)
def test_how_others_are_run_is_not_changed(
    change: Callable[[int], None], bystander: psutil.Process
) -> None:
    before = state(bystander)

    seen = attempt(lambda: change(bystander.pid))

    assert state(bystander) == before
    assert seen.trace.verdict is Verdict.UNKNOWN
    assert ": one changes " in seen.trace.reason
    assert seen.operation("one").value == "PermissionError"


def test_a_change_for_all_of_a_user_is_refused() -> None:
    before = os.getpriority(os.PRIO_PROCESS, 0)

    seen = attempt(lambda: change_priority_of_all(0))

    assert os.getpriority(os.PRIO_PROCESS, 0) == before
    assert "setpriority: one changes others" in seen.trace.reason


@pytest.mark.parametrize("change", CHANGES)
def test_an_actor_may_say_how_its_own_processes_are_run(
    change: Callable[[int], None],
) -> None:
    if change is change_priority_of_group:
        pytest.skip("a group can hold others")

    def act() -> None:
        change(os.getpid())
        if (child := os.fork()) == 0:
            signal.pause()
        change(child)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)

    seen = attempt(act)

    assert seen.trace.uncontrolled == ()
    assert seen.operation("one").value == "nothing"


def test_an_actor_is_told_of_its_own_processes_and_of_others() -> None:
    made = Scenario("others")

    @made.actor
    def one(box: Path) -> list[object]:
        os.sched_setaffinity(os.getpid(), os.sched_getaffinity(0))
        resource.setrlimit(resource.RLIMIT_NOFILE, _LIMITS)
        (box / "file").touch()
        told: list[object] = [
            resource.prlimit(os.getpid(), resource.RLIMIT_NOFILE),
            os.getpriority(os.PRIO_PROCESS, 1002),
            os.sched_getscheduler(1002),
        ]
        try:
            os.sched_getaffinity(1003)
        except ProcessLookupError:
            told.append("nobody")
        return told

    @made.actor
    def two(box: Path) -> None:
        (box / "file").touch()

    seen = run(made)

    assert seen.trace.verdict is Verdict.PASSED
    # Values come by way of MessagePack.
    nice = os.getpriority(os.PRIO_PROCESS, 0)
    assert seen.operation("one").value == [list(_LIMITS), nice, 0, "nobody"]


# --- signals --------------------------------------------------------------------------


def own_by_id(descriptor: int, pid: int) -> None:
    fcntl.fcntl(descriptor, fcntl.F_SETOWN, pid)


def own_by_structure(descriptor: int, pid: int) -> None:
    owner = (1).to_bytes(4, "little") + pid.to_bytes(4, "little")
    fcntl.fcntl(descriptor, _F_SETOWN_EX, owner)


@pytest.mark.parametrize("own", [own_by_id, own_by_structure])
def test_no_file_sends_a_signal_to_others(
    own: Callable[[int, int], None], bystander: psutil.Process
) -> None:
    def act() -> None:
        read, write = os.pipe()
        own(read, bystander.pid)
        fcntl.fcntl(read, fcntl.F_SETSIG, signal.SIGKILL)
        flags = fcntl.fcntl(read, fcntl.F_GETFL)
        fcntl.fcntl(read, fcntl.F_SETFL, flags | os.O_ASYNC)
        os.write(write, b"x")
        time.sleep(0)

    seen = attempt(act)

    assert lives(bystander)
    assert seen.trace.verdict is Verdict.UNKNOWN
    assert "fcntl" in seen.trace.reason
    assert seen.operation("one").value == "PermissionError"


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP, signal.SIGTERM])
def test_whoever_runs_the_actors_is_not_signalled(number: signal.Signals) -> None:
    def act() -> None:
        # What the kernel tells of it is the real id.
        status = Path("/proc/self/status").read_text()
        tracer = int(status.partition("TracerPid:")[2].split()[0])
        os.kill(tracer, number)

    seen = attempt(act)

    assert seen.trace.verdict is Verdict.UNKNOWN
    assert f"kill: one sends {number.name} to process" in seen.trace.reason
    assert seen.operation("one").value == "ProcessLookupError"


def test_a_daemon_does_not_outlive_its_execution(tmp_path: Path) -> None:
    made = Scenario("others")

    @made.actor
    def one(box: Path) -> None:
        if (child := os.fork()) == 0:
            os.setsid()
            if os.fork() == 0:
                (box / "pid").write_text(Path("/proc/self/stat").read_text())
                time.sleep(3600)
                (box / "late").touch()
            os._exit(0)
        os.waitpid(child, 0)
        while not (box / "pid").exists():
            os.sched_yield()

    seen = run(made, workdir=tmp_path)

    assert seen.trace.verdict is Verdict.UNKNOWN
    assert "one ended and left running: one:2 (python)" in seen.trace.reason
    assert "late" not in seen.files
    real = int(seen.files["pid"].split()[0])
    assert real > 1
    assert not psutil.pid_exists(real)
    assert os.listdir(tmp_path) == []


# --- the machine ----------------------------------------------------------------------


@pytest.mark.parametrize("name", ["adjtimex", "clock_adjtime"])
def test_the_clock_of_the_machine_is_not_set(name: str) -> None:
    def act() -> None:
        if call(name, 0, 0) == -1 and ctypes.get_errno() == 1:
            raise PermissionError

    seen = attempt(act)

    assert name in seen.trace.reason
    assert seen.operation("one").value == "PermissionError"
