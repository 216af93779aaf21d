"""Futexes, answered by the tracer, so that who is woken is a choice and not chance.

See futex(2). The kernel never sees these calls. A wake-up gives permits to the futex
rather than to a waiter: each of its waiters can go on until they are used up, and the
scheduler picks.
"""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING, Final

from racecheck.engine.waits import FutexWait
from racecheck.kernel.deadlines import deadline

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from racecheck.engine.task import Process, Task
    from racecheck.kernel.registers import Registers

_WAIT: Final = 0
_WAKE: Final = 1
_REQUEUE: Final = 3
_CMP_REQUEUE: Final = 4
_WAIT_BITSET: Final = 9
_WAKE_BITSET: Final = 10
_COMMAND: Final = 0x7F
_PRIVATE: Final = 0x80
_MOST: Final = 1 << 30


class Futexes:
    """All futexes that tasks of one execution wait at.

    Attributes:
        words: Where the word of each waiter is, and the value that it waits with.
    """

    def __init__(self, registers: Registers, note: Callable[[str], None]) -> None:
        self._registers = registers
        self._note = note
        self._waits: dict[object, list[FutexWait]] = {}
        self._permits: dict[object, int] = {}
        self.words: dict[FutexWait, tuple[Process, int, int]] = {}

    def enter(self, task: Task, raw: Sequence[int]) -> FutexWait | None:
        """Answer a futex call at its entry stop.

        Returns:
            The wait that it begins, or None if it has its answer already.
        """
        command = raw[1] & _COMMAND
        key = self._key(task.process, raw[0], private=bool(raw[1] & _PRIVATE))
        if command in (_WAIT, _WAIT_BITSET):
            return self._begin(task, raw, key)
        if command in (_WAKE, _WAKE_BITSET):
            self._registers.skip(task.tid, self._wake(key, raw[2] & 0xFFFFFFFF))
        elif command in (_REQUEUE, _CMP_REQUEUE):
            self._requeue(task, raw, key)
        else:
            self._note(f"futex operation {command} by {task.name}")
        return None

    def has_permit(self, wait: FutexWait) -> bool:
        """Say whether a waiter could be the one to be woken."""
        return self._permits.get(wait.key, 0) > 0

    def take_permit(self, wait: FutexWait) -> None:
        """Wake one waiter."""
        self._permits[wait.key] -= 1

    def remove(self, wait: FutexWait) -> None:
        """Forget a waiter that waits no longer."""
        waits = self._waits.get(wait.key, [])
        if wait in waits:
            waits.remove(wait)
        self.words.pop(wait, None)
        if not waits:
            self._waits.pop(wait.key, None)
            self._permits.pop(wait.key, None)

    def look_again(self, *, only_cleared: bool) -> None:
        """Wake waiters whose word has changed without a wake-up by a task.

        The kernel clears a thread's word when the thread ends. Any other change counts
        only where nobody else can go on, since a program that changes a word wakes its
        waiters itself.
        """
        for wait, (process, address, value) in list(self.words.items()):
            try:
                word = int.from_bytes(process.memory.read(address, 4), "little")
            except OSError:
                continue
            if word != value and (word == 0 or not only_cleared):
                wait.woken = True

    def _begin(self, task: Task, raw: Sequence[int], key: object) -> FutexWait | None:
        try:
            deadline_ns = deadline("futex", raw, task.process.memory, task.actor.clock)
        except OSError:
            # The kernel says so to the program, in the same words.
            return None
        try:
            word = int.from_bytes(task.process.memory.read(raw[0], 4), "little")
        except OSError:
            self._registers.skip(task.tid, -errno.EFAULT)
            return None
        value = raw[2] & 0xFFFFFFFF
        if word != value:
            self._registers.skip(task.tid, -errno.EAGAIN)
            return None
        wait = FutexWait("futex", deadline_ns, self, key)
        self._waits.setdefault(key, []).append(wait)
        self.words[wait] = (task.process, raw[0], value)
        return wait

    def _wake(self, key: object, count: int) -> int:
        waiting = len(self._waits.get(key, ()))
        given = self._permits.get(key, 0)
        granted = min(count, _MOST, waiting - given)
        if granted > 0:
            self._permits[key] = given + granted
        return max(granted, 0)

    def _requeue(self, task: Task, raw: Sequence[int], key: object) -> None:
        if raw[1] & _COMMAND == _CMP_REQUEUE:
            word = int.from_bytes(task.process.memory.read(raw[0], 4), "little")
            if word != raw[5] & 0xFFFFFFFF:
                self._registers.skip(task.tid, -errno.EAGAIN)
                return
        woken = self._wake(key, raw[2] & 0xFFFFFFFF)
        other = self._key(task.process, raw[4], private=bool(raw[1] & _PRIVATE))
        waits = self._waits.get(key, [])
        movable = waits[self._permits.get(key, 0) :][: raw[3] & 0xFFFFFFFF]
        for wait in movable:
            self._move(wait, other, raw[4])
        self._registers.skip(task.tid, woken + len(movable))

    def _move(self, wait: FutexWait, key: object, address: int) -> None:
        """Let a waiter wait at another futex from now on."""
        process, _, _ = self.words[wait]
        self._waits[wait.key].remove(wait)
        wait.key = key
        self._waits.setdefault(key, []).append(wait)
        word = int.from_bytes(process.memory.read(address, 4), "little")
        self.words[wait] = (process, address, word)

    @staticmethod
    def _key(process: Process, address: int, *, private: bool) -> object:
        """Return what identifies a futex: memory of one process, or a shared page."""
        if not private:
            with open(f"/proc/{process.proc}/maps", encoding="ascii") as maps:
                for line in maps:
                    area, _, offset, device, inode = line.split(maxsplit=5)[:5]
                    start, _, end = area.partition("-")
                    first = int(start, 16)
                    if first <= address < int(end, 16) and inode != "0":
                        return (device, inode, address - first + int(offset, 16))
        return (process.pid, address)
