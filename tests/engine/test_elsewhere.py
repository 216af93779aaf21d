"""Guards that what two actors share outside of the sandbox is named, and is no pass.

What one actor has for itself is no harm, and neither is what it has of its own kind.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import mmap
import os
import socket
import struct
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from racecheck.kernel.numbers import numbers
from racecheck.model import Verdict
from racecheck.scenario import Scenario
from tests.engine.lab import Seen, run

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    Act = Callable[[Path], object]
    Name = str | tuple[str, int]
    Send = Callable[[socket.socket, Name], None]

pytestmark = pytest.mark.processes
libc = ctypes.CDLL(None, use_errno=True)
# Others can be running these tests at the same time.
OWN = f"racecheck-{os.getpid()}"
QUEUE = f"/{OWN}".encode()
KEY = os.getpid()


def both(one: Act, two: Act) -> Seen:
    """Run two actors one after the other, in a box with a file and a folder."""
    made = Scenario("elsewhere")

    @made.setup
    def setup(box: Path) -> None:
        (box / "file").write_bytes(b"a" * mmap.PAGESIZE)
        (box / "folder").mkdir()

    def alone(act: Act) -> Callable[[Path], None]:
        def body(box: Path) -> None:
            os.stat(box)
            with contextlib.suppress(OSError):
                act(box)

        return body

    made.actor(alone(one), name="one")
    made.actor(alone(two), name="two")
    return run(made)


def nothing(box: Path) -> None:
    del box


def open_pipe(box: Path) -> None:
    with contextlib.suppress(FileExistsError):
        os.mkfifo(box / "pipe")
    os.open(box / "pipe", os.O_RDWR | os.O_NONBLOCK)


def bind_name(_: Path) -> None:
    socket.socket(socket.AF_UNIX).bind(f"\0{OWN}")


def bind_port(_: Path) -> None:
    socket.socket().bind(("127.0.0.1", 47201))


def open_semaphore(_: Path) -> None:
    libc.sem_open(QUEUE, os.O_CREAT, 0o600, 1)
    libc.sem_unlink(QUEUE)


def open_queue(_: Path) -> None:
    libc.mq_open(QUEUE, os.O_RDONLY)


def find_by_key(_: Path) -> None:
    libc.semget(KEY, 1, 0)


def lock_outside(_: Path) -> None:
    fcntl.flock(os.open("/usr/lib", os.O_RDONLY), fcntl.LOCK_SH)


def lock_range_outside(_: Path) -> None:
    number = os.open("/etc/passwd", os.O_RDONLY)
    fcntl.lockf(number, fcntl.LOCK_SH | fcntl.LOCK_NB)


SHARED: dict[Act, str] = {
    open_pipe: "the named pipe one#",
    bind_name: f"the abstract socket {OWN}",
    bind_port: "port 47201",
    open_semaphore: f"the semaphore {OWN}",
    open_queue: f"the message queue {OWN}",
    find_by_key: f"the semaphore with the key {KEY}",
}


@pytest.mark.parametrize("act", SHARED)
def test_what_two_actors_share_elsewhere_is_named(act: Act) -> None:
    seen = both(act, act)

    assert seen.trace.verdict is Verdict.UNKNOWN
    assert SHARED[act] in seen.trace.reason
    assert "which both one and two use" in seen.trace.reason


@pytest.mark.parametrize("act", SHARED)
def test_what_one_actor_has_for_itself_is_not(act: Act) -> None:
    def twice(box: Path) -> None:
        for _ in range(2):
            with contextlib.suppress(OSError):
                act(box)

    assert both(twice, nothing).trace.verdict is Verdict.PASSED


def bind_any(_: Path) -> None:
    socket.socket().bind(("127.0.0.1", 0))
    socket.socket(socket.AF_UNIX).bind("")


def find_private(_: Path) -> None:
    libc.semget(0, 1, 0)


def lock_inside(box: Path) -> None:
    fcntl.flock(os.open(box / "file", os.O_RDONLY), fcntl.LOCK_SH)


@pytest.mark.parametrize("act", [bind_any, find_private, lock_inside])
def test_what_each_actor_gets_for_itself_is_not(act: Act) -> None:
    assert both(act, act).trace.verdict is Verdict.PASSED


@contextlib.contextmanager
def somebody(
    family: int, address: str | tuple[str, int]
) -> Iterator[str | tuple[str, int]]:
    """Have a socket of this process wait, as of a helper that was there before."""
    with socket.socket(family) as found:
        found.bind(address)
        found.listen()
        yield found.getsockname()


@pytest.mark.parametrize("kind", ["internet", "abstract", "path", "relative", "link"])
def test_a_connection_to_who_was_there_before_is_named(
    kind: str, tmp_path: Path
) -> None:
    kinds: dict[str, tuple[int, str | tuple[str, int], str]] = {
        "internet": (socket.AF_INET, ("127.0.0.1", 0), "127.0.0.1 port "),
        "abstract": (socket.AF_UNIX, f"\0{OWN}", f"the abstract socket {OWN}"),
        "path": (socket.AF_UNIX, str(tmp_path / "helper"), str(tmp_path / "helper")),
        "relative": (socket.AF_UNIX, str(tmp_path / "helper"), "helper"),
        "link": (socket.AF_UNIX, str(tmp_path / "helper"), str(tmp_path / "link")),
    }
    family, address, shown = kinds[kind]
    (tmp_path / "link").symlink_to("helper")

    def connect(_: Path) -> None:
        os.chdir(tmp_path)
        socket.socket(family).connect(shown if kind in ("relative", "link") else name)

    with somebody(family, address) as name:
        seen = both(nothing, connect)

    assert seen.trace.verdict is Verdict.UNKNOWN
    assert f"a connection of two to {shown}" in seen.trace.reason


def talk_to_oneself(_: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        socket.create_connection(server.getsockname()).close()


def find_nobody(_: Path) -> None:
    socket.socket(socket.AF_UNIX).connect("/nobody/there")


def find_no_port(_: Path) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        socket.create_connection(unused.getsockname())


def ask_for_the_way(_: Path) -> None:
    socket.socket(type=socket.SOCK_DGRAM).connect(("127.0.0.1", 9))


@pytest.mark.parametrize(
    "act", [talk_to_oneself, find_nobody, find_no_port, ask_for_the_way]
)
def test_a_connection_within_an_actor_or_to_nobody_is_not(act: Act) -> None:
    assert both(act, act).trace.verdict is Verdict.PASSED


def send_with_name(sender: socket.socket, name: Name) -> None:
    sender.sendto(b"!", name)


def send_message(sender: socket.socket, name: Name) -> None:
    sender.sendmsg([b"!"], [], 0, name)


def send_to_peer(sender: socket.socket, name: Name) -> None:
    sender.connect(name)
    sender.send(b"!")


def write_to_peer(sender: socket.socket, name: Name) -> None:
    sender.connect(name)
    os.write(sender.fileno(), b"!")


def copy_to_peer(sender: socket.socket, name: Name) -> None:
    sender.connect(name)
    os.sendfile(sender.fileno(), os.open("file", os.O_RDONLY), 0, 9)


SENDING: dict[Send, str] = {
    send_with_name: "something sent by two to ",
    send_message: "sendmsg by two",
    send_to_peer: "something sent by two to ",
    write_to_peer: "something sent by two to ",
    copy_to_peer: "something sent by two to ",
}


@pytest.mark.parametrize("send", SENDING)
@pytest.mark.parametrize("kind", ["internet", "internet 6", "abstract", "path"])
def test_a_datagram_to_who_was_there_before_is_named(
    kind: str, send: Send, tmp_path: Path
) -> None:
    kinds: dict[str, tuple[int, str | tuple[str, int], str]] = {
        "internet": (socket.AF_INET, ("127.0.0.1", 0), "127.0.0.1 port "),
        "internet 6": (socket.AF_INET6, ("::1", 0), "::1 port "),
        "abstract": (socket.AF_UNIX, f"\0{OWN}", f"the abstract socket {OWN}"),
        "path": (socket.AF_UNIX, str(tmp_path / "helper"), str(tmp_path / "helper")),
    }
    family, address, shown = kinds[kind]
    with socket.socket(family, socket.SOCK_DGRAM) as helper:
        try:
            helper.bind(address)
        except OSError as error:
            pytest.skip(f"{kind}: {error.strerror}")
        name = helper.getsockname()
        seen = both(
            nothing, lambda _: send(socket.socket(family, socket.SOCK_DGRAM), name)
        )
        helper.settimeout(10)
        assert helper.recv(9) in (b"!", b"a" * 9)

    assert seen.trace.verdict is Verdict.UNKNOWN
    assert SENDING[send] in seen.trace.reason
    assert send is send_message or f"{SENDING[send]}{shown}" in seen.trace.reason


def send_to_oneself(_: Path) -> None:
    with socket.socket(type=socket.SOCK_DGRAM) as receiver:
        receiver.bind(("127.0.0.1", 0))
        with socket.socket(type=socket.SOCK_DGRAM) as sender:
            sender.sendto(b"!", receiver.getsockname())


def send_through_a_pair(_: Path) -> None:
    one, other = socket.socketpair(type=socket.SOCK_DGRAM)
    one.send(b"!")
    other.recv(1)


def send_to_nobody(_: Path) -> None:
    with socket.socket(type=socket.SOCK_DGRAM) as unused:
        unused.bind(("127.0.0.1", 0))
        name = unused.getsockname()
    with socket.socket(type=socket.SOCK_DGRAM) as sender:
        sender.sendto(b"!", name)


@pytest.mark.parametrize("act", [send_to_oneself, send_through_a_pair, send_to_nobody])
def test_a_datagram_within_an_actor_or_to_nobody_is_not(act: Act) -> None:
    assert both(act, nothing).trace.verdict is Verdict.PASSED


def ask_the_kernel(_: Path) -> None:
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW) as links:
        links.sendto(bytes(16), (0, 0))
        links.connect((0, 0))
        links.send(bytes(16))
        os.write(links.fileno(), bytes(16))
    with socket.socket(socket.AF_ALG, socket.SOCK_SEQPACKET) as hashing:
        hashing.bind(("hash", "sha256"))
        operation, _ = hashing.accept()
        operation.send(b"text")


def test_what_is_asked_of_the_kernel_is_not() -> None:
    assert both(ask_the_kernel, nothing).trace.verdict is Verdict.PASSED


def send_a_frame(_: Path) -> None:
    with socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM) as sender:
        sender.sendto(b"!", ("lo", 0x0800))


def connect_to_the_host(_: Path) -> None:
    with socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM) as sender:
        sender.connect((1, 4711))


LEADING_ELSEWHERE: dict[Act, tuple[int, int, str]] = {
    send_a_frame: (
        socket.AF_PACKET,
        socket.SOCK_DGRAM,
        "something sent by one by a socket of AF_PACKET",
    ),
    connect_to_the_host: (
        socket.AF_VSOCK,
        socket.SOCK_STREAM,
        "a connection of one by a socket of AF_VSOCK",
    ),
}


@pytest.mark.parametrize("act", LEADING_ELSEWHERE)
def test_what_leads_to_who_knows_whom_is_named(act: Act) -> None:
    family, kind, shown = LEADING_ELSEWHERE[act]
    try:
        socket.socket(family, kind).close()
    except OSError as error:
        pytest.skip(f"a socket of family {family}: {error.strerror}")
    seen = both(act, nothing)

    assert seen.trace.verdict is Verdict.UNKNOWN
    assert shown in seen.trace.reason


def find_queue(_: Path) -> None:
    libc.msgget(KEY, 0)


def find_memory(_: Path) -> None:
    libc.shmget(KEY, 0, 0)


def unlink_queue(_: Path) -> None:
    libc.mq_unlink(QUEUE)


def send_by_id(_: Path) -> None:
    libc.msgsnd(IDS["msg"], struct.pack("=q8s", 1, b"text"), 8, 0)


def receive_by_id(_: Path) -> None:
    libc.msgrcv(IDS["msg"], bytes(16), 8, 0, os.O_NONBLOCK)


def raise_by_id(_: Path) -> None:
    libc.semop(IDS["sem"], struct.pack("=HhH", 0, 1, 0), 1)


def attach_by_id(_: Path) -> None:
    libc.shmat(IDS["shm"], None, 0)


def ask_by_id(_: Path) -> None:
    libc.msgctl(IDS["msg"], 2, bytes(256))


def remove_queue_by_id(_: Path) -> None:
    libc.msgctl(IDS["msg"], 0, None)


def remove_semaphore_by_id(_: Path) -> None:
    libc.semctl(IDS["sem"], 0, 0)


def remove_memory_by_id(_: Path) -> None:
    libc.shmctl(IDS["shm"], 0, None)


def add_key(_: Path) -> None:
    libc.syscall(numbers()["add_key"], b"user", OWN.encode(), b"text", 4, -4)


IDS: dict[str, int] = {}


@pytest.fixture
def there_before() -> Iterator[None]:
    """Have queues, a semaphore and memory of this process, as of another program."""
    number = libc.mq_open(QUEUE, os.O_RDWR | os.O_CREAT, 0o600, None)
    queue, semaphore, memory = (
        libc.msgget(KEY, 0o1600),
        libc.semget(KEY, 1, 0o1600),
        libc.shmget(KEY, 1, 0o1600),
    )
    IDS.update(msg=queue, sem=semaphore, shm=memory)
    yield
    assert libc.mq_unlink(QUEUE) == 0
    os.close(number)
    libc.msgctl(queue, 0, None)
    libc.semctl(semaphore, 0, 0)
    libc.shmctl(memory, 0, None)


THERE_BEFORE: dict[Act, str] = {
    open_queue: f"the message queue {OWN}, which was there before, used",
    find_by_key: f"the semaphore with the key {KEY}, which was there before, used",
    find_queue: f"the message queue with the key {KEY}, which was there before,",
    find_memory: f"the memory with the key {KEY}, which was there before, used by",
    lock_outside: "a lock outside the sandbox on /usr/lib by one",
    lock_range_outside: "a lock outside the sandbox on /etc/passwd by one",
    send_by_id: "the message queue with the id",
    receive_by_id: "the message queue with the id",
    raise_by_id: "the semaphore with the id",
    attach_by_id: "the memory with the id",
    ask_by_id: "the message queue with the id",
    remove_queue_by_id: "escape: msgctl of the message queue with the id",
    remove_semaphore_by_id: "escape: semctl of the semaphore with the id",
    remove_memory_by_id: "escape: shmctl of the memory with the id",
    add_key: "add_key by one",
    unlink_queue: f"escape: mq_unlink of the message queue {OWN}",
}


@pytest.mark.usefixtures("there_before")
@pytest.mark.parametrize("act", THERE_BEFORE)
def test_what_was_there_before_is_named_for_one_actor(act: Act) -> None:
    seen = both(act, nothing)

    assert seen.trace.verdict is Verdict.UNKNOWN
    assert THERE_BEFORE[act] in seen.trace.reason


def make_and_find(_: Path) -> None:
    for _again in "12":
        os.close(libc.mq_open(QUEUE, os.O_RDWR | os.O_CREAT, 0o600, None))
    libc.mq_unlink(QUEUE)
    first, again = (libc.msgget(KEY, 0o1600) for _ in "12")
    assert first == again
    private = libc.msgget(0, 0o600)
    assert libc.msgsnd(private, struct.pack("=q8s", 1, b"text"), 8, 0) == 0
    assert libc.msgrcv(private, bytes(16), 8, 0, 0) == 8
    for number in (first, private):
        assert libc.msgctl(number, 0, None) == 0
    semaphore, memory = libc.semget(0, 1, 0o600), libc.shmget(0, 1, 0o600)
    assert libc.semop(semaphore, struct.pack("=HhH", 0, 1, 0), 1) == 0
    assert libc.semctl(semaphore, 0, 0) == libc.shmctl(memory, 0, None) == 0
    assert libc.msgctl(1 << 30, 2, bytes(256)) == -1


def test_what_an_actor_has_made_itself_is_not() -> None:
    assert both(make_and_find, nothing).trace.verdict is Verdict.PASSED


PIPING = """
import os, sys
with open(sys.argv[1], "w") as pipe:
    pipe.write("text")
