"""What the kernel lets an unprivileged process do, each tried with one small child."""

from __future__ import annotations

import ctypes
import os
import platform
import re
import signal
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

from racecheck.doctor.observation import Observation, State
from racecheck.errors import CannotRunError
from racecheck.kernel import landlock, ptrace
from racecheck.kernel.memory import Memory
from racecheck.kernel.probe import probe
from racecheck.kernel.registers import registers
from racecheck.kernel.seccomp import Filter
from racecheck.kernel.table import table
from racecheck.kernel.vdso import VDSO

if TYPE_CHECKING:
    from collections.abc import Callable

_OLDEST_KERNEL: Final = (5, 3)
_OLDEST_PYTHON: Final = (3, 11)
_MACHINES: Final = ("x86_64", "aarch64")
_NO_RANDOMIZE: Final = 0x0040000
_ASK: Final = 0xFFFFFFFF
_DIES_WITHIN_S: Final = 5.0


def system() -> Observation:
    """Look at the system, the processor and the interpreter."""
    release = platform.release()
    found = f"{platform.system()} {release} on {platform.machine()}"
    found += f", Python {platform.python_version()}"
    number = re.match(r"(\d+)\.(\d+)", release)
    if sys.platform != "linux":
        advice = "the process engine needs Linux: a virtual machine or a build machine"
    elif platform.machine() not in _MACHINES:
        advice = f"the process engine knows {' and '.join(_MACHINES)} only"
    elif number and tuple(map(int, number.groups())) < _OLDEST_KERNEL:
        advice = "the process engine needs Linux 5.3 or later"
    elif sys.version_info < _OLDEST_PYTHON:
        advice = "racecheck needs Python 3.11 or later"
    else:
        return Observation("system", State.FINE, found, needed=True)
    return Observation("system", State.REFUSED, found, advice, needed=True)


def tracing() -> Observation:
    """Trace a child up to the first call that a filter traps."""
    try:
        calls = table()
        probe(Filter(registers().audit_arch, calls.harmless, {}))
    except CannotRunError as error:
        found, _, advice = str(error).partition(": ")
        return Observation("tracing", State.REFUSED, found, advice, needed=True)
    except (KeyError, AttributeError):
        return Observation("tracing", State.REFUSED, "not for this system", needed=True)
    found = "ptrace and seccomp filters work"
    return Observation("tracing", State.FINE, found, _restrictions(), needed=True)


def _restrictions() -> str:
    """Return what is in force and in nobody's way, for whoever looks for a reason."""
    seen = []
    scope = _line("/proc/sys/kernel/yama/ptrace_scope")
    if scope not in ("", "0"):
        seen.append(f"Yama's ptrace_scope is {scope}")
    if "Seccomp:\t2" in _text("/proc/self/status"):
        seen.append("a seccomp profile is in force")
    text = " and ".join(seen)
    does = "do" if len(seen) > 1 else "does"
    return f"{text}, which {does} no harm here" if seen else ""


def no_survivors() -> Observation:
    """Kill a tracer, and look whether the process that it traced dies with it."""
    read, write = os.pipe()
    tracer = os.fork()
    if tracer == 0:
        _trace_for_ever(write)
    os.close(write)
    data = os.read(read, 32)
    os.kill(tracer, signal.SIGKILL)
    os.waitpid(tracer, 0)
    # The end of the pipe is open in the traced process for as long as it lives.
    os.set_blocking(read, False)
    until = time.monotonic() + _DIES_WITHIN_S
    gone = False
    while data and not gone and time.monotonic() < until:
        try:
            gone = os.read(read, 1) == b""
        except BlockingIOError:
            time.sleep(0.01)
    os.close(read)
    if gone:
        found = "processes end when racecheck is killed"
        return Observation("no survivors", State.FINE, found)
    if data:
        os.kill(int(data), signal.SIGKILL)
    found = "a process outlived the tracer that was killed"
    advice = "look for processes left over after a run was killed"
    return Observation("no survivors", State.LIMITED, found, advice)


def _trace_for_ever(write: int) -> None:
    try:
        child = os.fork()
        if child == 0:
            while True:
                signal.pause()
        ptrace.seize(child)
        os.write(write, b"%d" % child)
        os.close(write)
        while True:
            signal.pause()
    finally:
        os._exit(1)


def addresses() -> Observation:
    """Try to turn address randomisation off, in a child."""

    def fixed() -> bool:
        libc = ctypes.CDLL(None)
        return bool(libc.personality(libc.personality(_ASK) | _NO_RANDOMIZE) != -1)

    if sys.platform == "linux" and in_child(fixed):
        found = "addresses are the same in every run"
        return Observation("addresses", State.FINE, found)
    found = "address randomisation cannot be turned off"
    advice = "tokens of programs that use addresses may not replay; the rest does"
    return Observation("addresses", State.LIMITED, found, advice)


def clock() -> Observation:
    """Look whether the clock can be replaced where programs read it without a call."""

    def found() -> bool:
        memory = Memory(os.getpid())
        vdso = VDSO.find(os.getpid(), memory)
        if vdso is None:
            return False
        vdso.patch(memory)
        vdso.set_clock(memory, 12_345 * 10**9, 10**9)
        return int(time.time()) == 12_345  # noqa: PLR2004  as set in the line above

    if sys.platform == "linux" and in_child(found):
        return Observation("clock", State.FINE, "time is virtual, and reading it free")
    advice = "time is virtual all the same, but each look at a clock is a stop"
    return Observation("clock", State.LIMITED, "the vDSO cannot be replaced", advice)


def confinement() -> Observation:
    """Look whether the kernel helps to keep actors in the sandbox."""

    def refuses() -> bool:
        landlock.confine([])
        folder = Path("/tmp/racecheck-doctor")  # noqa: S108  refused, or removed again
        try:
            folder.mkdir()
        except PermissionError:
            return True
        except OSError:
            return False
        folder.rmdir()
        return False

    number = landlock.version() if sys.platform == "linux" else 0
    if landlock.confines() and in_child(refuses):
        found = f"Landlock {number} and the tracer keep actors in the sandbox"
        return Observation("confinement", State.FINE, found)
    found = f"no Landlock {f'before version 2 ({number})' if number else ''}".rstrip()
    advice = "the tracer alone keeps actors in the sandbox"
    return Observation("confinement", State.LIMITED, found, advice)


def in_child(body: Callable[[], bool]) -> bool:
    """Say what a function says in a child of its own; one that fails says no."""
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            status = not body()
        except OSError:
            status = 1
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


def _line(path: str) -> str:
    return _text(path).strip()


def _text(path: str) -> str:
    try:
        return Path(path).read_text("utf-8")
    except OSError:
        return ""
