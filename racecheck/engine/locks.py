"""Who holds the file locks that others wait for.

The kernel is asked each time, while every task stands still: what it says of open files
is the truth, in whatever way a lock was lost. Only the steps at which locks were taken
are kept here, since nobody else knows them.
"""

from __future__ import annotations

import fcntl
import os
import struct
from typing import TYPE_CHECKING, Final, NamedTuple

from racecheck.footprint import fdinfo
from racecheck.kernel.decode import read_lock
from racecheck.kernel.rows import F_GETLK, F_OFD_GETLK, F_SETLKW
from racecheck.model import Held, Kind

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from racecheck.engine.pending import Pending
    from racecheck.engine.task import Actor, Process, Task
    from racecheck.footprint import OpenFile
    from racecheck.kernel.call import Call

# struct flock: type, whence, start, length, process id.
_FLOCK: Final = struct.Struct("=2h4x2qi")
_TYPES: Final = {"FLOCK": "flock", "POSIX": "POSIX", "OFDLCK": "OFD"}
_LONGEST_CIRCLE: Final = 12
"""Of how many processes a circle may be for the kernel to find it, as measured."""


class Holder(NamedTuple):
    """Somebody whose lock keeps another from one.

    Attributes:
        process: Process that holds it.
        type: `FLOCK`, `POSIX` or `OFDLCK`.
        lane: Task that took it.
        step: Index of the step at which it did.
    """

    process: Process
    type: str
    lane: str
    step: int


class _Obstacle(NamedTuple):
    """A lock that is in the way of another, and whose it is."""

    actor: Actor
    process: Process
    file: OpenFile
    lock: fdinfo.Lock


class _Taken(NamedTuple):
    """A lock as it was taken; the end of a range is the byte after its last."""

    lane: str
    step: int
    lock: fdinfo.Lock


class Locks:
    """The file locks of one execution."""

    def __init__(self, actors: Sequence[Actor]) -> None:
        """Serve one execution.

        Args:
            actors: Its actors; the list may grow.
        """
        self._actors = actors
        self._taken: dict[OpenFile, list[_Taken]] = {}
        self._refused: dict[Task, Call] = {}

    def took(self, task: Task, pending: Pending, step: int) -> None:
        """Take note of a call that succeeded; it may have got a lock."""
        lock = None if _asks(pending.call) else _wanted(task, pending)
        if lock is not None:
            taken = self._taken.setdefault(_file(pending), [])
            taken.append(_Taken(task.lane, step, lock))

    def lost(self, task: Task, pending: Pending) -> bool:
        """Take note that a lock was refused.

        Returns:
            Whether to wait for it would be to wait for oneself. The kernel notices that
            of locks which belong to processes, and has the call fail with EDEADLK.
        """
        self._refused[task] = pending.call
        return _is_process_lock(pending.call) and self._closes_circle(task, pending)

    def holders(self, task: Task) -> list[Holder]:
        """Return who keeps a task from the lock it asks for, in the order of taking."""
        return [] if task.pending is None else self._holders(task, task.pending)

    def answer(self, task: Task, pending: Pending) -> bytes:
        """Return the `struct flock` that F_GETLK gives, or nothing for other calls.

        If several locks are in the way, the kernel tells of one of them: of which
        depends on the order in which they were taken, even by those who are not in each
        other's way. Here it is the one that begins first.
        """
        call = pending.call
        if not _asks(call) or "fd" not in pending.files:
            return b""
        if read_lock(call.raw[2], task.process.memory)[0] == fcntl.F_UNLCK:
            return b""
        first = self._first(task, pending)
        if first is None:
            return b""
        lock = first.lock
        return _FLOCK.pack(
            fcntl.F_WRLCK if lock.exclusive else fcntl.F_RDLCK,
            os.SEEK_SET,
            lock.start,
            0 if lock.end == fdinfo.FOREVER else lock.end - lock.start,
            first.process.shown if lock.type == "POSIX" else -1,
        )

    def held(self) -> Iterator[Held]:
        """Yield all locks that are held, as reports show them."""
        for actor in self._actors:
            for process in actor.processes():
                for target in {file.target for file in process.descriptors.files()}:
                    for lock, file in _locks_on(process, target):
                        lane, step = self._since(actor, file, lock)
                        end = 0 if lock.end == fdinfo.FOREVER else lock.end
                        kind = _TYPES[lock.type]
                        yield Held(
                            lane, file.path, kind, lock.exclusive, lock.start, end, step
                        )

    @staticmethod
    def holds_any(process: Process) -> bool:
        """Say whether a process has any lock."""
        return any(
            True
            for target in {file.target for file in process.descriptors.files()}
            for _ in _locks_on(process, target)
        )

    def describe(self, task: Task) -> str:
        """Say what lock a task waits for, and who has it since when."""
        pending = task.pending
        if pending is None:
            return "a lock"
        text = f"{pending.call.row.name} {_file(pending).path}"
        holders = self._holders(task, pending)
        if not holders:
            return text
        names = ["itself" if each.lane == task.lane else each.lane for each in holders]
        held = " and ".join(
            f"{name} since step {each.step}"
            for name, each in zip(names, holders, strict=True)
        )
        return f"{text}, held by {held}"

    def _closes_circle(self, task: Task, pending: Pending) -> bool:
        first = self._first(task, pending)
        for _ in range(_LONGEST_CIRCLE):
            # The kernel looks at the first lock that is in the way, and nothing else.
            if first is None or first.lock.type != "POSIX":
                return False
            if first.process is task.process:
                return True
            waiting = self._waiting(first.process)
            if waiting is None or waiting.pending is None:
                return False
            first = self._first(waiting, waiting.pending)
        return False

    def _waiting(self, process: Process) -> Task | None:
        """Return a task of a process that waits for a lock of processes."""
        for task, call in self._refused.items():
            if (
                task.process is process
                and not task.ended
                and task.pending is not None
                and task.pending.call is call
                and _is_process_lock(call)
            ):
                return task
        return None

    def _holders(self, task: Task, pending: Pending) -> list[Holder]:
        if _asks(pending.call):
            return []
        found: dict[tuple[int, str], Holder] = {}
        for each in self._obstacles(task, pending):
            lane, step = self._since(each.actor, each.file, each.lock)
            holder = Holder(each.process, each.lock.type, lane, step)
            found.setdefault((step, lane), holder)
        return [found[key] for key in sorted(found)]

    def _first(self, task: Task, pending: Pending) -> _Obstacle | None:
        """Return one lock that is in the way, the same in whatever order they came."""
        obstacles = self._obstacles(task, pending)
        return min(
            obstacles,
            key=lambda each: (each.lock.start, each.lock.end, each.process.shown),
            default=None,
        )

    def _obstacles(self, task: Task, pending: Pending) -> Iterator[_Obstacle]:
        """Return the locks that are in the way of one, those of all actors in turn."""
        wanted = _wanted(task, pending)
        if wanted is None:
            return
        file = _file(pending)
        for actor in self._actors:
            for process in actor.processes():
                for lock, other in _locks_on(process, file.target):
                    # Nobody excludes himself. Locks of one type belong to processes,
                    # those of the others to open files.
                    own = process is task.process
                    if lock.type != "POSIX":
                        own = other is file
                    if lock.type == wanted.type and own:
                        continue
                    if _excludes(lock, wanted):
                        yield _Obstacle(actor, process, other, lock)

    def _since(
        self, actor: Actor, file: OpenFile, lock: fdinfo.Lock
    ) -> tuple[str, int]:
        for taken in reversed(self._taken.get(file, [])):
            if taken.lock.type == lock.type and _overlap(taken.lock, lock):
                return taken.lane, taken.step
        return actor.name, 0


