"""Who is at the other end of a socket: addresses, and who can be reached there.

See proc_net_tcp(5), unix(7), ip(7) and ipv6(7).
"""

from __future__ import annotations

import contextlib
import ipaddress
import os
import socket
import stat
import struct
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from racecheck.engine.task import Actor, Task

CONNECTING: Final = (socket.SOCK_STREAM, socket.SOCK_SEQPACKET)
"""Types of sockets that have somebody at their other end before anything is sent."""
_FAMILY: Final = struct.Struct("=H")
_NETLINK: Final = struct.Struct("=HxxII")
"""struct sockaddr_nl: family, port (a process id, 0 for the kernel), groups."""
_CREDENTIALS: Final = struct.Struct("=iII")
"""struct ucred: process, user, group."""
_LONGEST: Final = 128
_INTERNET: Final = (socket.AF_INET, socket.AF_INET6)
_OF_THE_KERNEL: Final = (socket.AF_NETLINK, socket.AF_ALG)
_LISTENS: Final = "0A"
"""State of a socket in proc_net_tcp(5) that waits for others to connect."""
_PATH_OF_LOCAL: Final = 7
"""Column of a path in /proc/net/unix, for sockets that have one."""


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
        if self.host:
            return f"{self.host} port {self.port}"
        shown = self.path.strip(b"\0").decode(errors="backslashreplace")
        return f"the abstract socket {shown}" if self.is_abstract else shown


def address_at(task: Task, where: int, length: int) -> Address | None:
    """Return what a call is about; None if it has no address of a known kind."""
    try:
        found = task.process.memory.read(where, min(length & 0xFFFFFFFF, _LONGEST))
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


def peer(found: socket.socket) -> Address | None:
    """Return what a socket was told to send to; None if that has no name."""
    try:
        name = found.getpeername()
    except OSError:
        return None
    if found.family in _INTERNET:
        return Address(port=name[1], host=_host(ipaddress.ip_address(name[0]).packed))
    is_local = found.family == socket.AF_UNIX
    return Address(os.fsencode(name)) if is_local and name else None


def reaches_a_process(task: Task, found: socket.socket, name: int, length: int) -> bool:
    """Say whether what is sent by netlink(7) is for somebody but the kernel."""
    if not length:
        with contextlib.suppress(OSError):
            return any(found.getpeername())
        return False
    try:
        _, port, groups = _NETLINK.unpack(task.process.memory.read(name, _NETLINK.size))
    except (OSError, struct.error):
        return False
    return bool(port or groups)


def comes_from_elsewhere(task: Task, found: socket.socket) -> bool:
    """Say whether at the other end of a connection is no process of the actor."""
    try:
        name = found.getpeername()
        own = found.getsockname()
    except OSError:
        return False
    if found.family == socket.AF_UNIX:
        # It tells who has listened, or has made the pair.
        size = _CREDENTIALS.size
        data = found.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size)
        pid, _, _ = _CREDENTIALS.unpack(data)
        return pid not in {each.process.pid for each in task.actor.tasks}
    if found.family not in _INTERNET:
        return False
    if not ipaddress.ip_address(name[0]).is_loopback:
        return True
    other = Address(port=name[1], host=name[0])
    there = {
        words[9]
        for words in _of_internet(task, "tcp", other)
        if int(words[2].rpartition(":")[2], 16) == own[1]
    }
    # What nobody has accepted yet, or has closed, is nobody's.
    return bool(there - {"0"} - set(_sockets(task.actor)))


def is_of_others(found: socket.socket) -> bool:
    """Say whether a socket leads to somebody whom no table here tells of.

    Such as another machine by `AF_VSOCK`. Some families only reach the kernel.
    """
    return found.family not in (socket.AF_UNIX, *_INTERNET, *_OF_THE_KERNEL)


def kind_of(found: socket.socket) -> str:
    """Return what notes call a socket of such a family."""
    family = found.family
    return f"a socket of {getattr(family, 'name', family)}"


@contextlib.contextmanager
def opened(task: Task, descriptor: int) -> Iterator[socket.socket | None]:
    """Give a socket of the tracer's own for one of a task's, or None."""
    try:
        copy = task.process.copy_of(descriptor & 0xFFFFFFFF)
    except OSError:
        yield None
        return
    if not stat.S_ISSOCK(os.fstat(copy).st_mode):
        os.close(copy)
        yield None
        return
    with socket.socket(fileno=copy) as found:
        yield found


def is_reached(
    task: Task, address: Address, look: Callable[[Task, Address], Iterator[str]]
) -> bool:
    """Say whether somebody is found at an address who is of no process of the actor.

    Args:
        task: Who looks for somebody there.
        address: Where.
        look: Yields the inodes of sockets there that others can reach.
    """
    there = set(look(task, address))
    # Where nobody listens on this machine, the call fails and nothing is said.
    is_here = not address.host or ipaddress.ip_address(address.host).is_loopback
    return (bool(there) or not is_here) and not there & set(_sockets(task.actor))


def listeners(task: Task, address: Address) -> Iterator[str]:
    """Yield the inodes of sockets that wait for a connection at an address."""
    if address.path:
        yield from _local(task, address)
        return
    for words in _of_internet(task, "tcp", address):
        if words[3] == _LISTENS:
            yield words[9]


def receivers(task: Task, address: Address) -> Iterator[str]:
    """Yield the inodes of sockets that get what is sent to an address."""
    if address.path:
        yield from _local(task, address)
        return
    for words in _of_internet(task, "udp", address):
        yield words[9]


def _of_internet(task: Task, table: str, address: Address) -> Iterator[list[str]]:
    """Yield the lines of proc_net_tcp(5) and its like about a port of this machine."""
    for name in (table, f"{table}6"):
        for words in _lines(f"/proc/{task.process.proc}/net/{name}"):
            if int(words[1].rpartition(":")[2], 16) == address.port:
                yield words


def _local(task: Task, address: Address) -> Iterator[str]:
    """Yield the inodes of the local sockets of a name; see unix(7)."""
    # An abstract one starts with @ there, and can have zero bytes within.
    name = address.path.replace(b"\0", b"@").decode(errors="surrogateescape")
    status = None if address.is_abstract else _status(task, name)
    for words in _lines(f"/proc/{task.process.proc}/net/unix"):
        if len(words) <= _PATH_OF_LOCAL:
            continue
        # A path has the spaces that it has.
        bound = " ".join(words[_PATH_OF_LOCAL:])
        if bound == name or (status is not None and _may_be(bound, status)):
            yield words[6]


def _status(task: Task, path: str) -> os.stat_result | None:
    """Return what a task finds at a path, if that is a socket."""
    with contextlib.suppress(OSError, ValueError):
        found = os.stat(os.path.join(f"/proc/{task.process.proc}/cwd", path))
        return found if stat.S_ISSOCK(found.st_mode) else None
    return None


def _may_be(bound: str, wanted: os.stat_result) -> bool:
    """Say whether a socket that was bound to a path can be the file that is wanted.

    The table has the path as it was given, which from another folder leads nowhere.
    """
    if bound.startswith("@"):
        return False
    try:
        return not bound.startswith("/") or os.path.samestat(os.stat(bound), wanted)
    except OSError:
        # It was moved since.
        return True


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
