"""Names by which processes find each other that are no files of the sandbox."""

from __future__ import annotations

import ctypes
import errno
import os
from typing import TYPE_CHECKING, Final

from racecheck.engine.sockets import (
    CONNECTING,
    address_at,
    is_of_others,
    is_reached,
    kind_of,
    listeners,
    opened,
    peer,
    receivers,
)
from racecheck.kernel.numbers import numbers
from racecheck.kernel.ptrace import system_call

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from racecheck.engine.task import Task
    from racecheck.kernel.registers import Registers

_BY_KEY: Final = {
    "msgget": "the message queue",
    "semget": "the semaphore",
    "shmget": "the memory",
}
"""Calls of sysvipc(7); without a key what they make is known to those who share it."""


class Addresses:
    """Looks at the calls of one execution that give or use such a name.

    None is a step. Names that can be had once decide between those who want them, and
    whoever is found by one answers when it likes.
    """

    def __init__(self, registers: Registers, note: Callable[..., None]) -> None:
        """Serve one execution.

        Args:
            registers: How calls are refused.
            note: Takes note of what is not controlled.
        """
        self._registers = registers
        self._note = note
        self._made: set[tuple[str, object]] = set()

    def bind(self, task: Task, raw: Sequence[int]) -> None:
        """Refuse to give a socket a name in a folder, which no step would tell of."""
        address = address_at(task, raw[1], raw[2])
        if address is None:
            return
        if address.is_abstract:
            self._note(str(address), by=task.actor.name)
        elif address.path:
            self._note(f"bind of a socket to a path by {task.name}", refused=True)
            self._registers.skip(task.tid, -errno.EACCES)
        elif address.port:
            self._note(f"port {address.port}", by=task.actor.name)

    def connect(self, task: Task, raw: Sequence[int]) -> None:
        """Take note of a connection to anybody but a process of the same actor."""
        with opened(task, raw[0]) as found:
            # Others are connected to find out by which way something would be sent.
            if found is None or found.type not in CONNECTING:
                return
            if is_of_others(found):
                self._note(f"a connection of {task.name} by {kind_of(found)}")
                return
        address = address_at(task, raw[1], raw[2])
        if address is not None and is_reached(task, address, listeners):
            self._note(f"a connection of {task.name} to {address}")

    def send(
        self, task: Task, descriptor: int, *, name: int = 0, length: int = 0
    ) -> None:
        """Take note of what is sent without a connection to anybody but the same actor.

        Args:
            task: Who sends.
            descriptor: What it sends through, which need not be a socket.
            name: Where the name of the receiver is.
            length: Length of that; 0 if the socket has been told before.
        """
        with opened(task, descriptor) as found:
            if found is None or (found.type in CONNECTING and not length):
                return
            if is_of_others(found):
                self._note(f"something sent by {task.name} by {kind_of(found)}")
                return
            # Who sends through a socket that connects does both at once, or fails.
            look = listeners if found.type in CONNECTING else receivers
            address = address_at(task, name, length) if length else peer(found)
        if address is not None and is_reached(task, address, look):
            self._note(f"something sent by {task.name} to {address}")

    def share(self, task: Task, name: str, given: int) -> None:
        """Take note of a queue, a semaphore or memory that others can find as well."""
        key: object
        if name in _BY_KEY:
            key = given & 0xFFFFFFFF
            if not key:
                return
            kind, shown = name, f"{_BY_KEY[name]} with the key {key}"
        else:
            try:
                key = task.process.memory.string(given)
            except OSError:
                return
            kind, shown = "mq_open", f"the message queue {key}"
        if (kind, key) not in self._made and _is_there(kind, key):
            # Somebody has made it whom nobody controls.
            if name == "mq_unlink":
                self._note(f"escape: {name} of {shown} by {task.name}", refused=True)
                self._registers.skip(task.tid, -errno.EACCES)
                return
            self._note(f"{shown}, which was there before, used by {task.name}")
        self._made.add((kind, key))
        self._note(shown, by=task.actor.name)


def _is_there(name: str, key: object) -> bool:
    """Say whether there is a queue, a semaphore or memory of a name or a key."""
    number = numbers()[name]
    try:
        if isinstance(key, int):
            size = () if name == "msgget" else (0,)
            system_call(number, key, *size, 0)
        else:
            text = ctypes.create_string_buffer(os.fsencode(str(key)))
            os.close(system_call(number, ctypes.addressof(text), os.O_RDONLY, 0, 0))
    except OSError as error:
        return error.errno not in (errno.ENOENT, errno.EINVAL, errno.ENOSYS)
    return True
