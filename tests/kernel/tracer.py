"""A small tracer for tests: runs a program and shows every call that it makes.

The program asks to be traced and stops itself; see `calls.c`. Unlike the engine this
stops at all calls, needs no filter and decides nothing, so that what it shows can be
held against what the table and the decoder say.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import struct
from typing import TYPE_CHECKING, NamedTuple

from racecheck.kernel.memory import Memory
from racecheck.kernel.numbers import names

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

_PTRACE_SYSCALL = 24
_PTRACE_SETOPTIONS = 0x4200
_PTRACE_GET_SYSCALL_INFO = 0x420E
_TRACESYSGOOD = 0x01
_TRACEEXEC = 0x10
_EXITKILL = 0x100000
_CALL_STOP = signal.SIGTRAP | 0x80
_ENTRY, _EXIT = 1, 2

_libc = ctypes.CDLL(None, use_errno=True)
_libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
_libc.ptrace.restype = ctypes.c_long


class Stop(NamedTuple):
    """The program at the entry of a call, or where the call has returned.

    Attributes:
        name: Name of the call.
        number: Its number.
        raw: Its six arguments.
        result: None at the entry.
        memory: Memory of the program, good until the next stop.
    """

    name: str
    number: int
    raw: tuple[int, ...]
    result: int | None
    memory: Memory


def stops(program: Path, *args: str) -> Iterator[Stop]:
    """Run a program to its end, and stop with it at each call."""
    pid = os.posix_spawn(program, [str(program), *args], {})
    alive = True
    memory: Memory | None = None
    try:
        _, status = os.waitpid(pid, 0)
        if not os.WIFSTOPPED(status):
            alive = False
            raise AssertionError(f"{program.name} {args} ended before it was traced")
        _ptrace(_PTRACE_SETOPTIONS, pid, _TRACESYSGOOD | _TRACEEXEC | _EXITKILL)
        memory = Memory(pid)
        entered: Stop | None = None
        while True:
            _ptrace(_PTRACE_SYSCALL, pid, 0)
            _, status = os.waitpid(pid, 0)
            if not os.WIFSTOPPED(status):
                alive = False
                return
            if status >> 16:
                # After an exec the kept memory would be that of the old program.
                memory.close()
                memory = Memory(pid)
            if os.WSTOPSIG(status) != _CALL_STOP:
                continue
            operation, values = _information(pid)
            if operation == _ENTRY:
                number, *raw = values
                name = names().get(number, str(number))
                entered = Stop(name, number, tuple(raw), None, memory)
                yield entered
            elif operation == _EXIT and entered is not None:
                yield entered._replace(result=_signed(values[0]), memory=memory)
    finally:
        if memory is not None:
            memory.close()
        if alive:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


def _information(pid: int) -> tuple[int, Sequence[int]]:
    block = ctypes.create_string_buffer(88)
    _ptrace(_PTRACE_GET_SYSCALL_INFO, pid, ctypes.addressof(block), len(block))
    return block.raw[0], struct.unpack_from("=7Q", block.raw, 24)


def _signed(value: int) -> int:
    return value - (1 << 64) if value >> 63 else value


def _ptrace(request: int, pid: int, data: int, address: int = 0) -> None:
    if _libc.ptrace(request, pid, address, data) < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
