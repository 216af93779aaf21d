"""Reading from and writing to pipes and sockets without a wait in the kernel.

A read waits until there is something to read. A write that is longer than what is
certain to fit is made piece by piece, with a wait wherever there is no room, so that it
comes back as the kernel would have it: when all has been written.
"""

from __future__ import annotations

import contextlib
import os
import select
import socket
import stat
import struct
from typing import TYPE_CHECKING, Final

from racecheck.engine.masks import is_readable, is_signalled
from racecheck.engine.waits import Wait
from racecheck.kernel import ptrace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from racecheck.engine.task import Process, Task
    from racecheck.kernel.registers import Registers

PIECE: Final = 4096
"""Bytes that fit where there is any room: PIPE_BUF of pipe(7)."""

_LOCAL: Final = (None, socket.AF_UNIX)
_VECTOR = struct.Struct("=QQ")
_MOST_VECTORS: Final = 1024


class FileWait(Wait):
    """A wait for a pipe or a socket to have data, or room for it."""

    def __init__(
        self,
        call: str,
        process: Process,
        descriptor: int,
        events: int,
        writing: Writing | None = None,
    ) -> None:
        super().__init__(call)
        self._process = process
        self._descriptor = descriptor
        self._events = events
        self._writing = writing
        # Who has written something is told how much, instead.
        self.restarts = writing is None or not writing.done

    def is_over(self) -> bool:
        """See `Wait.is_over`."""
        return can_transfer(self._process, self._descriptor, self._events)

    def finish(self, task: Task, registers: Registers) -> None:
        """Let the call be made; it will not block."""

    def goes_on(self) -> bool:
        """Go on with a call of several pieces; say whether it has to wait again."""
        if self._writing is None or not self._writing.has_to_wait():
            return False
        self.restarts = not self._writing.done
        return True

    def interrupt(self, task: Task, registers: Registers) -> None:
        """See `Wait.interrupt`."""
        done = self._writing.done if self._writing is not None else 0
        registers.skip(task.tid, done)


class SignalWait(Wait):
    """A wait for a signal that is read from a descriptor; see signalfd(2)."""

    restarts = True

    def __init__(self, task: Task, wanted: int, answer: Callable[[], object]) -> None:
        super().__init__("read")
        self._task = task
        self._wanted = wanted
        self._answer = answer

    def is_over(self) -> bool:
        """See `Wait.is_over`."""
        return is_readable(self._task, self._wanted)

    def finish(self, task: Task, registers: Registers) -> None:
        """See `Wait.finish`."""
        del task, registers
        self._answer()


class Writing:
    """A long write, piece by piece; the task stands at the call's entry.

    Attributes:
        done: Bytes written so far.
    """

    def __init__(
        self,
        task: Task,
        raw: Sequence[int],
        segments: list[tuple[int, int]],
        *,
        registers: Registers,
        call: int,
        wait: Callable[[Task], int],
    ) -> None:
        """Prepare; nothing is written yet.

        Args:
            task: Who writes.
            raw: Arguments of the call.
            segments: Addresses and lengths of what is to be written.
            registers: Registers of this machine.
            call: Number of the call that writes a piece.
            wait: Waits for the task.
        """
        self.done = 0
        self._task = task
        self._raw = tuple(raw)
        self._segments = [each for each in segments if each[1]]
        self._registers = registers
        self._call = call
        self._wait = wait

    def has_to_wait(self) -> bool:
        """Write what there is room for.

        Returns:
            Whether there is more, for which there is no room: the task stands at the
            entry of its call then. Else it has its answer, at the exit.
        """
        descriptor = self._raw[0] & 0xFFFFFFFF
        while can_transfer(self._task.process, descriptor, select.POLLOUT):
            if not self._write_piece():
                return False
        return True

    def _write_piece(self) -> bool:
        """Write the next piece; say whether the task is at the entry again for more."""
        tid = self._task.tid
        address, length = self._segments[0]
        length = min(length, PIECE)
        self._registers.edit(tid, {1: address, 2: length})
        self._registers.replace(tid, self._call)
        ptrace.resume_to_exit(tid)
        status = self._wait(self._task)
        while os.WIFSTOPPED(status) and os.WSTOPSIG(status) != ptrace.SYSCALL_STOP:
            ptrace.resume_to_exit(tid, 0 if status >> 16 else os.WSTOPSIG(status))
            status = self._wait(self._task)
        if not os.WIFSTOPPED(status):
            return False
        result = ptrace.result(tid)
        self._take(max(result, 0))
        restore = dict(enumerate(self._raw))
        if result <= 0 or not self._segments or is_signalled(self._task):
            # Who is interrupted is told how far it came; so is who meets an error.
            result = self.done or result
            del restore[0]
            self._registers.finish(tid, result, restore)
            return False
        self._registers.restart(tid, self._task.number, restore)
        ptrace.resume(tid)
        status = self._wait(self._task)
        return os.WIFSTOPPED(status)

    def _take(self, length: int) -> None:
        self.done += length
        while length:
            address, size = self._segments.pop(0)
            if size > length:
                self._segments.insert(0, (address + length, size - length))
            length -= min(size, length)


