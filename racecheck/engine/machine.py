"""What the executions of one worker share: sandbox, filter, call table."""

from __future__ import annotations

import gc
import os
import signal
from typing import TYPE_CHECKING, Final, Self

from racecheck.engine.idle import IdleActors, stands_in
from racecheck.engine.sandbox import ENDS, Sandbox
from racecheck.engine.semaphores import Semaphores
from racecheck.engine.stacks import Stacks
from racecheck.engine.template import Streams, Template
from racecheck.engine.view import BoxView
from racecheck.engine.watchdog import Watchdog
from racecheck.engine.zygote import Zygote
from racecheck.errors import CannotRunError, EngineError, WorkerEndError
from racecheck.footprint import Resolver
from racecheck.kernel.deadlines import MONOTONIC_CLOCKS, REALTIME_CLOCKS
from racecheck.kernel.memory import Memory
from racecheck.kernel.probe import probe
from racecheck.kernel.registers import registers
from racecheck.kernel.seccomp import Condition, Filter
from racecheck.kernel.table import table
from racecheck.kernel.vdso import VDSO

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path
    from types import FrameType, TracebackType

    from racecheck.footprint import Names
    from racecheck.model import Program

_LOOKED_AT: Final = 200
_LOOK_EVERY: Final = 10
"""After so many that are looked at, one in so many."""
_X32: Final = 0x40000000


