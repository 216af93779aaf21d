"""Calls that ask the kernel for something and would wait: made without waiting.

`poll`, `select`, `epoll_wait` and `wait4` are entered with a timeout of zero, or with
WNOHANG. If they come back empty the task enters them again and waits there, and the
call is repeated whenever anything has happened.
"""

from __future__ import annotations

import contextlib
import errno
import os
from typing import TYPE_CHECKING, Final

from racecheck.engine.groups import real_group
from racecheck.engine.siginfo import PID_AT, show_in_memory
from racecheck.kernel import ptrace

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from racecheck.engine.task import Task
    from racecheck.kernel.registers import Registers

# The argument that holds the timeout: in milliseconds, or the address of a structure.
_MILLISECONDS: Final = {"poll": 2, "epoll_wait": 3, "epoll_pwait": 3}
_STRUCTURES: Final = {
    "ppoll": 2,
    "select": 4,
    "pselect6": 4,
    "epoll_pwait2": 3,
    "rt_sigtimedwait": 2,
}
_OPTIONS: Final = {"wait4": 2, "waitid": 3}
_SETS: Final = ("select", "pselect6")

TIMED: Final = frozenset({*_MILLISECONDS, *_STRUCTURES})
"""Calls that can have a timeout."""

NAMES: Final = TIMED | frozenset(_OPTIONS)
"""All calls that are made in this way."""

_WORD_BITS: Final = 64
_MOST_DESCRIPTORS: Final = 1 << 20
"""More than a process can have, as the kernel is set up; see proc_sys_fs(5)."""
_BELOW_STACK: Final = 1024


