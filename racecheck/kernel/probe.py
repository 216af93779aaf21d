"""Finding out with one tiny child whether processes can be controlled here."""

from __future__ import annotations

import contextlib
import os
import signal
from typing import TYPE_CHECKING

from racecheck.errors import CannotRunError
from racecheck.kernel import ptrace

if TYPE_CHECKING:
    from racecheck.kernel.seccomp import Filter


def probe(filter_: Filter) -> None:
    """Trace a child up to its first trapped call.

    Raises:
        CannotRunError: That does not work here; the message says what to change.
    """
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.close(write)
            if os.read(read, 1) == b"g":
                filter_.install()
                os.getpid()
        finally:
            os._exit(0)
    os.close(read)
    try:
        ptrace.seize(pid)
        os.write(write, b"g")
        _, status = os.waitpid(pid, ptrace.WALL)
        if not os.WIFSTOPPED(status) or status >> 16 != ptrace.EVENT_SECCOMP:
            raise CannotRunError(f"seccomp filters do not work here: {_advice()}")
        ptrace.entry(pid)
    except OSError as error:
        message = f"ptrace is refused here ({error.strerror}): {_advice()}"
        raise CannotRunError(message) from error
    finally:
        os.close(write)
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            while not _gone(os.waitpid(pid, ptrace.WALL)[1]):
                pass


def _gone(status: int) -> bool:
    return os.WIFEXITED(status) or os.WIFSIGNALED(status)


def _advice() -> str:
    """Return the likely reason, with the way out."""
    status = _fields("/proc/self/status")
    scope = _text("/proc/sys/kernel/yama/ptrace_scope")
    if status.get("TracerPid", "0") != "0":
        return "another tracer (strace, gdb) is attached; run without it"
    if scope in ("2", "3"):
        return (
            f"Yama's ptrace_scope is {scope}; set /proc/sys/kernel/yama/ptrace_scope "
            "to 1 or less"
        )
    if status.get("Seccomp") == "2":
        return (
            "a seccomp profile is in force, as in some containers; allow ptrace, for "
            "instance with --cap-add=SYS_PTRACE or --security-opt seccomp=unconfined"
        )
    return "the kernel does not say why; it needs Linux 5.3 or later"


def _text(path: str) -> str:
    try:
        with open(path, encoding="ascii") as file:
            return file.read().strip()
    except OSError:
        return ""


def _fields(path: str) -> dict[str, str]:
    pairs = (line.partition(":") for line in _text(path).splitlines())
    return {name: value.strip() for name, _, value in pairs}
