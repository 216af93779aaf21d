"""The ptrace requests that racecheck uses, through ctypes.

See ptrace(2). Requests act on one task (thread) and only from the thread that seized
it. All functions raise `OSError`; `ProcessLookupError` means that the task died.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct
from typing import Final

_libc = ctypes.CDLL(None, use_errno=True)
_ptrace = _libc.ptrace
_ptrace.restype = ctypes.c_long
_ptrace.argtypes = (ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p)
# The same for what is asked at every stop. Without declared types ctypes need not look
# for how to convert each argument; what is no plain `int` has its type already.
_at_stop = _libc["ptrace"]
_at_stop.restype = ctypes.c_long

POKEUSER: Final = 6
CONT: Final = 7
SYSCALL: Final = 24
SEIZE: Final = 0x4206
INTERRUPT: Final = 0x4207
LISTEN: Final = 0x4208
GETEVENTMSG: Final = 0x4201
GETSIGINFO: Final = 0x4202
SETSIGINFO: Final = 0x4203
GET_SYSCALL_INFO: Final = 0x420E

OPTIONS: Final = (
    0x1  # TRACESYSGOOD: exit stops are told from SIGTRAP
    | 0x2  # TRACEFORK
    | 0x4  # TRACEVFORK
    | 0x8  # TRACECLONE
    | 0x10  # TRACEEXEC
    | 0x20  # TRACEVFORKDONE
    | 0x80  # TRACESECCOMP
    | 0x100000  # EXITKILL: no actor outlives the tracer, however that dies
)

WALL: Final = 0x40000000
"""`waitpid` option: report threads as well as processes."""

EVENT_FORK: Final = 1
EVENT_VFORK: Final = 2
EVENT_CLONE: Final = 3
EVENT_EXEC: Final = 4
EVENT_VFORK_DONE: Final = 5
EVENT_SECCOMP: Final = 7
EVENT_STOP: Final = 128
SYSCALL_STOP: Final = 0x85
"""Stop signal of a system call's exit stop (SIGTRAP with the TRACESYSGOOD bit)."""
AT_ENTRY: Final = EVENT_SECCOMP << 16 | 0x057F
"""Wait status of a stop at the entry of a call that the filter traces."""
AT_EXIT: Final = SYSCALL_STOP << 8 | 0x7F
"""Wait status of a stop at the exit of a call."""


# struct ptrace_syscall_info, 5.3 and later: op, padding, arch, ip, sp, then a union of
# which the longest member is number, six arguments and the filter's data.
_libc.syscall.restype = ctypes.c_long
_INFO = ctypes.create_string_buffer(88)
_SIGNAL_INFO_SIZE: Final = 128
_INFO_SIZE = ctypes.c_long(88)
_INFO_ADDRESS = ctypes.cast(_INFO, ctypes.c_void_p)
_ENTRY = struct.Struct("=4xI16xQ6Q")
_POINTER = struct.Struct("=Q")
_EXIT = struct.Struct("=24xq")
_entry_from = _ENTRY.unpack_from
_exit_from = _EXIT.unpack_from


def _request(request: int, tid: int, address: int, data: int) -> int:
    result: int = _ptrace(request, tid, address, data)
    if result == -1:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


def seize(tid: int) -> None:
    """Become the tracer of a task without stopping it."""
    _request(SEIZE, tid, 0, OPTIONS)


def resume(tid: int, signal: int = 0) -> None:
    """Let a stopped task run to its next trapped call, event or end.

    A task that has been killed meanwhile is no error: its end is reported by `waitpid`.
    """
    data = ctypes.c_long(signal) if signal else None
    if _at_stop(CONT, tid, None, data) == -1 and ctypes.get_errno() != errno.ESRCH:
        _raise()


def resume_to_exit(tid: int, signal: int = 0) -> None:
    """Let a task at an entry stop make its call and stop at the call's exit.

    A task that has been killed meanwhile is no error, as with `resume`.
    """
    data = ctypes.c_long(signal) if signal else None
    if _at_stop(SYSCALL, tid, None, data) == -1 and ctypes.get_errno() != errno.ESRCH:
        _raise()


def listen(tid: int) -> None:
    """Leave a task in its group stop, as SIGSTOP wants it."""
    _request(LISTEN, tid, 0, 0)


def interrupt(tid: int) -> None:
    """Make a running or sleeping task stop with EVENT_STOP."""
    _request(INTERRUPT, tid, 0, 0)


def event_message(tid: int) -> int:
    """Return the value that goes with the event a task stopped for."""
    value = ctypes.c_ulong()
    _request(GETEVENTMSG, tid, 0, ctypes.addressof(value))
    return value.value


def signal_info(tid: int) -> bytearray:
    """Return what the kernel has to say of the signal that a task is to get.

    Returns:
        A `siginfo_t`, see sigaction(2).
    """
    data = ctypes.create_string_buffer(_SIGNAL_INFO_SIZE)
    _request(GETSIGINFO, tid, 0, ctypes.addressof(data))
    return bytearray(data.raw)


def set_signal_info(tid: int, info: bytearray) -> None:
    """Have a task told something else of the signal that it is to get."""
    data = ctypes.create_string_buffer(bytes(info), _SIGNAL_INFO_SIZE)
    _request(SETSIGINFO, tid, 0, ctypes.addressof(data))


def entry(tid: int) -> tuple[int, int, tuple[int, ...]]:
    """Return the call that a task at an entry stop is about to make.

    Returns:
        AUDIT_ARCH value of the entry it came through, number of the call, and its six
        raw arguments.
    """
    if _at_stop(GET_SYSCALL_INFO, tid, _INFO_SIZE, _INFO_ADDRESS) == -1:
        _raise()
    info = _entry_from(_INFO)
    return info[0], info[1], info[2:]


def result(tid: int) -> int:
    """Return what the call of a task at an exit stop gave, negative for an errno."""
    if _at_stop(GET_SYSCALL_INFO, tid, _INFO_SIZE, _INFO_ADDRESS) == -1:
        _raise()
    value: int = _exit_from(_INFO)[0]
    return value


def poke(tid: int, register: int, value: int) -> None:
    """Change one register of a stopped task.

    Args:
        tid: The task.
        register: Position in `struct user_regs_struct` (sys/user.h), on processors that
            have this request.
        value: Its value, of 64 bits.
    """
    place, data = ctypes.c_long(8 * register), ctypes.c_long(value)
    if _at_stop(POKEUSER, tid, place, data) == -1:
        _raise()


def stack(tid: int) -> int:
    """Return the stack pointer of a task at an entry or exit stop."""
    if _at_stop(GET_SYSCALL_INFO, tid, _INFO_SIZE, _INFO_ADDRESS) == -1:
        _raise()
    value: int = _POINTER.unpack_from(_INFO, 16)[0]
    return value


def system_call(number: int, *args: int) -> int:
    """Make a system call for which `os` has no function.

    Raises:
        OSError: It failed.
    """
    # A plain number would be passed as one of 32 bits, and addresses have more.
    value: int = _libc.syscall(number, *map(ctypes.c_long, args))
    if value == -1:
        _raise()
    return value


def is_signal(status: int) -> bool:
    """Say whether a wait status is that of a stop for a signal that a task gets."""
    return os.WIFSTOPPED(status) and not status >> 16 and status != AT_EXIT


def _raise() -> None:
    number = ctypes.get_errno()
    raise OSError(number, os.strerror(number))