class Try:
    """One such call of one task, from its first attempt until it has an answer."""

    def __init__(
        self,
        task: Task,
        name: str,
        raw: Sequence[int],
        registers: Registers,
        wait: Callable[[Task], int],
        happened: Callable[[], int],
        ids: Ids,
    ) -> None:
        """Prepare; the task stands at the call's entry.

        Args:
            task: Who makes the call.
            name: Its name.
            raw: Its arguments.
            registers: Registers of this machine.
            wait: Waits for the task.
            happened: Counts what has happened, to know whether to ask again.
            ids: Translates process ids for `wait4`.
        """
        self.task = task
        self.name = name
        self.result: int | None = None
        self._raw = tuple(raw)
        self._registers = registers
        self._wait = wait
        self._happened = happened
        self._seen = -1
        self._at_exit = False
        self._ids = ids
        # What it gives where there is nothing to give.
        self._nothing = -errno.EAGAIN if name == "rt_sigtimedwait" else 0
        self._edits = self._without_waiting()
        self._saved = self._sets()

    @property
    def blocks(self) -> bool:
        """Whether the program asked for a wait at all."""
        raw = self._raw
        if self.name in _OPTIONS:
            return not raw[_OPTIONS[self.name]] & os.WNOHANG
        if self.name in _MILLISECONDS:
            return bool(raw[_MILLISECONDS[self.name]] & 0xFFFFFFFF)
        address = raw[_STRUCTURES[self.name]]
        if not address:
            return True
        try:
            return any(self.task.process.memory.read(address, 16))
        except OSError:
            return False

    def attempt(self) -> bool:
        """Make the call; say whether it has an answer, and stands at its exit then."""
        self._seen = self._happened()
        self._registers.edit(self.task.tid, self._edits)
        ptrace.resume_to_exit(self.task.tid)
        status = self._wait(self.task)
        while os.WIFSTOPPED(status) and os.WSTOPSIG(status) != ptrace.SYSCALL_STOP:
            ptrace.resume_to_exit(self.task.tid, _signal(status))
            status = self._wait(self.task)
        if not os.WIFSTOPPED(status):
            return True
        self.result = ptrace.result(self.task.tid)
        self._at_exit = True
        return not self._is_empty()

    def enter_again(self, number: int) -> None:
        """After an empty attempt: bring the task back to the call's entry."""
        for address, data in self._saved:
            self.task.process.memory.write(address, data)
        restore = {index: self._raw[index] for index in self._edits} | {0: self._raw[0]}
        self._at_exit = False
        self._registers.restart(self.task.tid, number, restore)
        ptrace.resume(self.task.tid)
        status = self._wait(self.task)
        while os.WIFSTOPPED(status) and status >> 16 != ptrace.EVENT_SECCOMP:
            ptrace.resume(self.task.tid, _signal(status))
            status = self._wait(self.task)

    def again(self) -> bool:
        """Ask again if anything has happened; say whether there is an answer."""
        if self.result is not None and not self._is_empty():
            return True
        if self._seen == self._happened():
            return False
        if self.attempt():
            return True
        self.enter_again(self.task.number)
        self._seen = self._happened()
        return False

    def finish(self, *, expired: bool) -> None:
        """Let the program have the answer; the task is resumed after that."""
        if not self._at_exit:
            if expired:
                for address, data in self._saved:
                    self.task.process.memory.write(address, bytes(len(data)))
            self._registers.skip(self.task.tid, self._nothing)
            return
        result = self.result or 0
        if self.name == "wait4" and result > 0:
            result = self._ids.shown(result)
        elif result >= 0 and (address := self._info()):
            show_in_memory(self.task.process.memory, address, self._ids)
        restore = {index: self._raw[index] for index in self._edits}
        self._registers.finish(self.task.tid, result, restore)

    def _is_empty(self) -> bool:
        if self.result != self._nothing:
            return False
        if self.name != "waitid":
            return True
        memory = self.task.process.memory
        return bool(self._raw[2]) and not any(memory.read(self._raw[2] + PID_AT, 4))

    def _info(self) -> int:
        """Return where the call tells of a signal or a child, or 0."""
        index = {"waitid": 2, "rt_sigtimedwait": 1}.get(self.name)
        return 0 if index is None else self._raw[index]

    def _without_waiting(self) -> dict[int, int]:
        name, raw = self.name, self._raw
        if name in _MILLISECONDS:
            return {_MILLISECONDS[name]: 0}
        if name in _OPTIONS:
            index = _OPTIONS[name]
            edits = {index: raw[index] | os.WNOHANG}
            wanted = raw[0] if name == "wait4" else raw[1]
            signed = ((wanted & 0xFFFFFFFF) ^ 0x80000000) - 0x80000000
            where = 0 if name == "wait4" else 1
            if signed > 0 and (name == "wait4" or raw[0] == os.P_PID):
                edits[where] = self._ids.real(signed)
            elif name == "wait4" and signed < -1:
                edits[where] = -real_group(self.task.actor, self._ids, -signed)
            elif name == "waitid" and signed > 0 and raw[0] == os.P_PGID:
                edits[where] = real_group(self.task.actor, self._ids, signed)
            return edits
        # A structure of zeros, in memory that the program does not use: below the part
        # of the stack that the ABI lets functions use without asking.
        address = (ptrace.stack(self.task.tid) - _BELOW_STACK) & ~15
        self.task.process.memory.write(address, bytes(16))
        return {_STRUCTURES[name]: address}

    def _sets(self) -> list[tuple[int, bytes]]:
        """Return the descriptor sets, which an empty answer clears."""
        if self.name not in _SETS:
            return []
        count = self._raw[0] & 0xFFFFFFFF
        if count >> 31:
            return []
        count = min(count, _MOST_DESCRIPTORS)
        size = (count + _WORD_BITS - 1) // _WORD_BITS * 8
        memory = self.task.process.memory
        # Of a set that cannot be read the kernel tells the program.
        with contextlib.suppress(OSError):
            return [
                (address, memory.read(address, size))
                for address in self._raw[1:4]
                if address and size
            ]
        return []


class Ids:
    """Translates between real ids and those that programs are shown."""

    def __init__(self) -> None:
        self._shown: dict[int, int] = {}

    def add(self, real: int, shown: int) -> None:
        """Take note of a process or thread."""
        self._shown[real] = shown

    def shown(self, real: int) -> int:
        """Return the id that programs are shown, the real one if none was given."""
        return self._shown.get(real, real)

    def real(self, shown: int) -> int:
        """Return the real id of the youngest that is shown by this one."""
        for real, other in reversed(self._shown.items()):
            if other == shown:
                return real
        return shown


def _signal(status: int) -> int:
    """Return the signal to hand on for a stop that is no event."""
    return 0 if status >> 16 else os.WSTOPSIG(status)