class Machine:
    """Everything an execution needs that outlives it; one a worker process.

    Attributes:
        sandbox: The folder that actors work in.
        registers: How calls are changed on this processor.
        table: The call table of this processor.
        filter: The filter that actors run under.
        resolver: Walks paths for all executions.
        watchdog: Looks after tasks that do not come back.
        max_sleep_s: Real time to wait for tasks that sleep in the kernel.
        vdso: Where the clock functions are, or None if they cannot be replaced.
        idle: Actors that wait to be used again.
        streams: Standard streams of each program.
        foreign_calls: Numbers from here on are another call table's.
        tmp_on_other_mount: Whether files cannot be renamed or linked between the folder
            for temporary files and the rest of the sandbox.
        busy: Whether an execution is under way, which no exception may interrupt.
        ending: Whether the process was asked to end by SIGTERM.
    """

    def __init__(
        self,
        *,
        workdir: Path | None = None,
        max_cpu_s: float = 10.0,
        max_sleep_s: float = 5.0,
    ) -> None:
        """Set up, and make the sandbox.

        Args:
            workdir: Where to make the sandbox, or None for the default.
            max_cpu_s: Processor time of a task between two of its steps.
            max_sleep_s: Real time to wait for tasks that sleep in the kernel where
                nobody else can go on.

        Raises:
            CannotRunError: This system or this processor cannot be served.
        """
        try:
            self.registers = registers()
            self.table = table()
        except (KeyError, AttributeError) as error:
            raise CannotRunError(
                "the process engine needs Linux on x86-64 or 64-bit ARM"
            ) from error
        self.filter = Filter(
            self.registers.audit_arch,
            self.table.harmless,
            self.table.conditions
            # Clocks of processor time are the kernel's own.
            | {
                self.table.number("clock_gettime"): Condition(
                    0, REALTIME_CLOCKS | MONOTONIC_CLOCKS
                )
            },
        )
        self.foreign_calls = _X32
        self.tmp_on_other_mount = False
        self.busy = False
        self.ending = False
        self._ended = 0
        probe(self.filter)
        self.watchdog = Watchdog(max_cpu_s=max_cpu_s)
        self.max_sleep_s = max_sleep_s
        self.idle = IdleActors()
        self.semaphores = Semaphores()
        self.streams: list[Streams] = []
        self._stacks: Stacks | None = None
        self._zygote: Zygote | None = None
        self._templates: dict[int, Template] = {}
        memory = Memory(os.getpid())
        self.vdso = VDSO.find(os.getpid(), memory)
        memory.close()
        # Last, since it has to be put away whatever happens from here on: signals that
        # end the process wait until that is certain.
        self._mask = signal.pthread_sigmask(signal.SIG_BLOCK, ENDS)
        try:
            self.sandbox = Sandbox(workdir)
            self.resolver = Resolver(str(self.sandbox.root))
            self.resolver.begin_with(*self.sandbox.staying())
        except BaseException:
            signal.pthread_sigmask(signal.SIG_SETMASK, self._mask)
            raise

    def __enter__(self) -> Self:
        signal.signal(signal.SIGTERM, self._end)
        try:
            self.watchdog.__enter__()
            # What came meanwhile is heeded in this call.
            signal.pthread_sigmask(signal.SIG_SETMASK, self._mask)
        except BaseException as error:
            self.__exit__(type(error), error, error.__traceback__)
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        # A signal that ends the process is dealt with when nothing is left.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, ENDS)
        try:
            self._put_away()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def _end(self, number: int, frame: FrameType | None) -> None:
        del number, frame
        # Who asked may ask again while all is being put away, which takes a moment.
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        self.ending = True
        if not self.busy:
            raise WorkerEndError(1)
        self.watchdog.break_off("racecheck was asked to end")

    def _put_away(self) -> None:
        self.watchdog.__exit__(None, None, None)
        try:
            self._stop_serving()
        finally:
            self.sandbox.remove()

    @property
    def processes(self) -> tuple[int, ...]:
        """Ids of its own processes that are children of this one."""
        return () if self._zygote is None else (self._zygote.pid,)

    def keeps(self, pid: int) -> bool:
        """Say whether a process is there for more than one execution."""
        templates = (template.pid for template in self._templates.values())
        return pid in templates or self.idle.has(pid)

    @property
    def stacks(self) -> Stacks:
        """Reads the stacks of actors; made when it is first asked for."""
        if self._stacks is None:
            self._stacks = Stacks()
        return self._stacks

    def view(self, names: Names) -> BoxView:
        """Return a view of the box for one execution."""
        return BoxView(self.sandbox, names, self.resolver)

    def template(self, index: int) -> Template:
        """Return the process that the actors of a program are forked from.

        Args:
            index: Place of the program.

        Raises:
            EngineError: `serve` was not called.
        """
        if self._zygote is None:
            raise EngineError("the machine has no programs to serve")
        template = self._templates.get(index)
        if template is not None and not stands_in(template.pid, str(self.sandbox.box)):
            # An actor has put another folder in the place of the box.
            self._templates.pop(index).end()
            template = None
        if template is None:
            template = self._templates[index] = Template(
                self._zygote,
                index,
                registers=self.registers,
                table=self.table,
                vdso=self.vdso,
            )
        return template

    def looks_closely(self) -> bool:
        """Say whether an execution is one in which all of the sandbox is looked at.

        To be asked at the end of each. A look takes a twentieth of the time that the
        shortest of them do, so that of very many only some get one.
        """
        self._ended += 1
        return self._ended <= _LOOKED_AT or self._ended % _LOOK_EVERY == 0

    def move_in(self) -> None:
        """Give the process the environment that the scenario and its actors get.

        It is not given back: a process that calls this does nothing else.
        """
        self.sandbox.move_in()

    def serve(self, programs: Sequence[Program]) -> None:
        """Get ready to fork actors that run these programs.

        To be called once the scenario is set up, after `move_in`.

        Raises:
            EngineError: They are too many for the descriptors or processes, or for the
                room, that this one may have.
        """
        self.watchdog.look(often=False)
        gc.collect()
        gc.freeze()
        self._stop_serving()
        try:
            # One by one, so that what there is of them is closed in any case.
            for program in programs:
                self.streams.append(Streams(self.sandbox.outputs / program.name))
            self._zygote = Zygote(programs, self.streams, self.sandbox, self.filter)
            for index in range(len(programs)):
                self.template(index)
        except OSError as error:
            actors = f"{len(programs)} actor{'s' * (len(programs) > 1)}"
            raise EngineError(f"cannot get {actors} ready: {error.strerror}") from error
        self.watchdog.look(often=True)

    def _stop_serving(self) -> None:
        """End the processes that were made for the programs served so far."""
        self.idle.end()
        for template in self._templates.values():
            template.end()
        self._templates.clear()
        if self._zygote is not None:
            self._zygote.close()
            self._zygote = None
        for streams in self.streams:
            streams.close()
        self.streams.clear()
