"""Who has sent a signal, as the program that gets it is told.

The kernel notes the sender's real id. Programs are to see the one that he is shown by.
See sigaction(2) for the fields of `siginfo_t`, and signalfd(2) for its own structure.
"""

from __future__ import annotations

import os
import signal
import struct
from typing import TYPE_CHECKING, Final

from racecheck.kernel import ptrace

if TYPE_CHECKING:
    from racecheck.engine.task import Task
    from racecheck.engine.tries import Ids
    from racecheck.kernel.memory import Memory

PID_AT: Final = 16
"""Where the sender's id, or a child's, lies in the structure of a 64-bit machine."""

_HEAD = struct.Struct("=3i")
_SENDER = struct.Struct("=2i")
_ID = struct.Struct("=i")
_SI_USER: Final = 0
_SI_TKILL: Final = -6
_SI_KERNEL: Final = 0x80
_FD_SIZE: Final = 128
_FD_ID_AT: Final = 12


def show_sender(task: Task, ids: Ids) -> None:
    """Translate the sender's id at the stop at which a task is to get a signal."""
    try:
        info = ptrace.signal_info(task.tid)
    except OSError:
        # It has died meanwhile.
        return
    number, error, code = _HEAD.unpack_from(info)
    if code == _SI_TKILL and number in task.redirected:
        # Sent to the process, and handed to the thread that the kernel would choose.
        task.redirected.discard(number)
        code = _SI_USER
    if not _has_sender(number, code):
        return
    sender, user = _SENDER.unpack_from(info, PID_AT)
    if sender == os.getpid():
        # An alarm has gone off.
        code, sender, user = _SI_KERNEL, 0, 0
    _HEAD.pack_into(info, 0, number, error, code)
    _SENDER.pack_into(info, PID_AT, ids.shown(sender), user)
    ptrace.set_signal_info(task.tid, info)


def show_in_memory(memory: Memory, address: int, ids: Ids) -> None:
    """Translate the id in a structure that a call has filled in, if it has one."""
    number, _, code = _HEAD.unpack(memory.read(address, _HEAD.size))
    if not _has_sender(number, code):
        return
    (pid,) = _ID.unpack(memory.read(address + PID_AT, _ID.size))
    if pid:
        memory.write(address + PID_AT, _ID.pack(ids.shown(pid)))


def show_in_descriptor(memory: Memory, address: int, length: int, ids: Ids) -> None:
    """Translate the ids in what was read from a descriptor of signals."""
    for start in range(address, address + length, _FD_SIZE):
        number, _, code = _HEAD.unpack(memory.read(start, _HEAD.size))
        if _has_sender(number, code):
            (pid,) = _ID.unpack(memory.read(start + _FD_ID_AT, _ID.size))
            memory.write(start + _FD_ID_AT, _ID.pack(ids.shown(pid)))


def _has_sender(number: int, code: int) -> bool:
    """Say whether the kernel has noted an id; what `sigqueue` sends has its own."""
    if code in (_SI_USER, _SI_TKILL):
        return True
    return number == signal.SIGCHLD and code > 0
