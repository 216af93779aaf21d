"""A process that does nothing but fork actors, so that each starts from the same state.

The worker's memory changes with every execution. Actors forked from it would have their
objects at other addresses each time, and whatever depends on those, such as the order
of a set, would differ between an execution and its replay. The zygote is forked from
the worker once and stays as it is; it is also slimmer, and forks are cheaper for that.
"""

from __future__ import annotations

import ctypes
import os
import signal
import struct
from typing import TYPE_CHECKING, Final, NoReturn

from racecheck.engine import actor as inside
from racecheck.errors import EngineError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from racecheck.engine.sandbox import Sandbox
    from racecheck.kernel.seccomp import Filter
    from racecheck.model import Program

_PR_SET_PDEATHSIG: Final = 1
_PR_SET_CHILD_SUBREAPER: Final = 36
_REQUEST = struct.Struct("=qqq")
_ANSWER = struct.Struct("=q")
_GO: Final = b"g"


class Zygote:
    """The worker's side of it: asks for actors."""

    def __init__(
        self, programs: Sequence[Program], sandbox: Sandbox, filter_: Filter
    ) -> None:
        """Fork the process.

        Args:
            programs: What the actors run; an actor is asked for by its place here.
            sandbox: Where they run.
            filter_: The filter they run under.
        """
        ask, self._ask = os.pipe()
        self._answer, answer = os.pipe()
        # Actors wait on this pipe until they are traced. It has one byte for each, and
        # gives end-of-file to all if the worker dies.
        wait, self._go = os.pipe()
        self._pid = os.fork()
        if self._pid == 0:
            try:
                os.close(self._ask)
                os.close(self._answer)
                os.close(self._go)
                _serve(programs, sandbox, filter_, ask, answer, wait)
            finally:
                os._exit(70)
        for descriptor in (ask, answer, wait):
            os.close(descriptor)

    def fork(self, index: int, seed: int, *, reused: bool) -> int:
        """Fork an actor and return its process id; it waits until it is let go.

        Args:
            index: Place of its program.
            seed: Seed of the execution.
            reused: Whether it waits for the next execution at its end.

        Raises:
            EngineError: The zygote is gone.
        """
        os.write(self._ask, _REQUEST.pack(index, seed, reused))
        data = os.read(self._answer, _ANSWER.size)
        if len(data) < _ANSWER.size:
            raise EngineError("the process that forks actors has died")
        pid: int = _ANSWER.unpack(data)[0]
        if pid < 0:
            raise OSError(-pid, os.strerror(-pid))
        return pid

    def let_go(self) -> None:
        """Let the actor that was forked last go on."""
        os.write(self._go, _GO)

    def close(self) -> None:
        """End the process."""
        for descriptor in (self._ask, self._answer, self._go):
            os.close(descriptor)
        os.kill(self._pid, signal.SIGKILL)
        os.waitpid(self._pid, 0)


def _serve(
    programs: Sequence[Program],
    sandbox: Sandbox,
    filter_: Filter,
    ask: int,
    answer: int,
    wait: int,
) -> NoReturn:
    libc = ctypes.CDLL(None)
    libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    # What actors leave behind comes here, and is reaped by being ignored.
    libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    while True:
        data = os.read(ask, _REQUEST.size)
        if len(data) < _REQUEST.size:
            os._exit(0)
        index, seed, reused = _REQUEST.unpack(data)
        try:
            pid = os.fork()
        except OSError as error:
            os.write(answer, _ANSWER.pack(-(error.errno or 1)))
            continue
        if pid == 0:
            if os.read(wait, 1) != _GO:
                os._exit(0)
            _become(programs[index], index, seed, bool(reused), sandbox, filter_)
        os.write(answer, _ANSWER.pack(pid))


def _become(
    program: Program,
    index: int,
    seed: int,
    reused: bool,  # noqa: FBT001  as above
    sandbox: Sandbox,
    filter_: Filter,
) -> NoReturn:
    try:
        inside.prepare(
            index=index + 1,
            name=program.name,
            seed=seed,
            folder=str(sandbox.box),
            output=f"{sandbox.outputs}/{program.name}",
        )
        if program.reseed is not None:
            program.reseed(seed)
        filter_.install()
        inside.run(program, reused=reused)
    finally:
        # Whatever happened, the child must not go on as a second zygote.
        os._exit(70)
