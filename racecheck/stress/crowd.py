"""All processes of one execution: counted, stopped, let go on, and ended.

Descendants are found through the lists of children that the kernel keeps. The worker
is their subreaper, so that those whose parents have died are its own children.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import time
from typing import TYPE_CHECKING, Final

import psutil

from racecheck.errors import EngineError

if TYPE_CHECKING:
    from collections.abc import Iterable

_PR_SET_CHILD_SUBREAPER: Final = 36
_STOPPED: Final = frozenset("TtZX")
_STOP_WITHIN_S: Final = 30.0
_LOOK_AGAIN_S: Final = 0.0002
_FORKING_S: Final = 0.05
_ROUNDS: Final = 100


def adopt_orphans() -> None:
    """Let this process become the parent of all descendants that lose theirs."""
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


class Crowd:
    """The processes that one worker has started, directly or not.

    Attributes:
        stopped: Whether all of them stand still.
        held: Those that were stopped for a while and stay so when others go on.
    """

    def __init__(self) -> None:
        self.stopped = False
        self.held: set[int] = set()

    def stop(self) -> None:
        """Stop all processes, each between two of its calls.

        A call that is under way is finished first, as far as it does not sleep.

        Raises:
            EngineError: One of them does not stop.
        """
        if self.stopped:
            return
        self.stopped = True
        until = time.monotonic() + _STOP_WITHIN_S
        known: set[int] = set()
        for _ in range(_ROUNDS):
            # Who stands still starts no process, so that this comes to an end.
            found = set(descendants()) - known
            if not found:
                return
            for pid in found:
                _send(pid, signal.SIGSTOP)
            for pid in found:
                _await_stop(pid, until)
            known |= found
        raise EngineError("processes start others faster than they can be stopped")

    def go_on(self) -> None:
        """Let all go on, but for those that are held."""
        if not self.stopped:
            return
        self.stopped = False
        for pid in descendants():
            if pid not in self.held:
                _send(pid, signal.SIGCONT)

    def hold(self, pid: int) -> None:
        """Stop one process for a while, wherever it is."""
        self.held.add(pid)
        _send(pid, signal.SIGSTOP)

    def release(self, pid: int) -> None:
        """Let a process that is held go on."""
        self.held.discard(pid)
        if not self.stopped:
            _send(pid, signal.SIGCONT)

    def end(self, actors: Iterable[int]) -> list[int]:
        """Kill whatever is left, and return those that were no actors.

        Args:
            actors: Processes that are accounted for.
        """
        mine = set(actors)
        strangers: list[int] = []
        for _ in range(_ROUNDS):
            left = [pid for pid in descendants() if not _is_dead(pid)]
            if not left:
                break
            strangers += [pid for pid in left if pid not in {*mine, *strangers}]
            for pid in left:
                _send(pid, signal.SIGKILL)
            _reap(mine)
            time.sleep(_LOOK_AGAIN_S)
        _reap(mine)
        self.stopped = False
        self.held.clear()
        return strangers


def descendants() -> list[int]:
    """Return the processes that this one has started, and those that they have."""
    found: list[int] = []
    pending = [os.getpid()]
    while pending:
        children = _children(pending.pop())
        found += children
        pending += children
    return found


def kill_tree(pid: int) -> None:
    """Kill a process with all that it has started; its own end is for who waits."""
    tree = [pid]
    for each in tree:
        tree += _children(each)
    for each in tree:
        _send(each, signal.SIGKILL)


def _children(pid: int) -> list[int]:
    found: list[int] = []
    try:
        for task in os.listdir(f"/proc/{pid}/task"):
            path = f"/proc/{pid}/task/{task}/children"
            with contextlib.suppress(ProcessLookupError), open(path, "rb") as stream:
                found += map(int, stream.read().split())
    except FileNotFoundError:
        # The process is gone, or this kernel keeps no such lists.
        if not os.path.exists("/proc/self/task"):
            raise
        if not os.path.exists(f"/proc/self/task/{os.getpid()}/children"):
            with contextlib.suppress(psutil.NoSuchProcess):
                return [each.pid for each in psutil.Process(pid).children()]
    return found


def _send(pid: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)


def _state(pid: int) -> str:
    """Return the states of a process's tasks, a letter each; nothing if it is gone."""
    letters = ""
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/stat", "rb") as stream:
                letters += chr(stream.read().rpartition(b")")[2][1])
    return letters


def _is_dead(pid: int) -> bool:
    return set(_state(pid)) <= set("ZX")


def _await_stop(pid: int, until: float) -> None:
    patient_until = time.monotonic() + _FORKING_S
    while not (states := set(_state(pid))) <= _STOPPED:
        now = time.monotonic()
        if now > patient_until and states <= _STOPPED | {"D"} and _forks(pid):
            return
        if now > until:
            raise EngineError(
                f"process {pid} did not stop within {_STOP_WITHIN_S:.0f} s"
            )
        time.sleep(_LOOK_AGAIN_S)


def _forks(pid: int) -> bool:
    """Say whether a process waits for a child that stands still.

    One that has called `vfork` cannot be stopped before the child executes a program,
    and the child may have been stopped before that.
    """
    return any(set(_state(child)) <= set("Tt") for child in _children(pid))


def _reap(actors: set[int]) -> None:
    """Reap orphans; actors are waited for by who started them."""
    for pid in _children(os.getpid()):
        if pid not in actors:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)
