"""A process that does nothing but fork templates, so that each starts from one state.

The worker's memory changes with every execution. What is forked from it would have its
objects at other addresses each time, and whatever depends on those, such as the order
of a set, would differ between an execution and its replay. The zygote is forked from
the worker once and stays as it is, for the case that a template has to be made anew.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import struct

# As it is now, whatever a subject makes of it.
from os import _exit
from typing import TYPE_CHECKING, Final, NamedTuple, NoReturn

from racecheck.engine import actor as inside
from racecheck.engine.pending import DEVICES
from racecheck.engine.semaphores import FOLDER
from racecheck.errors import EngineError
from racecheck.kernel import landlock

if TYPE_CHECKING:
    from collections.abc import Sequence

    from racecheck.engine.sandbox import Sandbox
    from racecheck.engine.template import Streams
    from racecheck.kernel.seccomp import Filter
    from racecheck.model import Program

_PR_SET_PDEATHSIG: Final = 1
_PR_SET_CHILD_SUBREAPER: Final = 36
_NUMBER = struct.Struct("=q")
_GO: Final = b"g"


class Zygote:
    """The worker's side of it: asks for templates.

    Attributes:
        pid: Id of the process.
    """

    def __init__(
        self,
        programs: Sequence[Program],
        streams: Sequence[Streams],
        sandbox: Sandbox,
        filter_: Filter,
    ) -> None:
        """Fork the process.

        Args:
            programs: What the actors run; a template is asked for by its place here.
            streams: The standard streams of each program.
            sandbox: Where they run.
            filter_: The filter they run under.
        """
        ask, self._ask = os.pipe()
        self._answer, answer = os.pipe()
        # Templates wait on this pipe until they are traced. It has one byte for each,
        # and gives end-of-file to all if the worker dies.
        wait, self._go = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            try:
                os.close(self._ask)
                os.close(self._answer)
                os.close(self._go)
                serving = _Serving(programs, streams, sandbox, filter_)
                _serve(serving, ask, answer, wait)
            finally:
                _exit(70)
        for descriptor in (ask, answer, wait):
            os.close(descriptor)

    def fork(self, index: int) -> int:
        """Fork a template and return its process id; it waits until it is let go.

        Args:
            index: Place of its program.

        Raises:
            EngineError: The zygote is gone.
        """
        os.write(self._ask, _NUMBER.pack(index))
        data = os.read(self._answer, _NUMBER.size)
        if len(data) < _NUMBER.size:
            raise EngineError("the process that forks templates has died")
        pid: int = _NUMBER.unpack(data)[0]
        if pid < 0:
            raise OSError(-pid, os.strerror(-pid))
        return pid

    def let_go(self) -> None:
        """Let the template that was forked last go on."""
        os.write(self._go, _GO)

    def close(self) -> None:
        """End the process."""
        for descriptor in (self._ask, self._answer, self._go):
            os.close(descriptor)
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)


class _Serving(NamedTuple):
    """What templates are made of."""

    programs: Sequence[Program]
    streams: Sequence[Streams]
    sandbox: Sandbox
    filter: Filter


def _serve(serving: _Serving, ask: int, answer: int, wait: int) -> NoReturn:
    libc = ctypes.CDLL(None)
    libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    _leave_orphans_to_me(libc)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    # The tracer refuses what it sees; this is for what it might not. All templates have
    # to be under one restriction, or their actors could not signal each other.
    with contextlib.suppress(OSError):
        landlock.confine(
            [str(serving.sandbox.root)],
            files=[*DEVICES, *(f"/dev/fd/{each.output}" for each in serving.streams)],
            shared=[FOLDER],
        )
    while True:
        data = os.read(ask, _NUMBER.size)
        if len(data) < _NUMBER.size:
            _exit(0)
        (index,) = _NUMBER.unpack(data)
        try:
            pid = os.fork()
        except OSError as error:
            os.write(answer, _NUMBER.pack(-(error.errno or 1)))
            continue
        if pid == 0:
            if os.read(wait, 1) != _GO:
                _exit(0)
            _become(serving, index, libc)
        os.write(answer, _NUMBER.pack(pid))


def _leave_orphans_to_me(libc: ctypes.CDLL) -> None:
    """Get what descendants leave behind; it is reaped by being ignored."""
    libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)


def _become(serving: _Serving, index: int, libc: ctypes.CDLL) -> NoReturn:
    """Be a template, and then, in each child, an actor."""
    program = serving.programs[index]
    streams = serving.streams[index]
    try:
        inside.prepare(
            index=index + 1,
            folder=str(serving.sandbox.box),
            streams=(streams.input, streams.output),
        )
        _leave_orphans_to_me(libc)
        serving.filter.install()
        # The tracer lets the call happen over and over, but never come back in here.
        if os.fork() == 0:
            inside.run(program)
    finally:
        # Whatever happened, the child must not go on as a second zygote.
        _exit(70)