def _file(pending: Pending) -> OpenFile:
    return pending.files["fd"]


def _is_process_lock(call: Call) -> bool:
    return call.row.kind is Kind.LOCK and call.raw[1] == F_SETLKW


def _asks(call: Call) -> bool:
    """Say whether a call asks about a lock without taking it."""
    if call.row.kind is not Kind.LOCK:
        return False
    return call.number("command") in {F_GETLK, F_OFD_GETLK}


def _wanted(task: Task, pending: Pending) -> fdinfo.Lock | None:
    """Return the lock that a call is about, or None if it is about none."""
    call = pending.call
    target = _file(pending).target
    command = call.number("command")
    if call.row.kind is Kind.FLOCK:
        if command & fcntl.LOCK_UN:
            return None
        return fdinfo.Lock(target, "FLOCK", bool(command & fcntl.LOCK_EX), 0, 0)
    if "type" not in call.read or call.number("type") == fcntl.F_UNLCK:
        return None
    start, length = call.number("start"), call.number("length")
    number = call.number("fd")
    if call.number("whence") == os.SEEK_CUR:
        start += fdinfo.state(task.process.proc, number)[0]
    elif call.number("whence") == os.SEEK_END:
        start += os.stat(f"/proc/{task.process.proc}/fd/{number}").st_size
    end = start + length if length else fdinfo.FOREVER
    kind = "OFDLCK" if command >= F_OFD_GETLK else "POSIX"
    exclusive = call.number("type") == fcntl.F_WRLCK
    return fdinfo.Lock(target, kind, exclusive, min(start, end), max(start, end))


def _locks_on(process: Process, target: str) -> Iterator[tuple[fdinfo.Lock, OpenFile]]:
    """Return the locks that a process has on a file, by the open files they are of."""
    seen = set()
    for number, file in process.descriptors.table().items():
        if file.target != target or not file.locked or file in seen:
            continue
        seen.add(file)
        try:
            locks = fdinfo.locks(process.proc, number, target)
        except OSError:
            # It has ended; that is told when it is waited for.
            return
        for lock in locks:
            yield lock, file


def _excludes(lock: fdinfo.Lock, wanted: fdinfo.Lock) -> bool:
    if not (lock.exclusive or wanted.exclusive):
        return False
    if "FLOCK" in {lock.type, wanted.type}:
        # Those of flock(2) and those of fcntl(2) know nothing of each other.
        return lock.type == wanted.type
    return _overlap(lock, wanted)


def _overlap(one: fdinfo.Lock, other: fdinfo.Lock) -> bool:
    # Those of flock(2) have no range.
    return one.type == "FLOCK" or (one.start < other.end and other.start < one.end)