"""


@pytest.mark.parametrize("flags", [os.O_RDONLY, os.O_RDONLY | os.O_NONBLOCK])
def test_a_pipe_with_a_name_outside_is_named(flags: int, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("pipe")
    helper = subprocess.Popen([sys.executable, "-c", PIPING, tmp_path / "pipe"])
    try:
        seen = both(lambda _: os.open(tmp_path / "link", flags), nothing)
    finally:
        helper.kill()
        helper.wait()

    assert seen.trace.verdict is Verdict.UNKNOWN
    assert f"the named pipe {tmp_path / 'pipe'} outside" in seen.trace.reason


def open_own_pipe(_: Path) -> None:
    read, write = os.pipe()
    os.write(write, b"text")
    assert os.read(os.open(f"/proc/self/fd/{read}", os.O_RDONLY), 4) == b"text"


def test_a_pipe_of_its_own_is_not() -> None:
    assert both(open_own_pipe, nothing).trace.verdict is Verdict.PASSED


CALLING = """
import socket, sys, time
family = int(sys.argv[1])
name = ("127.0.0.1", int(sys.argv[2])) if family == 2 else "\\0" + sys.argv[2]
while True:
    caller = socket.socket(family)
    try:
        caller.connect(name)
        caller.recv(1)
    except OSError:
        time.sleep(0.01)
