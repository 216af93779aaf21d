"""Where the time of an execution goes: racecheck's own functions, each with a clock.

Times are exclusive: what a timed function calls and is timed as well is not counted
twice. Each clock costs about half a microsecond, which falls to the caller.
"""

from __future__ import annotations

import mmap
import os
import struct
from collections import defaultdict
from time import perf_counter
from typing import TYPE_CHECKING, Self

from racecheck.engine import actor, execution, pending, perform, sandbox
from racecheck.footprint import Names, Resolver
from racecheck.invariants import Judge
from racecheck.kernel import ptrace
from racecheck.kernel.memory import Memory
from racecheck.kernel.rows import Table
from racecheck.kernel.seccomp import Filter
from racecheck.scheduling import RandomWalkScheduler

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

REST = "engine loop"
FIRST, STOPS, END = "wait for the first call", "kernel stops", "wait for the end"
IN_CHILD = "in the child: "

_TIMED: tuple[tuple[str, object, str], ...] = (
    ("restore box", sandbox.Sandbox, "restore"),
    ("name inodes", Names, "scan"),
    ("fork", os, "fork"),
    ("pipe and seize", execution, "spawn"),
    ("resume", ptrace, "resume"),
    ("resume", ptrace, "resume_to_exit"),
    ("read call and result", ptrace, "entry"),
    ("read call and result", ptrace, "result"),
    ("read memory", Memory, "read"),
    ("open memory", Memory, "__init__"),
    ("find row", Table, "find"),
    ("decode", execution, "decode"),
    ("decode", perform, "outputs"),
    ("resolve", execution, "resolve"),
    ("resolve", pending, "foreign"),
    ("walk paths", Resolver, "walk"),
    ("walk paths", Resolver, "object_at"),
    ("perform", perform.Performer, "perform"),
    ("names, descriptors", perform.Performer, "_apply"),
    ("arrive", execution.Execution, "_arrive"),
    ("step object", execution.Execution, "_record"),
    ("scheduler", RandomWalkScheduler, "choose"),
    ("judge", Judge, "start"),
    ("judge", Judge, "on_step"),
    ("judge", Judge, "on_return"),
    ("judge", Judge, "on_end"),
)
_IN_CHILD: tuple[tuple[str, object, str], ...] = (
    (IN_CHILD + "prepare", actor, "prepare"),
    (IN_CHILD + "install filter", Filter, "install"),
)
_seconds = struct.Struct("=d")


class Phases:
    """Clocks around racecheck's functions, for as long as it is entered.

    Attributes:
        spent: Seconds by phase.
    """

    def __init__(self) -> None:
        self.spent: defaultdict[str, float] = defaultdict(float)
        self._phase = REST
        self._since = 0.0
        self._replaced: list[tuple[object, str, object]] = []
        self._started: set[int] = set()
        # Children leave their times here; only one of them runs at a time.
        self._shared = mmap.mmap(-1, mmap.PAGESIZE)

    def __enter__(self) -> Self:
        for phase, owner, name in _TIMED:
            self._replace(owner, name, self._clocked(phase, getattr(owner, name)))
        for place, (_, owner, name) in enumerate(_IN_CHILD):
            offset = place * _seconds.size
            self._replace(owner, name, self._reported(offset, getattr(owner, name)))
        self._replace(os, "waitpid", self._wait(os.waitpid))
        self.reset()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._charge(self._phase)
        for place, (phase, _, _) in enumerate(_IN_CHILD):
            (seconds,) = _seconds.unpack_from(self._shared, place * _seconds.size)
            self.spent[phase] = seconds
        for owner, name, original in reversed(self._replaced):
            setattr(owner, name, original)

    def reset(self) -> None:
        """Forget the times so far."""
        self.spent.clear()
        self._shared[:] = bytes(len(self._shared))
        self._since = perf_counter()

    def _charge(self, phase: str) -> None:
        now = perf_counter()
        self.spent[phase] += now - self._since
        self._since = now

    def _replace(self, owner: object, name: str, clocked: object) -> None:
        self._replaced.append((owner, name, getattr(owner, name)))
        setattr(owner, name, clocked)

    def _clocked(
        self, phase: str, original: Callable[..., object]
    ) -> Callable[..., object]:
        def clocked(*args: object, **named: object) -> object:
            outer = self._phase
            self._charge(outer)
            self._phase = phase
            try:
                return original(*args, **named)
            finally:
                self._charge(phase)
                self._phase = outer

        return clocked

    def _wait(
        self, original: Callable[[int, int], tuple[int, int]]
    ) -> Callable[[int, int], tuple[int, int]]:
        def wait(pid: int, options: int) -> tuple[int, int]:
            self._charge(self._phase)
            found = original(pid, options)
            if not os.WIFSTOPPED(found[1]):
                self._started.discard(pid)
                self._charge(END)
            elif pid in self._started:
                self._charge(STOPS)
            else:
                self._started.add(pid)
                self._charge(FIRST)
            return found

        return wait

    def _reported(
        self, offset: int, original: Callable[..., object]
    ) -> Callable[..., object]:
        def reported(*args: object, **named: object) -> object:
            start = perf_counter()
            try:
                return original(*args, **named)
            finally:
                (before,) = _seconds.unpack_from(self._shared, offset)
                seconds = before + perf_counter() - start
                _seconds.pack_into(self._shared, offset, seconds)

        return reported
