"""Guards that an actor neither leaves its tracer nor changes the machine."""

from __future__ import annotations

import ctypes
import fcntl
import os
import pty
import re
import signal
import stat
import subprocess
import sys
import termios
import time
from typing import TYPE_CHECKING

import psutil
import pytest

from racecheck.kernel.numbers import numbers
from racecheck.kernel.rows import PR_SET_DUMPABLE
from racecheck.model import Verdict
from racecheck.scenario import Scenario
from tests.engine.lab import Seen, run

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

pytestmark = pytest.mark.processes

_UNTRACED = 0x800000
_PR_GET_DUMPABLE = 3


def call(name: str, *args: int) -> int:
    """Make a call that Python has no function for.

    Raises:
        OSError: It fails.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    found: int = libc.syscall(numbers()[name], *map(ctypes.c_long, args))
    if found == -1:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))
    return found


def attempt(act: Callable[[Path], object]) -> Seen:
    """Run an actor that tries something, and tells which error it got."""
    made = Scenario("machine")

    @made.actor
    def one(box: Path) -> str:
        (box / "before").touch()
        try:
            act(box)
        except OSError as error:
            return type(error).__name__
        return "nothing"

    return run(made)


# --- children -------------------------------------------------------------------------


def test_a_child_that_nobody_is_to_trace_is_traced() -> None:
    def act(box: Path) -> None:
        child = call("clone", _UNTRACED | signal.SIGCHLD, 0, 0, 0, 0)
        if child == 0:
            (box / "child").touch()
            os._exit(3)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 3

    seen = attempt(act)

    assert seen.trace.uncontrolled == ()
    assert seen.operation("one").value == "nothing"
    made = next(step for step in seen.of("one", "openat") if "child" in str(step))
    assert made.task == 1


def test_no_such_child_outlives_its_execution() -> None:
    def act(box: Path) -> None:
        if call("clone", _UNTRACED | signal.SIGCHLD, 0, 0, 0, 0) == 0:
            with open("/proc/self/stat", "rb") as file:
                (box / "pid").write_bytes(file.read())
            time.sleep(3600)
            os._exit(0)
        while not (box / "pid").exists():
            os.sched_yield()

    seen = attempt(act)

    assert seen.trace.verdict is Verdict.UNKNOWN
    assert "one ended and left running: one:1 (python)" in seen.trace.reason
    assert not psutil.pid_exists(int(seen.files["pid"].split()[0]))


@pytest.mark.parametrize(
    "flag",
    [
        *(0x00020000, 0x02000000, 0x04000000, 0x08000000),
        *(0x10000000, 0x20000000, 0x40000000),
    ],
)
def test_no_child_gets_a_namespace(flag: int) -> None:
    def act(box: Path) -> None:
        del box
        if call("clone", flag | signal.SIGCHLD, 0, 0, 0, 0) == 0:
            os._exit(0)

    seen = attempt(act)

    assert seen.trace.verdict is Verdict.UNKNOWN
    assert "clone into a namespace by one" in seen.trace.reason
    assert seen.operation("one").value == "PermissionError"


# --- devices --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mode", "device"),
    [
        (stat.S_IFCHR, os.makedev(1, 11)),
        (stat.S_IFCHR, os.makedev(5, 0)),
        # Its bytes would not be those of the seed.
        (stat.S_IFCHR, os.makedev(1, 9)),
        (stat.S_IFBLK, os.makedev(0, 0)),
        (stat.S_IFBLK, os.makedev(7, 200)),
    ],
)
def test_no_name_in_the_box_leads_to_a_device(mode: int, device: int) -> None:
    seen = attempt(lambda box: os.mknod(box / "node", mode | 0o600, device))

    where = f"device {os.major(device)}:{os.minor(device)}"
    assert seen.trace.verdict is Verdict.UNKNOWN
    assert f"mknodat outside the sandbox by one: {where}" in seen.trace.reason
    assert seen.operation("one").value == "PermissionError"
    assert "node" not in seen.files


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes devices")
def test_what_leads_nowhere_is_made() -> None:
    def act(box: Path) -> None:
        os.mknod(box / "whiteout", stat.S_IFCHR, os.makedev(0, 0))
        os.mknod(box / "null", stat.S_IFCHR | 0o600, os.makedev(1, 3))
        os.mkfifo(box / "fifo")
        (box / "null").write_text("nothing")
        for name in ("whiteout", "null", "fifo"):
            (box / name).unlink()

    seen = attempt(act)

    assert seen.operation("one").value == "nothing"
    assert seen.trace.uncontrolled == ()


# --- terminals ------------------------------------------------------------------------


@pytest.fixture
def terminal() -> Iterator[int]:
    """A terminal that has nothing to do with any scenario: its descriptor."""
    master, slave = pty.openpty()
    yield slave
    os.close(slave)
    os.close(master)


def state(terminal: int) -> tuple[object, ...]:
    """Return what there is to change about a terminal."""
    return termios.tcgetattr(terminal), os.get_terminal_size(terminal)


def change_modes(terminal: int) -> None:
    modes = termios.tcgetattr(terminal)
    modes[3] &= ~(termios.ECHO | termios.ICANON | termios.ISIG)
    try:
        termios.tcsetattr(terminal, termios.TCSANOW, modes)
    except termios.error as error:
        raise OSError(*error.args) from error


def change_size(terminal: int) -> None:
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, bytes([7, 0, 7, 0, 0, 0, 0, 0]))


def order(request: int, value: int | bytes = 0) -> Callable[[int], object]:
    """Return what gives an order to a terminal."""
    return lambda terminal: fcntl.ioctl(terminal, request, value)


@pytest.mark.parametrize(
    "change",
    [
        change_modes,
        change_size,
        order(termios.TIOCSTI, b"x"),
        order(termios.TIOCSCTTY),
        order(termios.TIOCNOTTY),
        order(termios.TIOCEXCL),
        order(termios.TIOCSPGRP, (1).to_bytes(4, "little")),
        order(termios.TCXONC),
        order(0x5437),  # TIOCVHANGUP
        order(0x4B3A, 1),  # KDSETMODE, which only a console takes
    ],
)
def test_no_terminal_is_changed(change: Callable[[int], object], terminal: int) -> None:
    before = state(terminal)
    name = os.ttyname(terminal)

    def act(box: Path) -> None:
        del box
        change(os.open(name, os.O_RDONLY | os.O_NOCTTY))

    seen = attempt(act)

    assert state(terminal) == before
    assert seen.trace.verdict is Verdict.UNKNOWN
    assert re.search("ioctl 0x[0-9a-f]+ outside the sandbox by one", seen.trace.reason)
    assert seen.operation("one").value == "PermissionError"


def test_a_terminal_may_be_looked_at(terminal: int) -> None:
    name = os.ttyname(terminal)

    def act(box: Path) -> None:
        del box
        found = os.open(name, os.O_RDONLY | os.O_NOCTTY)
        assert os.isatty(found)
        state(found)
        subprocess.run(["stty", "-a"], stdin=found, check=True)

    seen = attempt(act)

    assert seen.trace.uncontrolled == ()
    assert seen.operation("one").value == "nothing"


def test_what_is_no_terminal_says_so() -> None:
    def act(box: Path) -> None:
        read, _ = os.pipe()
        places: list[str | Path] = ["/dev/null", sys.executable, box, box / "before"]
        for found in (*(os.open(place, os.O_RDONLY) for place in places), read, 1):
            assert not os.isatty(found)
            with pytest.raises(OSError, match="Inappropriate ioctl"):
                change_size(found)

    seen = attempt(act)

    assert seen.trace.uncontrolled == ()
    assert seen.operation("one").value == "nothing"


# --- the kernel -----------------------------------------------------------------------


@pytest.mark.parametrize("action", [1, 2, 4, 8])
def test_the_log_of_the_kernel_is_not_changed(action: int) -> None:
    def act(box: Path) -> None:
        del box
        # A level of 0 and a length of -1 do nothing, should the kernel get to see them.
        call("syslog", action, 0, 0 if action == 8 else -1)

    seen = attempt(act)

    assert seen.trace.verdict is Verdict.UNKNOWN
    assert "syslog by one" in seen.trace.reason
    assert seen.operation("one").value == "PermissionError"


def test_what_is_logged_may_be_asked() -> None:
    seen = attempt(lambda _: call("syslog", 10, 0, 0))

    assert seen.trace.uncontrolled == ()


# --- what a tracer needs --------------------------------------------------------------


def test_nobody_becomes_invisible_to_its_tracer() -> None:
    def act(box: Path) -> None:
        assert call("prctl", PR_SET_DUMPABLE, 0, 0, 0, 0) == 0
        assert call("prctl", PR_SET_DUMPABLE, 1, 0, 0, 0) == 0
        assert call("prctl", _PR_GET_DUMPABLE, 0, 0, 0, 0) == 1
        call("prctl", PR_SET_DUMPABLE, 0, 0, 0, 0)
        (box / "after").write_text("written")
        with pytest.raises(OSError, match="Invalid argument"):
            call("prctl", PR_SET_DUMPABLE, 2, 0, 0, 0)

    seen = attempt(act)

    assert seen.operation("one").value == "nothing"
    assert seen.trace.verdict is Verdict.PASSED
    assert seen.files["after"] == "written"
