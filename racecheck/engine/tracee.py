"""An actor as the tracer sees it: its process, its descriptors, what it is about to do."""

from __future__ import annotations

import contextlib
import hashlib
import os
import signal
from typing import TYPE_CHECKING

from racecheck.engine import actor as inside
from racecheck.engine.descriptors import Descriptors
from racecheck.kernel import ptrace
from racecheck.kernel.memory import Memory

if TYPE_CHECKING:
    from racecheck.engine.actor import Report
    from racecheck.engine.pending import Pending
    from racecheck.engine.sandbox import Sandbox
    from racecheck.kernel.seccomp import Filter
    from racecheck.model import ActorEnd, Program, SchedulingPoint


class Tracee:
    """One actor's process, from its fork to its end.

    Attributes:
        program: What it runs.
        pid: Its real process id.
        descriptors: Which of its descriptors lead into the sandbox.
        point: The scheduling point it is stopped at; None while it runs, is parked, or
            has ended.
        pending: The call it is about to make at that point.
        report: The operation it has just ended at that point.
        number: Number of the pending call.
        parked: The scheduling point it will be at again once the lock it waits for may
            have been let go.
        operation: Index of the operation that it is in.
        steps: Steps it has taken.
        first_step: Index of the first step of its operation.
        faults: Faults injected into its operation.
        crashed: Whether racecheck has killed it as an injected crash.
        end: How it ended, once it has.
    """

    __slots__ = (
        "_memory",
        "_random",
        "_stream",
        "crashed",
        "descriptors",
        "end",
        "faults",
        "first_step",
        "number",
        "operation",
        "parked",
        "pending",
        "pid",
        "point",
        "program",
        "report",
        "steps",
    )

    def __init__(self, program: Program, pid: int, seed: int) -> None:
        self.program = program
        self.pid = pid
        self.descriptors = Descriptors()
        self.point: SchedulingPoint | None = None
        self.pending: Pending | None = None
        self.report: Report | None = None
        self.number = 0
        self.parked: SchedulingPoint | None = None
        self.operation = 0
        self.steps = 0
        self.first_step: int | None = None
        self.faults = 0
        self.crashed = False
        self.end: ActorEnd | None = None
        self._memory: Memory | None = None
        self._stream = f"{seed}/{program.name}"
        self._random = 0

    @property
    def name(self) -> str:
        """Name of the actor."""
        return self.program.name

    @property
    def memory(self) -> Memory:
        """The memory of its present address space."""
        if self._memory is None:
            self._memory = Memory(self.pid)
        return self._memory

    def random(self, length: int) -> bytes:
        """Return the next bytes that `getrandom` gives it: its own, and repeatable."""
        self._random += 1
        text = f"{self._stream}/{self._random}"
        return hashlib.shake_256(text.encode()).digest(length)

    def executed(self) -> None:
        """Take note of an exec: another address space, some descriptors closed."""
        self._forget_memory()
        self.descriptors.execute()

    def kill(self) -> None:
        """Send it SIGKILL; at an entry stop its call then takes no effect."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)

    def release(self) -> None:
        """Give back what the tracer holds of it, after its end."""
        self._forget_memory()
        self.point = self.pending = self.report = self.parked = None

    def _forget_memory(self) -> None:
        if self._memory is not None:
            self._memory.close()
            self._memory = None


def spawn(  # noqa: PLR0913  each is another thing the child needs
    program: Program, *, index: int, seed: int, sandbox: Sandbox, filter_: Filter
) -> Tracee:
    """Fork an actor, trace it and let it go.

    The child waits until it is traced, and ends by itself if the tracer dies first, so
    that no actor is ever left alone. It runs freely until its first trapped call.
    """
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.close(write)
            if os.read(read, 1) != b"g":
                os._exit(0)
            inside.prepare(
                index=index,
                name=program.name,
                seed=seed,
                folder=str(sandbox.box),
                output=f"{sandbox.outputs}/{program.name}",
            )
            if program.reseed is not None:
                program.reseed(seed)
            filter_.install()
            inside.run(program)
        finally:
            # Whatever happened, the child must not go on as a second worker.
            os._exit(70)
    os.close(read)
    try:
        ptrace.seize(pid)
        os.write(write, b"g")
    finally:
        os.close(write)
    return Tracee(program, pid, seed)
