"""An actor that is a thread: it waits for its turn before each of its calls."""

from __future__ import annotations

import ctypes
import os
import random
import sys
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import msgspec
import pyfakefs

from racecheck.engine.actor import outcome
from racecheck.model import FaultKind, Kind
from racecheck.simulated.acting import acts_for, inside

if TYPE_CHECKING:
    from collections.abc import Callable

    from racecheck.engine.actor import Report
    from racecheck.model import Fault, Program, Value
    from racecheck.simulated.stage import Stage

_SECOND: Final = 1_000_000_000
_OURS: Final = (os.path.dirname(__file__), os.path.dirname(pyfakefs.__file__))
_GRACE_S: Final = 5.0
_CUTS: Final = frozenset({FaultKind.TEAR, FaultKind.SHORT})


class KilledError(BaseException):
    """The actor was killed; whatever its code does on the way out has no effect."""


@dataclass(slots=True)
class Pending:
    """The step that an actor is about to take.

    Attributes:
        call: Name of the call.
        kind: What it does.
        args: Its arguments.
        perform: Makes the call.
        size: Bytes that a write wants to transfer.
        report: How the operation ended that a return is of.
    """

    call: str
    kind: Kind
    args: dict[str, Value]
    perform: Callable[..., Any]
    size: int = 0
    report: Report | None = None


class SimulatedActor:
    """One actor of one execution.

    Attributes:
        program: What it runs.
        pid: The process id that it is shown.
        random: Where its random bytes come from.
        dead: Whether its calls have no effect any more.
        has_written: Whether its last step changed something.
        pending: What it is about to do; None once it has ended.
        fault: What goes wrong in the step whose turn it is.
        error: What its last call raised.
        value: What its last call returned.
        deadline: Virtual time until which it waits, in nanoseconds, or None.
        stalled: Whether it is held up before its call.
        status: Its exit status.
        problem: What it asked for that is not simulated.
    """

    def __init__(
        self, program: Program, stage: Stage, seed: int, clock: Callable[[], int]
    ) -> None:
        self.program = program
        self.pid = program.pid
        self.random = random.Random(f"{seed}/{program.name}/bytes")
        self.dead = False
        self.has_written = False
        self.pending: Pending | None = None
        self.fault: Fault | None = None
        self.error: BaseException | None = None
        self.value: Any = None
        self.deadline: int | None = None
        self.stalled = False
        self.status = 0
        self.problem = ""
        self._stage = stage
        self._seed = seed
        self._clock = clock
        self._go = threading.Lock()
        self._back = threading.Lock()
        self._go.acquire()
        self._back.acquire()
        self._waits = True
        self._own: tuple[Any, str] = (None, stage.box_path)
        self._platform = sys.platform
        self._thread = threading.Thread(
            target=self._run, name=program.name, daemon=True
        )

    @property
    def name(self) -> str:
        """Its name."""
        return self.program.name

    @property
    def folder(self) -> str:
        """Its working folder."""
        return self._own[1]

    @property
    def ended(self) -> bool:
        """Whether it has taken its last step."""
        return self.pending is None

    # --- the side of the execution ----------------------------------------------------

    def start(self, patience_s: float) -> bool:
        """Let it run to its first call; says whether it came there in time."""
        self._thread.start()
        return self.go_on(patience_s)

    def go_on(self, patience_s: float) -> bool:
        """Let it run until it waits again; says whether it did in time."""
        self._waits = False
        self._go.release()
        return self._back.acquire(timeout=patience_s)

    def kill(self) -> None:
        """Take from it all effect on files, and let its thread come to an end."""
        self.dead = True
        if self._waits:
            self._waits = False
            self._go.release()
        self._thread.join(_GRACE_S)
        if self._thread.is_alive():
            # It computes, or waits for something that is no call.
            interrupt = ctypes.pythonapi.PyThreadState_SetAsyncExc
            ident = ctypes.c_ulong(self._thread.ident or 0)
            interrupt(ident, ctypes.py_object(KilledError))
            self._thread.join(_GRACE_S)
        self.pending = None

    @property
    def is_gone(self) -> bool:
        """Whether its thread has ended."""
        return not self._thread.is_alive()

    def cpu_s(self) -> float:
        """Return the processor time that its thread has taken, in seconds."""
        try:
            clock = time.pthread_getcpuclockid(self._thread.ident or 0)
            return time.clock_gettime(clock)
        except (AttributeError, OSError):
            return 0.0

    # --- the side of the subject ------------------------------------------------------

    def step(
        self,
        call: str,
        kind: Kind,
        args: dict[str, Value],
        perform: Callable[..., Any],
        *,
        size: int = 0,
    ) -> Any:
        """See `Acting.step`."""
        return self._take(Pending(call, kind, args, perform, size))

    def now(self) -> int:
        """See `Acting.now`."""
        return self._clock() + self.program.clock_offset_s * _SECOND

    def sleep(self, seconds: float) -> None:
        """See `Acting.sleep`."""
        self.deadline = self._clock() + max(0, int(seconds * _SECOND))
        args: dict[str, Value] = {"of": "sleep", "timed out": 1}
        self._take(Pending("wake", Kind.WAKE, args, lambda: None))

    def refuse(self, what: str) -> None:
        """See `Acting.refuse`."""
        self.problem = self.problem or what

    def _take(self, pending: Pending) -> Any:
        if self.dead:
            raise KilledError
        self.pending = pending
        self._wait()
        if self.dead:
            raise KilledError
        with inside():
            try:
                if self.error is None:
                    self.value = (
                        pending.perform(self.fault.length)
                        if self.fault is not None and self.fault.kind in _CUTS
                        else pending.perform()
                    )
            except Exception as error:  # noqa: BLE001  raised where the call was made
                self.error = error
        # The step is recorded and judged before the subject goes on.
        self._wait()
        if self.dead:
            raise KilledError
        if self.error is not None:
            raised, self.error = self.error, None
            raise raised
        return self.value

    def _wait(self) -> None:
        """Let others have their turns, and find everything as it was afterwards."""
        fs = self._stage.fs
        self._own = (random.getstate(), fs.cwd)
        platform, sys.platform = sys.platform, self._platform
        self._waits = True
        self._back.release()
        self._go.acquire()
        self._platform, sys.platform = sys.platform, platform
        random.setstate(self._own[0])
        fs.cwd = self._own[1]

    def _run(self) -> None:
        self._go.acquire()
        self._platform = sys.platform
        sys.platform = self._stage.platform
        random.seed(f"{self._seed}/{self.program.name}")
        self._stage.fs.cwd = self._stage.box_path
        if self.program.reseed is not None:
            self.program.reseed(self._seed)
        try:
            with acts_for(self):
                self._operate()
        except KilledError:
            pass
        finally:
            self.pending = None
            sys.platform = self._platform
            self._back.release()

    def _operate(self) -> None:
        passing = (SystemExit, KilledError)
        try:
            for _ in range(self.program.repeat):
                report = _told(outcome(self.program, passing=passing))
                self._take(Pending("return", Kind.RETURN, {}, lambda: None, 0, report))
        except SystemExit as error:
            code = error.code
            self.status = code if isinstance(code, int) else int(code is not None)
        self._take(
            Pending("exit_group", Kind.EXIT, {"status": self.status}, lambda: None)
        )


def _told(report: Report) -> Report:
    """Leave out of where an exception came from what only simulates."""
    if not report.frames:
        return report
    frames = tuple(each for each in report.frames if not each.file.startswith(_OURS))
    return msgspec.structs.replace(report, frames=frames)
