"""Taking one step: the pending call runs to its exit, with a fault if one is due."""

from __future__ import annotations

import errno
import fcntl
import os
import struct
import time
from typing import TYPE_CHECKING, Final, NamedTuple

from racecheck.engine.limits import Room
from racecheck.engine.listing import in_order
from racecheck.engine.making import Making
from racecheck.engine.pending import RESOLVE_BENEATH, RESOLVE_IN_ROOT
from racecheck.engine.times import FileTimes, number
from racecheck.errors import EngineError
from racecheck.footprint import OpenFile
from racecheck.kernel import ptrace
from racecheck.kernel.outputs import outputs
from racecheck.model import Fault, FaultKind, Kind, Value

if TYPE_CHECKING:
    from collections.abc import Callable

    from racecheck.engine.clock import Clock
    from racecheck.engine.locks import Locks
    from racecheck.engine.machine import Machine
    from racecheck.engine.pending import Pending
    from racecheck.engine.task import Task
    from racecheck.footprint import Names
    from racecheck.kernel.call import Call
    from racecheck.kernel.memory import Memory

_FILLING: Final = frozenset({Kind.WRITE, Kind.COPY, Kind.ALLOCATE})
_REMOVING: Final = frozenset({Kind.RENAME, Kind.UNLINK, Kind.RMDIR})
_TRIED: Final = frozenset({Kind.FLOCK, Kind.LOCK})
_GIVING_PATHS: Final = frozenset({Kind.GETCWD, Kind.READLINK})
_F_SETLKW: Final = 7
_F_OFD_SETLKW: Final = 38
_F_SETFD: Final = 2
_F_DUPFD_CLOEXEC: Final = 1030
_CLOSE_RANGE_CLOEXEC: Final = 4
_FIOCLEX: Final = 0x5451
_FIONCLEX: Final = 0x5450

# struct iovec: where a piece starts, and its length.
_PIECE = struct.Struct("=QQ")
_MOST_PIECES: Final = 1024

_DISTURBED: Final = RESOLVE_BENEATH | RESOLVE_IN_ROOT
"""Ways to look a path up that others can disturb; see EAGAIN in openat2(2)."""
_MOST_TRIES: Final = 10_000

# What a call gives that was interrupted and will be made again: ERESTARTSYS and its
# relatives (linux/errno.h), which no program sees.
_RESTARTS: Final = frozenset({-512, -513, -514, -516})


class Done(NamedTuple):
    """What came of a call.

    Attributes:
        result: What it returned.
        outputs: What it gave back through memory.
        blocked: Whether it was a try at a lock that somebody else holds. The arguments
            are still those of the try.
        asleep: Whether it is no lock that it waits for, and has waited too long.
    """

    result: int
    outputs: dict[str, Value]
    blocked: bool = False
    asleep: bool = False


