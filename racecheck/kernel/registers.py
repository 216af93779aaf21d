"""Changing a call at its stops: skip it, edit its arguments, restart it.

What differs between processors is here and in the call table, nowhere else. Reading a
call needs none of it (`ptrace.entry`, `ptrace.result`).
"""

from __future__ import annotations

import ctypes
import os
from typing import TYPE_CHECKING, Final, Protocol

from racecheck.kernel import ptrace

if TYPE_CHECKING:
    from collections.abc import Mapping

_MASK = (1 << 64) - 1
_ERESTARTSYS: Final = 512
"""What the kernel itself gives an interrupted call, to decide on its repetition; the
next number, ERESTARTNOINTR, has it repeated in any case."""


class Registers(Protocol):
    """The few changes that racecheck makes to a task's registers."""

    audit_arch: int
    """AUDIT_ARCH value of this processor's own system call entry."""

    def skip(self, tid: int, result: int) -> None:
        """At an entry stop: do not make the call, let it give `result`."""
        ...

    def edit(self, tid: int, changes: Mapping[int, int]) -> None:
        """At an entry stop: change arguments, by their index."""
        ...

    def finish(self, tid: int, result: int, restore: Mapping[int, int]) -> None:
        """At an exit stop: let the call give `result`; put arguments back.

        The kernel preserves argument registers over a call and compilers rely on it,
        so each argument edited at the entry has to be put back.
        """
        ...

    def restart(self, tid: int, number: int, args: Mapping[int, int]) -> None:
        """At an exit stop: make the task enter call `number` again.

        Args:
            tid: The task.
            number: Number of the call.
            args: Arguments to change first, by their index.
        """
        ...

    def replace(self, tid: int, number: int) -> None:
        """At an entry stop: make another call instead."""
        ...

    def interrupt(self, tid: int, number: int, *, again: bool = False) -> None:
        """At an exit stop: let call `number` end as one that a signal interrupts.

        Args:
            tid: The task.
            number: Number of the call.
            again: Whether it is made again, however the handler was installed.
        """
        ...

    def thread_pointer(self, tid: int) -> int:
        """At any stop: return its thread pointer; `pthread_self` is there or below."""
        ...


class X8664:
    """Registers of x86-64, by GETREGS and SETREGS.

    Numbers are positions in `struct user_regs_struct` (sys/user.h).
    """

    audit_arch = 0xC000003E
    _GET: Final = 12
    _SET: Final = 13
    _RAX: Final = 10
    _ORIG_RAX: Final = 15
    _RIP: Final = 16
    _FS_BASE: Final = 21
    _ARGS: Final = (14, 13, 12, 7, 9, 8)

    def __init__(self) -> None:
        self._values = (ctypes.c_ulonglong * 27)()
        self._address = ctypes.addressof(self._values)

    def _get(self, tid: int) -> None:
        ptrace._request(self._GET, tid, 0, self._address)  # noqa: SLF001  same package

    def _set(self, tid: int) -> None:
        ptrace._request(self._SET, tid, 0, self._address)  # noqa: SLF001  same package

    def skip(self, tid: int, result: int) -> None:
        """See `Registers.skip`."""
        # A number of -1 makes the kernel leave out the call and keep rax as it is.
        ptrace.poke(tid, self._ORIG_RAX, -1)
        ptrace.poke(tid, self._RAX, result)

    def edit(self, tid: int, changes: Mapping[int, int]) -> None:
        """See `Registers.edit`."""
        self._get(tid)
        for index, value in changes.items():
            self._values[self._ARGS[index]] = value & _MASK
        self._set(tid)

    def finish(self, tid: int, result: int, restore: Mapping[int, int]) -> None:
        """See `Registers.finish`."""
        self._get(tid)
        self._values[self._RAX] = result & _MASK
        for index, value in restore.items():
            self._values[self._ARGS[index]] = value & _MASK
        self._set(tid)

    def restart(self, tid: int, number: int, args: Mapping[int, int]) -> None:
        """See `Registers.restart`."""
        self._get(tid)
        self._values[self._RAX] = number
        self._values[self._RIP] -= 2  # the length of `syscall`
        for index, value in args.items():
            self._values[self._ARGS[index]] = value & _MASK
        self._set(tid)

    def replace(self, tid: int, number: int) -> None:
        """See `Registers.replace`."""
        self._get(tid)
        self._values[self._ORIG_RAX] = number
        self._set(tid)

    def interrupt(self, tid: int, number: int, *, again: bool = False) -> None:
        """See `Registers.interrupt`."""
        self._get(tid)
        self._values[self._ORIG_RAX] = number
        self._values[self._RAX] = -(_ERESTARTSYS + again) & _MASK
        self._set(tid)

    def thread_pointer(self, tid: int) -> int:
        """See `Registers.thread_pointer`."""
        self._get(tid)
        return self._values[self._FS_BASE]