"""


@pytest.mark.parametrize("family", [socket.AF_INET, socket.AF_UNIX])
def test_a_connection_that_somebody_else_has_made_is_named(family: int) -> None:
    with socket.create_server(("127.0.0.1", 0)) as unused:
        port = unused.getsockname()[1]
    name = ("127.0.0.1", port) if family == socket.AF_INET else f"\0{OWN}"
    place = str(port) if family == socket.AF_INET else OWN
    words = [sys.executable, "-c", CALLING, str(int(family)), place]

    def serve(_: Path) -> None:
        with socket.socket(family) as server:
            server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            server.bind(name)
            server.listen()
            # Who waits for somebody that nobody knows of waits for ever.
            server.settimeout(0)
            while True:
                with contextlib.suppress(BlockingIOError):
                    server.accept()[0].send(b"!")
                    break

    helper = subprocess.Popen(words)
    try:
        seen = both(serve, nothing)
    finally:
        helper.kill()
        helper.wait()

    assert seen.trace.verdict is Verdict.UNKNOWN
    assert "a connection of one with somebody outside" in seen.trace.reason


def talk_through_a_connection(_: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        caller = socket.create_connection(server.getsockname())
        caller.sendall(b"text")
        connection, _ = server.accept()
        assert connection.recv(4) == b"text"
        connection.sendall(b"text")
        assert caller.recv(4) == b"text"


def talk_through_a_name(_: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server, socket.socket(socket.AF_UNIX) as own:
        server.bind("")
        server.listen()
        own.connect(server.getsockname())
        connection, _ = server.accept()
        own.sendall(b"text")
        assert connection.recv(4) == b"text"


def talk_with_a_child(_: Path) -> None:
    one, other = socket.socketpair()
    if os.fork() == 0:
        other.sendall(b"text")
        os._exit(0)
    assert one.recv(4) == b"text"
    os.wait()


@pytest.mark.parametrize(
    "act", [talk_through_a_connection, talk_through_a_name, talk_with_a_child]
)
def test_a_connection_of_its_own_is_not(act: Act) -> None:
    assert both(act, nothing).trace.verdict is Verdict.PASSED


def send_to_a_process(_: Path) -> None:
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 2) as sender:
        sender.sendto(bytes(16), (1, 0))


def send_to_a_peer(_: Path) -> None:
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 2) as sender:
        sender.connect((1, 0))
        sender.send(bytes(16))


@pytest.mark.parametrize("act", [send_to_a_process, send_to_a_peer])
def test_what_is_sent_to_a_process_by_netlink_is_named(act: Act) -> None:
    seen = both(act, nothing)

    assert seen.trace.verdict is Verdict.UNKNOWN
    assert "something sent by one by a socket of AF_NETLINK" in seen.trace.reason


def put_into_pipe(box: Path) -> None:
    _, into = os.pipe()
    os.splice(os.open(box / "file", os.O_RDONLY), into, 9)


def send_to_socket(box: Path) -> None:
    _, into = socket.socketpair()
    os.sendfile(into.fileno(), os.open(box / "file", os.O_RDONLY), 0, 9)


def send_to_file(box: Path) -> None:
    into = os.open(box / "copy", os.O_WRONLY | os.O_CREAT)
    os.sendfile(into, os.open(box / "file", os.O_RDONLY), 0, 9)


def change(box: Path) -> None:
    os.pwrite(os.open(box / "file", os.O_WRONLY), b"b", 0)


@pytest.mark.parametrize("act", [put_into_pipe, send_to_socket])
def test_pages_of_a_file_that_another_changes_are_named(act: Act) -> None:
    seen = both(act, change)

    assert seen.trace.verdict is Verdict.UNKNOWN
    text = "one has put into a pipe or a socket what two changes: file"
    assert text in seen.trace.reason
    assert both(act, nothing).trace.verdict is Verdict.PASSED


def test_a_copy_of_a_file_that_another_changes_is_not() -> None:
    assert both(send_to_file, change).trace.verdict is Verdict.PASSED


STORM = """
import os, sys
os.chdir(sys.argv[1])
open("one", "w").close()
while True:
    os.rename("one", "two")
    os.rename("two", "one")
