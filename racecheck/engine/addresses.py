"""Names by which processes find each other that are no files of the sandbox."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import socket
from typing import TYPE_CHECKING, Final, NamedTuple

from racecheck.engine.sockets import (
    CONNECTING,
    address_at,
    comes_from_elsewhere,
    is_of_others,
    is_reached,
    kind_of,
    listeners,
    opened,
    peer,
    reaches_a_process,
    receivers,
)
from racecheck.kernel.numbers import numbers
from racecheck.kernel.ptrace import system_call

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from racecheck.engine.making import Making
    from racecheck.engine.task import Task
    from racecheck.kernel.registers import Registers

_BY_KEY: Final = {
    "msgget": "the message queue",
    "semget": "the semaphore",
    "shmget": "the memory",
}
"""Calls of sysvipc(7); without a key what they make is known to those who share it."""
_BY_ID: Final = {
    **dict.fromkeys(("msgsnd", "msgrcv", "msgctl"), "msgget"),
    **dict.fromkeys(("semop", "semtimedop", "semctl"), "semget"),
    **dict.fromkeys(("shmat", "shmctl"), "shmget"),
}
"""Calls that are given an id, with those that give it."""
_IPC_RMID, _IPC_SET, _IPC_STAT = 0, 1, 2
_LONGEST_STATUS: Final = 256


class _Command(NamedTuple):
    """The command of a call: which argument it is, and which ask for no id."""

    place: int
    asking: frozenset[int]


# IPC_INFO and the kinds of STAT and INFO in linux/msg.h, linux/sem.h and linux/shm.h.
_COMMANDS: Final = {
    "msgctl": _Command(1, frozenset({3, 11, 12, 13})),
    "semctl": _Command(2, frozenset({3, 18, 19, 20})),
    "shmctl": _Command(1, frozenset({3, 13, 14, 15})),
}


class Addresses:
    """Looks at the calls of one execution that give or use such a name.

    None is a step. Names that can be had once decide between those who want them, and
    whoever is found by one answers when it likes.
    """

    def __init__(
        self, registers: Registers, making: Making, note: Callable[..., None]
    ) -> None:
        """Serve one execution.

        Args:
            registers: How calls are refused.
            making: Has tasks make calls at once.
            note: Takes note of what is not controlled.
        """
        self._registers = registers
        self._making = making
        self._note = note
        self._made: set[tuple[str, object]] = set()
        self._ids: set[tuple[str, int]] = set()
        self._known: set[int] = set()

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
            is_netlink = found.family == socket.AF_NETLINK
            if is_of_others(found) or (
                is_netlink and reaches_a_process(task, found, name, length)
            ):
                self._note(f"something sent by {task.name} by {kind_of(found)}")
                return
            # Who sends through a socket that connects does both at once, or fails.
            look = listeners if found.type in CONNECTING else receivers
            address = address_at(task, name, length) if length else peer(found)
        if address is not None and is_reached(task, address, look):
            self._note(f"something sent by {task.name} to {address}")

    def speak(self, task: Task, descriptor: int) -> None:
        """Take note of a connection that somebody else has made, once it is used."""
        with opened(task, descriptor) as found:
            if found is None or found.type not in CONNECTING:
                return
            inode = os.fstat(found.fileno()).st_ino
            if inode in self._known:
                return
            self._known.add(inode)
            if comes_from_elsewhere(task, found):
                self._note(f"a connection of {task.name} with somebody outside")

    def share(self, task: Task, name: str, raw: Sequence[int]) -> None:
        """Take note of a queue, a semaphore or memory that others can find as well."""
        if name in _BY_KEY:
            self._find_by_key(task, name, raw)
        elif name in _BY_ID:
            self._use_by_id(task, name, raw)
        else:
            with contextlib.suppress(OSError):
                shown = task.process.memory.string(raw[0])
                text = f"the message queue {shown}"
                self._find(task, name, ("mq_open", shown), text)

    def _find(self, task: Task, name: str, what: tuple[str, object], text: str) -> None:
        """Take note of what is found by a name or a key."""
        if what not in self._made and _is_there(*what):
            # Somebody has made it whom nobody controls.
            if name == "mq_unlink":
                self._refuse(task, name, text)
                return
            self._note(f"{text}, which was there before, used by {task.name}")
        self._made.add(what)
        self._note(text, by=task.actor.name)

    def _find_by_key(self, task: Task, name: str, raw: Sequence[int]) -> None:
        key = raw[0] & 0xFFFFFFFF
        if key:
            self._find(task, name, (name, key), f"{_BY_KEY[name]} with the key {key}")
        number = self._making.make(task, raw, {})
        if number >= 0:
            self._ids.add((name, number))

    def _use_by_id(self, task: Task, name: str, raw: Sequence[int]) -> None:
        maker = _BY_ID[name]
        number = raw[0] & 0xFFFFFFFF
        command = raw[_COMMANDS[name].place] & 0xFF if name in _COMMANDS else -1
        if command >= 0 and command in _COMMANDS[name].asking:
            return
        text = f"{_BY_KEY[maker]} with the id {number}"
        if (maker, number) in self._ids:
            self._note(text, by=task.actor.name)
        elif not _has_id(maker, number):
            # The kernel says so.
            return
        elif command in (_IPC_RMID, _IPC_SET):
            self._refuse(task, name, text)
        else:
            self._note(f"{text}, which was there before, used by {task.name}")

    def _refuse(self, task: Task, name: str, text: str) -> None:
        self._note(f"escape: {name} of {text} by {task.name}", refused=True)
        self._registers.skip(task.tid, -errno.EACCES)


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


def _has_id(maker: str, number: int) -> bool:
    """Say whether there is a queue, a semaphore or memory with an id."""
    status = ctypes.create_string_buffer(_LONGEST_STATUS)
    place = (0,) if maker == "semget" else ()
    try:
        control = numbers()[f"{maker[:3]}ctl"]
        system_call(control, number, *place, _IPC_STAT, ctypes.addressof(status))
    except OSError as error:
        return error.errno == errno.EACCES
    return True