class AArch64:
    """Registers of 64-bit ARM, by GETREGSET and SETREGSET.

    x0 is the first argument and the result in one, so a caller that restarts a call
    has to give argument 0 as well. Not run on real hardware; the layout is that of
    `struct user_pt_regs` (asm/ptrace.h): x0 to x30, sp, pc, pstate.
    """

    audit_arch = 0xC00000B7
    _GETREGSET: Final = 0x4204
    _SETREGSET: Final = 0x4205
    _PRSTATUS: Final = 1
    _SYSTEM_CALL: Final = 0x404
    _TLS: Final = 0x401
    _PC: Final = 32

    def __init__(self) -> None:
        self._values = (ctypes.c_ulonglong * 34)()
        self._number = (ctypes.c_int * 1)()
        self._vector = (ctypes.c_ulonglong * 2)()

    def _transfer(self, tid: int, request: int, which: int, buffer: object) -> None:
        array = buffer
        self._vector[0] = ctypes.addressof(array)  # type: ignore[arg-type]  # an array
        self._vector[1] = ctypes.sizeof(array)  # type: ignore[arg-type]  # an array
        ptrace._request(  # noqa: SLF001  same package
            request, tid, which, ctypes.addressof(self._vector)
        )

    def _get(self, tid: int) -> None:
        self._transfer(tid, self._GETREGSET, self._PRSTATUS, self._values)

    def _set(self, tid: int) -> None:
        self._transfer(tid, self._SETREGSET, self._PRSTATUS, self._values)

    def skip(self, tid: int, result: int) -> None:
        """See `Registers.skip`."""
        self._number[0] = -1
        self._transfer(tid, self._SETREGSET, self._SYSTEM_CALL, self._number)
        self._get(tid)
        self._values[0] = result & _MASK
        self._set(tid)

    def edit(self, tid: int, changes: Mapping[int, int]) -> None:
        """See `Registers.edit`."""
        self._get(tid)
        for index, value in changes.items():
            self._values[index] = value & _MASK
        self._set(tid)

    def finish(self, tid: int, result: int, restore: Mapping[int, int]) -> None:
        """See `Registers.finish`."""
        self._get(tid)
        for index, value in restore.items():
            self._values[index] = value & _MASK
        self._values[0] = result & _MASK
        self._set(tid)

    def restart(self, tid: int, number: int, args: Mapping[int, int]) -> None:
        """See `Registers.restart`."""
        del number  # x8 still holds it
        self._get(tid)
        self._values[self._PC] -= 4
        for index, value in args.items():
            self._values[index] = value & _MASK
        self._set(tid)

    def replace(self, tid: int, number: int) -> None:
        """See `Registers.replace`."""
        self._number[0] = number
        self._transfer(tid, self._SETREGSET, self._SYSTEM_CALL, self._number)

    def interrupt(self, tid: int, number: int, *, again: bool = False) -> None:
        """See `Registers.interrupt`."""
        self.replace(tid, number)
        self._get(tid)
        self._values[0] = -(_ERESTARTSYS + again) & _MASK
        self._set(tid)

    def thread_pointer(self, tid: int) -> int:
        """See `Registers.thread_pointer`."""
        value = (ctypes.c_ulonglong * 1)()
        self._transfer(tid, self._GETREGSET, self._TLS, value)
        return value[0]


def registers(machine: str | None = None) -> Registers:
    """Return the registers of this machine.

    Raises:
        KeyError: racecheck has no table for this processor.
    """
    makers: dict[str, type[X8664 | AArch64]] = {"x86_64": X8664, "aarch64": AArch64}
    return makers[machine or os.uname().machine]()