class Performer:
    """Makes the pending calls of one execution's actors."""

    def __init__(
        self,
        machine: Machine,
        names: Names,
        clock: Clock,
        locks: Locks,
        wait: Callable[[Task], int],
    ) -> None:
        """Serve one execution.

        Args:
            machine: What executions share.
            names: Names of the inodes, to which calls that create add.
            clock: What time it is for the files.
            locks: Who holds which file locks.
            wait: Waits for a task and returns its status, as `waitpid` does.
        """
        self._machine = machine
        self._registers = machine.registers
        self._names = names
        self._clock = clock
        self._locks = locks
        self.times = FileTimes(machine.sandbox.old)
        self._room = Room(machine.watchdog)
        self._wait = wait
        self._making = Making(machine.registers, wait)

    def perform(self, task: Task, pending: Pending, fault: Fault | None) -> Done:
        """Let an actor at an entry stop make its call; it is left at the exit stop."""
        number = self._refusal(task, pending, fault)
        if number and pending.call.row.kind is Kind.CLOSE:
            return self._fail_close(task, pending, number)
        if number:
            self._registers.skip(task.tid, -number)
            return Done(-number, {})
        call = pending.call
        kind = call.row.kind
        edits: dict[int, int] = {}
        pieces = b""
        if fault is not None or kind in _TRIED:
            edits = self._edits(pending, fault)
            if edits:
                self._registers.edit(task.tid, edits)
            elif fault is not None:
                pieces = _cut_pieces(call, task.process.memory, fault.length)
        cut_off = self._make(task, call)
        if cut_off is not None:
            # What it has done all the same is not known.
            self._machine.resolver.forget()
            return cut_off
        result = ptrace.result(task.tid)
        if pieces:
            task.process.memory.write(call.raw[_iov(call)], pieces)
        if edits:
            if fault is None and result in (-errno.EAGAIN, -errno.EACCES):
                return Done(result, {}, blocked=True)
            restore = {index: call.raw[index] for index in edits}
            self._registers.finish(task.tid, result, restore)
        if result < 0:
            return Done(result, {})
        return Done(result, self._given(task, pending, result))

    def _given(self, task: Task, pending: Pending, result: int) -> dict[str, Value]:
        """Take note of a call that succeeded; return what it gave through memory."""
        call = pending.call
        kind = call.row.kind
        if kind is Kind.LISTING and result:
            self._sort(task, pending, result)
        elif kind in _FILLING:
            self._room.take(call, result)
        elif kind is Kind.LOCK:
            answer = self._locks.answer(task, pending)
            if answer:
                task.process.memory.write(call.raw[2], answer)
        given = outputs(call, result, task.process.memory)
        if kind in _GIVING_PATHS:
            for name in ("path", "target"):
                # Absolute paths would make equal executions differ.
                text = given.get(name)
                if isinstance(text, str):
                    given[name] = self._machine.sandbox.display(text)
        self._succeeded(task, pending, result)
        return given

    def _make(self, task: Task, call: Call) -> Done | None:
        """Let the call be made; return what came of it if its exit is not reached.

        A lookup that must not leave a folder fails if anything at all is renamed on the
        machine meanwhile. None of that is by actors, and it is none of theirs.
        """
        can_fail = call.read.get("resolve", 0) & _DISTURBED
        for _ in range(_MOST_TRIES):
            ptrace.resume_to_exit(task.tid)
            cut_off = self._reach_exit(task)
            if cut_off is not None or not can_fail:
                return cut_off
            if ptrace.result(task.tid) != -errno.EAGAIN:
                return None
            self._making.go_back(task, dict(enumerate(call.raw)))
            if task.ended:
                return Done(-errno.EINTR, {})
        raise EngineError(f"{call.row.name} of {task.name} failed {_MOST_TRIES} times")

    def _reach_exit(self, task: Task) -> Done | None:
        """Wait for the exit stop; return what came of it if that is not reached."""
        watchdog = self._machine.watchdog
        until = 0.0
        while True:
            status = self._wait(task)
            if status == ptrace.AT_EXIT:
                if not watchdog.interrupted or ptrace.result(task.tid) not in _RESTARTS:
                    return None
                # It was found asleep. When it is resumed it enters the call anew.
                now = time.monotonic()
                until = until or now + self._machine.max_sleep_s
                if now >= until:
                    return Done(-errno.EINTR, {}, asleep=True)
                ptrace.resume(task.tid)
            elif not os.WIFSTOPPED(status):
                return Done(-errno.EINTR, {})
            elif status >> 16 == ptrace.EVENT_EXEC:
                task.process.executed()
                ptrace.resume_to_exit(task.tid)
            elif status >> 16 == ptrace.EVENT_SECCOMP:
                if not until:
                    raise EngineError(f"{task.name} made a call inside a call")
                ptrace.resume_to_exit(task.tid)
            else:
                ptrace.resume_to_exit(task.tid, os.WSTOPSIG(status))

    def _edits(self, pending: Pending, fault: Fault | None) -> dict[int, int]:
        """Return the arguments to change at the entry: locks are tried, writes cut."""
        call = pending.call
        if fault is not None:
            index = call.row.index("count")
            if index is None:
                return {}
            return {index: min(fault.length, call.raw[index])}
        if call.row.kind is Kind.FLOCK and not call.raw[1] & fcntl.LOCK_NB:
            if not call.raw[1] & fcntl.LOCK_UN:
                return {1: call.raw[1] | fcntl.LOCK_NB}
        elif call.row.kind is Kind.LOCK and call.raw[1] in (_F_SETLKW, _F_OFD_SETLKW):
            return {1: call.raw[1] - 1}
        return {}

    def _sort(self, task: Task, pending: Pending, length: int) -> None:
        memory = task.process.memory
        address = pending.call.raw[1]
        folder = f"/proc/{task.process.proc}/fd/{pending.call.number('fd')}"

        def inode(name: bytes) -> int:
            try:
                found = self._names.find(os.lstat(os.fsencode(f"{folder}/") + name))
            except OSError:
                found = None
            return number(found or os.fsdecode(name))

        data = memory.read(address, length)
        memory.write(address, in_order(data, pending.call.row.name, inode))

    def _refusal(self, task: Task, pending: Pending, fault: Fault | None) -> int:
        """Return the error that a call fails with whatever the kernel thinks, or 0."""
        if fault is not None and fault.kind is FaultKind.ERRNO:
            return int(getattr(errno, fault.errno))
        call = pending.call
        if call.row.kind in _FILLING and self._room.refuses(task, call):
            return errno.ENOSPC
        crosses = self._machine.tmp_on_other_mount and pending.crosses(
            str(self._machine.sandbox.temporary)
        )
        return errno.EXDEV if crosses else 0

    def _fail_close(self, task: Task, pending: Pending, number: int) -> Done:
        """Let a close fail as Linux does: the descriptor is gone all the same."""
        ptrace.resume_to_exit(task.tid)
        cut_off = self._reach_exit(task)
        if cut_off is not None:
            return cut_off
        if ptrace.result(task.tid) >= 0:
            self._closed(task, pending)
        self._registers.finish(task.tid, -number, {})
        return Done(-number, {})

    def _succeeded(self, task: Task, pending: Pending, result: int) -> None:
        """Take note of what a successful call has done."""
        kind = pending.call.row.kind
        if kind in _REMOVING:
            for walk in pending.walks:
                self._machine.resolver.removed(walk.parent, walk.name)
        else:
            self._apply(task, pending, result)
        self.times.apply(pending, self._names, result, self._clock.realtime_ns)
        if kind is Kind.STAT:
            self.times.put(pending, task.process.memory)

    def _apply(self, task: Task, pending: Pending, result: int) -> None:
        """Keep names and descriptors true to what a successful call has done."""
        call = pending.call
        kind = call.row.kind
        files = pending.files
        if kind is Kind.OPEN:
            self._opened(task, pending, result)
        elif kind in (Kind.MKDIR, Kind.MKNOD, Kind.SYMLINK):
            walk = pending.walks[-1]
            pending.made = self._creation(task)
            self._names.add(os.lstat(walk.location), pending.made)
        elif kind is Kind.CLOSE:
            self._closed(task, pending)
        elif kind is Kind.DUP:
            file = files.get("oldfd")
            if call.row.index("newfd") is not None and result != call.number("oldfd"):
                task.process.descriptors.close(result)
            if file is not None:
                closing = False
                if call.row.name == "dup3":
                    closing = bool(call.number("flags") & os.O_CLOEXEC)
                elif call.row.name == "fcntl":
                    closing = call.raw[1] == _F_DUPFD_CLOEXEC
                task.process.descriptors.add(result, file, close_on_exec=closing)
        elif kind in (Kind.FLOCK, Kind.LOCK):
            if "fd" in files:
                files["fd"].locked = True
        elif kind is Kind.OTHER and call.row.name in ("fcntl", "ioctl"):
            if call.row.name == "fcntl" and call.raw[1] == _F_SETFD:
                wanted = bool(call.raw[2] & fcntl.FD_CLOEXEC)
            elif call.raw[1] in (_FIOCLEX, _FIONCLEX):
                wanted = call.raw[1] == _FIOCLEX
            else:
                return
            task.process.descriptors.close_on_exec(call.number("fd"), wanted=wanted)

    def _opened(self, task: Task, pending: Pending, result: int) -> None:
        walk = pending.walks[0]
        name = walk.target
        if name is None:
            status = os.stat(f"/proc/{task.process.proc}/fd/{result}")
            name = self._names.find(status)
            if walk.parent is not None and (walk.status is None or name is None):
                # It was not there, so this step made it; a name that its number has
                # is that of an inode that is gone.
                name = pending.made = self._creation(task)
                self._names.add(status, name)
        elif pending.call.number("flags") & os.O_TMPFILE == os.O_TMPFILE:
            name = self._creation(task)
            status = os.stat(f"/proc/{task.process.proc}/fd/{result}")
            self._names.add(status, name)
        if name is None:
            return
        flags = pending.call.number("flags")
        path = pending.args.get("path")
        file = OpenFile(self._creation(task), name, str(path), flags)
        task.process.descriptors.add(
            result, file, close_on_exec=bool(flags & os.O_CLOEXEC)
        )

    @staticmethod
    def _closed(task: Task, pending: Pending) -> None:
        call = pending.call
        first = call.number("fd")
        if call.row.index("last") is None:
            task.process.descriptors.close(first)
            return
        last = call.number("last") & 0xFFFFFFFF
        if call.number("flags") & _CLOSE_RANGE_CLOEXEC:
            for number in task.process.descriptors.numbers():
                if first <= number <= last:
                    task.process.descriptors.close_on_exec(number, wanted=True)
        else:
            task.process.descriptors.close(first, last)

    @staticmethod
    def _creation(task: Task) -> str:
        """Return the name of what the pending step creates."""
        return f"{task.actor.name}#{task.actor.steps}"


def _iov(call: Call) -> int:
    index = call.row.index("iov")
    if index is None:
        raise EngineError(f"{call.row.name} cannot be cut short")
    return index


def _cut_pieces(call: Call, memory: Memory, length: int) -> bytes:
    """Shorten the pieces of a vector to some bytes in all; return how they were.

    Nothing is changed, and nothing returned, where they cannot be read: the kernel
    says so to the program.
    """
    address, count = call.raw[_iov(call)], min(call.number("vectors"), _MOST_PIECES)
    try:
        before = memory.read(address, count * _PIECE.size)
    except OSError:
        return b""
    cut = b""
    for start, size in _PIECE.iter_unpack(before[: len(before) & -_PIECE.size]):
        cut += _PIECE.pack(start, min(size, length))
        length -= min(size, length)
    memory.write(address, cut)
    return before
