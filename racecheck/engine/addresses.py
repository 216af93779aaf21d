"""Names by which processes find each other that are no files of the sandbox."""

from __future__ import annotations

import contextlib
import errno
import ipaddress
import os
import socket
import struct
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from racecheck.engine.task import Actor, Task
    from racecheck.kernel.registers import Registers

_FAMILY: Final = struct.Struct("=H")
_LONGEST: Final = 128
_INTERNET: Final = (socket.AF_INET, socket.AF_INET6)
_BY_KEY: Final = {
    "msgget": "the message queue",
    "semget": "the semaphore",
    "shmget": "the memory",
}
"""Calls of sysvipc(7); without a key what they make is known to those who share it."""
_LISTENS: Final = "0A"
"""State of a socket in proc_net_tcp(5) that waits for others to connect."""


class Address(NamedTuple):
    """What a socket is bound or connected to.

    Attributes:
        path: Of a local one, with a zero byte before it if it has no file; see unix(7).
        port: Of one of the internet.
        host: The internet address.
    """

    path: bytes = b""
    port: int = 0
    host: str = ""

    @property
    def is_abstract(self) -> bool:
        """Whether it is a local one that has no file."""
        return self.path[:1] == b"\0"

    def __str__(self) -> str:
        """Return it as notes show it."""
        if self.port:
            return f"{self.host} port {self.port}"
        shown = self.path.strip(b"\0").decode(errors="backslashreplace")
        return f"the abstract socket {shown}" if self.is_abstract else shown


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

    def bind(self, task: Task, raw: Sequence[int]) -> None:
        """Refuse to give a socket a name in a folder, which no step would tell of."""
        address = _address(task, raw)
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
        address = _address(task, raw)
        if address is None or not _is_stream(task, raw[0]):
            return
        there = set(_listeners(task, address))
        # Where nobody listens on this machine, the call fails and nothing is said.
        is_here = not address.host or ipaddress.ip_address(address.host).is_loopback
        if (there or not is_here) and not there & set(_sockets(task.actor)):
            self._note(f"a connection of {task.name} to {address}")

    def share(self, task: Task, name: str, given: int) -> None:
        """Take note of a queue, a semaphore or memory that others can find as well."""
        if name in _BY_KEY:
            if given & 0xFFFFFFFF:
                text = f"{_BY_KEY[name]} with the key {given & 0xFFFFFFFF}"
                self._note(text, by=task.actor.name)
            return
        with contextlib.suppress(OSError):
            shown = task.process.memory.string(given)
            self._note(f"the message queue {shown}", by=task.actor.name)


def _address(task: Task, raw: Sequence[int]) -> Address | None:
    """Return what a call is about; None if it has no address of a known kind."""
    length = min(raw[2] & 0xFFFFFFFF, _LONGEST)
    try:
        found = task.process.memory.read(raw[1], length)
    except OSError:
        return None
    if len(found) < _FAMILY.size:
        return None
    (family,) = _FAMILY.unpack_from(found)
    name = found[_FAMILY.size :]
    if family == socket.AF_UNIX:
        # Names without a file start with a zero byte; see unix(7).
        return Address(name if name[:1] == b"\0" else name.split(b"\0")[0])
    if family not in _INTERNET:
        return None
    # Port and address of ip(7); port, flow and address of ipv6(7).
    host = name[2:6] if family == socket.AF_INET else name[6:22]
    if len(host) not in (4, 16):
        return None
    return Address(port=int.from_bytes(name[:2], "big"), host=_host(host))


def _host(packed: bytes) -> str:
    found = ipaddress.ip_address(packed)
    mapped = getattr(found, "ipv4_mapped", None)
    return str(mapped or found)


def _is_stream(task: Task, descriptor: int) -> bool:
    """Say whether a socket is one that has somebody at its other end.

    Others are connected to find out by which way something would be sent.
    """
    try:
        copy = task.process.copy_of(descriptor & 0xFFFFFFFF)
    except OSError:
        return False
    with contextlib.suppress(OSError), socket.socket(fileno=copy) as found:
        return found.type != socket.SOCK_DGRAM
    return False


def _listeners(task: Task, address: Address) -> Iterator[str]:
    """Yield the inodes of sockets that wait at an address."""
    net = f"/proc/{task.process.proc}/net"
    if address.path:
        # An abstract one starts with @ there, and can have zero bytes within.
        name = address.path.replace(b"\0", b"@").decode(errors="surrogateescape")
        for words in _lines(f"{net}/unix"):
            if words[7:] == [name]:
                yield words[6]
        return
    for table in ("tcp", "tcp6"):
        for words in _lines(f"{net}/{table}"):
            port = words[1].rpartition(":")[2]
            if words[3] == _LISTENS and int(port, 16) == address.port:
                yield words[9]


def _lines(path: str) -> Iterator[list[str]]:
    with (
        contextlib.suppress(OSError),
        open(path, encoding="utf-8", errors="surrogateescape") as file,
    ):
        next(file, None)
        yield from map(str.split, file)


def _sockets(actor: Actor) -> Iterator[str]:
    """Yield the inodes of all sockets that an actor has open."""
    for process in actor.processes():
        folder = f"/proc/{process.proc}/fd"
        with contextlib.suppress(OSError):
            for number in os.listdir(folder):
                with contextlib.suppress(OSError):
                    kind, _, inode = os.readlink(f"{folder}/{number}").partition(":")
                    if kind == "socket":
                        yield inode.strip("[]")
