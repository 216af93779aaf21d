"""Where the time of an execution goes: racecheck's own functions, each with a clock.

Times are exclusive: what a timed function calls and is timed as well is not counted
twice. Each clock costs about half a microsecond, which falls to the caller.
"""

from __future__ import annotations

import importlib
import os
from collections import defaultdict
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

REST = "engine loop"
STARTS, STOPS, ENDS = "wait for first calls", "wait for stops", "wait for ends"

# A process that gets here has come to its first file call.
_ARRIVED = "decode"

# By where they are looked up when they are called.
_ENGINE = "racecheck.engine"
_TIMED: tuple[tuple[str, str, str], ...] = (
    ("restore box", f"{_ENGINE}.sandbox", "Sandbox.restore"),
    ("name inodes", "racecheck.footprint", "Names.scan"),
    ("fork", f"{_ENGINE}.template", "Template.fork"),
    ("standard streams", f"{_ENGINE}.template", "Streams.renew"),
    ("vdso and clock", "racecheck.kernel.vdso", "VDSO.set_clock"),
    ("vdso and clock", f"{_ENGINE}.control", "show_clock"),
    ("resume", "racecheck.kernel.ptrace", "resume"),
    ("resume", "racecheck.kernel.ptrace", "resume_to_exit"),
    ("read call and result", "racecheck.kernel.ptrace", "entry"),
    ("read call and result", "racecheck.kernel.ptrace", "result"),
    ("read memory", "racecheck.kernel.memory", "Memory.read"),
    ("open memory", "racecheck.kernel.memory", "Memory.__init__"),
    ("serve ids and random bytes", f"{_ENGINE}.services", "Services.serve"),
    (_ARRIVED, f"{_ENGINE}.arrivals", "decode"),
    ("decode", f"{_ENGINE}.perform", "outputs"),
    ("resolve", f"{_ENGINE}.pending", "Meanings.of"),
    ("resolve", f"{_ENGINE}.pending", "foreign"),
    ("walk paths", "racecheck.footprint", "Resolver.walk"),
    ("walk paths", "racecheck.footprint", "Resolver.object_at"),
    ("perform", f"{_ENGINE}.perform", "Performer.perform"),
    ("names, descriptors", f"{_ENGINE}.perform", "Performer._apply"),
    ("times of files", f"{_ENGINE}.perform", "FileTimes.apply"),
    ("arrive", f"{_ENGINE}.arrivals", "Arrivals.arrive"),
    ("who can go on", f"{_ENGINE}.execution", "Execution._points"),
    ("step object", f"{_ENGINE}.taking", "Taker._record"),
    ("scheduler", "racecheck.scheduling", "RandomWalkScheduler.choose"),
    ("judge", "racecheck.invariants", "Judge.start"),
    ("judge", "racecheck.invariants", "Judge.on_step"),
    ("judge", "racecheck.invariants", "Judge.on_return"),
    ("judge", "racecheck.invariants", "Judge.on_end"),
)


class Phases:
    """Clocks around racecheck's functions, for as long as it is entered.

    Attributes:
        spent: Seconds by phase.
        missing: Functions that were to be timed and are not there.
    """

    def __init__(self) -> None:
        self.spent: defaultdict[str, float] = defaultdict(float)
        self.missing: list[str] = []
        self._phase = REST
        self._since = 0.0
        self._replaced: list[tuple[object, str, object]] = []
        self._started: set[int] = set()
        self._last = 0

    def __enter__(self) -> Self:
        for phase, module, name in _TIMED:
            self._replace(module, name, partial(self._clocked, phase))
        self._replace("os", "waitpid", self._wait)
        self.reset()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._charge(self._phase)
        for owner, name, original in reversed(self._replaced):
            setattr(owner, name, original)

    def reset(self) -> None:
        """Forget the times so far."""
        self.spent.clear()
        self._since = perf_counter()

    def _charge(self, phase: str) -> None:
        now = perf_counter()
        self.spent[phase] += now - self._since
        self._since = now

    def _replace(
        self,
        module: str,
        name: str,
        clocked: Callable[[Callable[..., Any]], Callable[..., object]],
    ) -> None:
        owner: object = importlib.import_module(module)
        *outer, name = name.split(".")
        for each in outer:
            owner = getattr(owner, each, None)
        original = getattr(owner, name, None)
        if original is None:
            self.missing.append(f"{module}.{name}")
            return
        self._replaced.append((owner, name, original))
        setattr(owner, name, clocked(original))

    def _clocked(
        self, phase: str, original: Callable[..., Any]
    ) -> Callable[..., object]:
        def clocked(*args: object, **named: object) -> object:
            outer = self._phase
            self._charge(outer)
            self._phase = phase
            if phase == _ARRIVED:
                self._started.add(self._last)
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
            self._last, status = found
            if not os.WIFSTOPPED(status):
                self._started.discard(self._last)
                self._charge(ENDS)
            else:
                self._charge(STOPS if self._last in self._started else STARTS)
            return found

        return wait
