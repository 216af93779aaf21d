"""Calls about what is no file of the sandbox: pipes, sockets, devices, files elsewhere.

None is a step. Where the kernel would have the task wait, it stands instead.
"""

from __future__ import annotations

import contextlib
import os
import select
import socket
import stat
from typing import TYPE_CHECKING, Final

from racecheck.engine.masks import is_readable
from racecheck.engine.siginfo import show_in_descriptor
from racecheck.engine.transfers import (
    FileWait,
    SignalWait,
    Writing,
    can_transfer,
    has_timeout,
    segments_of,
    signals_of,
    waits,
)
from racecheck.model import Kind

if TYPE_CHECKING:
    from collections.abc import Callable

    from racecheck.engine.limits import Limits
    from racecheck.engine.machine import Machine
    from racecheck.engine.making import Making
    from racecheck.engine.pending import Pending
    from racecheck.engine.services import Services
    from racecheck.engine.task import Process, Task
    from racecheck.engine.tries import Ids

_RANDOM: Final = frozenset({os.makedev(1, 8), os.makedev(1, 9)})
"""The devices `random` and `urandom`; see random(4)."""


class Elsewhere:
    """Looks at such calls of the tasks of one execution."""

    def __init__(
        self,
        machine: Machine,
        *,
        making: Making,
        services: Services,
        limits: Limits,
        ids: Ids,
        note: Callable[..., None],
        wait: Callable[[Task], int],
    ) -> None:
        """Serve one execution.

        Args:
            machine: What executions share.
            making: Has tasks make calls at once.
            services: Answers calls that are no steps.
            limits: Counts what is taken of the machine.
            ids: Translates ids.
            note: Takes note of what was not controlled.
            wait: Waits for a task and returns its status, as `waitpid` does.
        """
        self._registers = machine.registers
        self._table = machine.table
        self._making = making
        self._services = services
        self._limits = limits
        self._ids = ids
        self._note = note
        self._wait = wait

    def arrive(self, task: Task, pending: Pending) -> bool:
        """Let a call pass that is not about the sandbox; wait where it would block."""
        call = pending.call
        row, raw = call.row, call.raw
        kind = row.kind
        if kind in (Kind.WRITE, Kind.COPY, Kind.ALLOCATE):
            self._limits.fill(task, call)
        process = task.process
        if kind in (Kind.FLOCK, Kind.LOCK):
            self._lock_outside(task, raw[0] & 0xFFFFFFFF)
        elif kind is Kind.OPEN:
            self._open_pipe(task, pending)
        if kind not in (Kind.READ, Kind.WRITE):
            return False
        descriptor = raw[0] & 0xFFFFFFFF
        try:
            status = os.stat(f"/proc/{process.proc}/fd/{descriptor}")
        except OSError:
            return False
        mode = status.st_mode
        if stat.S_ISCHR(mode) and status.st_rdev in _RANDOM and row.index("buffer"):
            self._services.read_random(task, raw)
            return False
        if stat.S_ISSOCK(mode):
            self._services.speak(task, descriptor)
            if kind is Kind.WRITE:
                self._services.send(task, descriptor)
        pipe = stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)
        if not stat.S_IFMT(mode) and (wanted := signals_of(process, descriptor)):
            return self._read_signals(task, raw, wanted)
        if not (pipe or (not stat.S_IFMT(mode) and _is_counter(process, descriptor))):
            return False
        if kind is Kind.WRITE and (segments := segments_of(task, row.name, raw)):
            return self._write(task, "write", raw, segments)
        events = select.POLLIN if kind is Kind.READ else select.POLLOUT
        if can_transfer(process, descriptor, events):
            return False
        task.wait = FileWait(str(kind), process, descriptor, events)
        return True

    def _open_pipe(self, task: Task, pending: Pending) -> None:
        """Take note of a pipe with a name: whoever is at its other end learns of it."""
        for walk in pending.walks:
            with contextlib.suppress(OSError):
                # What a process has as a descriptor of a pipe without one leads there.
                path = os.path.realpath(walk.escaped or "")
                if walk.escaped and stat.S_ISFIFO(os.lstat(path).st_mode):
                    self._note(f"the named pipe {path} outside, opened by {task.name}")

    def _lock_outside(self, task: Task, descriptor: int) -> None:
        """Take note of a lock on what is no file of the sandbox."""
        link = f"/proc/{task.process.proc}/fd/{descriptor}"
        with contextlib.suppress(OSError):
            where = os.readlink(link)
            self._note(f"a lock outside the sandbox on {where} by {task.name}")

    def _read_signals(self, task: Task, raw: tuple[int, ...], wanted: int) -> bool:
        """Let a task read signals as data; say whether it is to wait for them."""

        def answer() -> None:
            result = self._making.make(task, raw, {})
            if result > 0:
                memory = task.process.memory
                show_in_descriptor(memory, raw[1], result, self._ids)

        blocks = waits(task.process, raw[0] & 0xFFFFFFFF)
        if blocks and not is_readable(task, wanted):
            task.wait = SignalWait(task, wanted, answer)
            return True
        answer()
        return False

    def use_socket(self, task: Task, name: str, raw: tuple[int, ...]) -> bool:
        """Let a task wait for a socket, if its call would; say whether it does.

        Args:
            task: The task, at the entry of the call.
            name: Name of the call.
            raw: Its arguments.
        """
        process, descriptor = task.process, raw[0] & 0xFFFFFFFF
        sends = name == "sendto"
        if sends or name == "recvfrom":
            self._services.speak(task, descriptor)
        if sends:
            self._services.send(task, descriptor, name=raw[4], length=raw[5])
        if name in ("sendto", "recvfrom") and raw[3] & socket.MSG_DONTWAIT:
            return False
        if has_timeout(process, descriptor, sending=sends):
            # The kernel counts it.
            return False
        if sends and (segments := segments_of(task, name, raw)):
            return self._write(task, name, raw, segments)
        events = select.POLLOUT if sends else select.POLLIN
        if can_transfer(process, descriptor, events):
            return False
        task.wait = FileWait(name, process, descriptor, events)
        return True

    def _write(
        self,
        task: Task,
        call: str,
        raw: tuple[int, ...],
        segments: list[tuple[int, int]],
    ) -> bool:
        """Write more than may fit at once; say whether the task is to wait."""
        writing = Writing(
            task,
            raw,
            segments,
            registers=self._registers,
            call=self._table.number(call),
            wait=self._wait,
        )
        if not writing.has_to_wait():
            return False
        task.wait = FileWait(
            call, task.process, raw[0] & 0xFFFFFFFF, select.POLLOUT, writing
        )
        return True


def _is_counter(process: Process, descriptor: int) -> bool:
    """Say whether a descriptor is one that is read to wait for something to count."""
    found = os.readlink(f"/proc/{process.pid}/fd/{descriptor}")
    return found in ("anon_inode:[timerfd]", "anon_inode:[eventfd]")