def segments_of(task: Task, name: str, raw: Sequence[int]) -> list[tuple[int, int]]:
    """Return what a write is to write, as addresses and lengths, if that is long.

    Returns:
        Nothing if it fits in one piece, may not be split, or cannot be read: such a
        write is left to the kernel.
    """
    if name in ("write", "sendto"):
        segments = [(raw[1], raw[2])]
    elif name == "writev":
        count = min(raw[2], _MOST_VECTORS) * _VECTOR.size
        try:
            found = task.process.memory.read(raw[1], count)
        except OSError:
            return []
        segments = list(_VECTOR.iter_unpack(found[: len(found) & -_VECTOR.size]))
    else:
        return []
    if sum(length for _, length in segments) <= PIECE:
        return []
    return segments if _is_stream(task.process, raw[0] & 0xFFFFFFFF) else []


def signals_of(process: Process, descriptor: int) -> int:
    """Return the signals that can be read from a descriptor, as a mask, or 0."""
    try:
        with open(
            f"/proc/{process.proc}/fdinfo/{descriptor}", encoding="ascii"
        ) as file:
            fields = dict(line.split(":", 1) for line in file if ":" in line)
    except OSError:
        return 0
    return int(fields.get("sigmask", "0"), 16)


def has_timeout(process: Process, descriptor: int, *, sending: bool) -> bool:
    """Say whether a descriptor is a socket that waits for some real time only."""
    option = socket.SO_SNDTIMEO if sending else socket.SO_RCVTIMEO
    with _copied(process, descriptor) as copy:
        if copy is None:
            return False
        try:
            with socket.socket(fileno=os.dup(copy)) as found:
                return any(found.getsockopt(socket.SOL_SOCKET, option, 16))
        except OSError:
            return False


def waits(process: Process, descriptor: int) -> bool:
    """Say whether a read or a write of a descriptor may wait."""
    with _copied(process, descriptor) as copy:
        return copy is not None and os.get_blocking(copy)


def can_transfer(process: Process, descriptor: int, events: int) -> bool:
    """Say whether a transfer on a descriptor of a stopped process would not block.

    Where the descriptor cannot be looked at, the kernel is left to say. So it is with
    sockets of the network, through which data comes at times of its own.
    """
    with _copied(process, descriptor) as copy:
        if copy is None or not os.get_blocking(copy) or _family(copy) not in _LOCAL:
            return True
        poll = select.poll()
        poll.register(copy, events)
        return bool(poll.poll(0))


def _is_stream(process: Process, descriptor: int) -> bool:
    """Say whether what is written to a descriptor waits, and has no bounds in it."""
    with _copied(process, descriptor) as copy:
        if copy is None or not os.get_blocking(copy):
            return False
        family = _family(copy)
        if family is None:
            return stat.S_ISFIFO(os.fstat(copy).st_mode)
        with socket.socket(fileno=os.dup(copy)) as found:
            return family in _LOCAL and found.type == socket.SOCK_STREAM


def _family(descriptor: int) -> int | None:
    """Return the family of a socket, or None for something else."""
    if not stat.S_ISSOCK(os.fstat(descriptor).st_mode):
        return None
    with socket.socket(fileno=os.dup(descriptor)) as found:
        return found.family


@contextlib.contextmanager
def _copied(process: Process, descriptor: int) -> Iterator[int | None]:
    """Give a descriptor of the tracer's own for one of a process, where possible."""
    try:
        copy = process.copy_of(descriptor)
    except OSError:
        yield None
        return
    try:
        yield copy
    finally:
        os.close(copy)