"""


@pytest.fixture
def storm(tmp_path: Path) -> Iterator[None]:
    """Have files renamed all the time, elsewhere on the machine."""
    running = subprocess.Popen([sys.executable, "-c", STORM, tmp_path])
    yield
    running.kill()
    running.wait()


def openat2(folder: Path | str, path: bytes, resolve: int) -> int:
    """Open a path; return a descriptor or -1."""
    how = struct.pack("=3Q", os.O_RDONLY, 0, resolve)
    base = os.open(folder, os.O_RDONLY)
    try:
        return int(libc.syscall(numbers()["openat2"], base, path, how, len(how)))
    finally:
        os.close(base)


@pytest.mark.usefixtures("storm")
@pytest.mark.parametrize("resolve", [0x08, 0x10], ids=["beneath", "in-root"])
def test_what_others_rename_disturbs_no_lookup(resolve: int, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    path = b"folder/../" * 20 + b"file"
    failed = 0
    until = time.monotonic() + 10
    while not failed and time.monotonic() < until:
        number = openat2(tmp_path, path, resolve)
        failed += number < 0 and ctypes.get_errno() == errno.EAGAIN
        if number >= 0:
            os.close(number)
    if not failed:
        pytest.skip("nothing is disturbed here")

    def look(box: Path) -> None:
        for _ in range(100):
            number = openat2(box, path, resolve)
            if number < 0:
                (box / errno.errorcode[ctypes.get_errno()]).touch()
            os.close(number)

    seen = both(look, nothing)

    assert seen.trace.verdict is Verdict.PASSED
    assert "EAGAIN" not in seen.files


def test_another_root_is_named_where_it_lies_outside() -> None:
    seen = both(lambda _: openat2("/", b"usr", 0x10), nothing)

    assert seen.trace.verdict is Verdict.UNKNOWN
    assert "openat2 outside the sandbox by one" in seen.trace.reason


def test_asking_for_what_the_kernel_has_in_memory_is_named() -> None:
    seen = both(lambda box: openat2(box, b"file", 0x20), nothing)

    assert seen.trace.verdict is Verdict.UNKNOWN
    assert "openat2 of what the kernel has in memory by one" in seen.trace.reason


def test_room_is_that_of_an_empty_file_system_and_of_files_without_holes() -> None:
    def one(box: Path) -> None:
        number = os.open(box / "file", os.O_RDWR)
        os.posix_fallocate(number, 0, 1)
        libc.fallocate(number, 1, ctypes.c_long(0), ctypes.c_long(1 << 20))
        system = os.statvfs(box)
        assert system.f_bfree == system.f_bavail == system.f_blocks
        assert system.f_ffree == system.f_files
        assert os.fstat(number).st_blocks == mmap.PAGESIZE // 512
        os.ftruncate(number, 1 << 20)
        assert os.stat(box / "file").st_blocks == (1 << 20) // 512
        assert os.stat(box / "folder").st_blocks == mmap.PAGESIZE // 512

    assert both(one, nothing).trace.verdict is Verdict.PASSED
