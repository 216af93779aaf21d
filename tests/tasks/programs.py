"""Actors that have several tasks: threads, children, programs that they execute.

Each leaves in the box what depends on the order of its tasks, so that tests can tell
orders apart by more than the steps.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import socket
import subprocess
import threading
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from typing import TYPE_CHECKING

from racecheck.scenario import Scenario, command

if TYPE_CHECKING:
    from collections.abc import Callable
    from multiprocessing.connection import Connection
    from pathlib import Path

FORK = multiprocessing.get_context("fork")
"""The default up to Python 3.13. The one from 3.14 on is not under control."""


def _append(path: Path, text: str) -> None:
    """Add a line by reading and writing the file, which only a lock keeps whole."""
    before = path.read_text() if path.exists() else ""
    path.write_text(f"{before}{text}\n")


def lock(box: Path) -> None:
    """Have three threads change a file under a lock."""
    guard = threading.Lock()

    def change(number: int) -> None:
        for _ in range(2):
            with guard:
                _append(box / "log", str(number))

    threads = [threading.Thread(target=change, args=[number]) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def to_thread(box: Path) -> None:
    """Have an event loop wait for files that threads write."""

    async def main() -> None:
        await asyncio.gather(
            *(
                asyncio.to_thread((box / f"{number}").write_text, str(number))
                for number in range(3)
            )
        )
        (box / "all").write_text("written")

    asyncio.run(main())


def run(box: Path) -> None:
    """Run two programs, one after the other, and one beside them."""
    other = subprocess.Popen(["sh", "-c", "echo other > other"], cwd=box)
    for number in range(2):
        done = subprocess.run(
            ["sh", "-c", f"echo {number} > {number}; cat {number}"],
            cwd=box,
            capture_output=True,
            text=True,
            check=True,
        )
        _append(box / "log", done.stdout.strip())
    other.wait()


def _square(connection: Connection, box: Path) -> None:
    while (number := connection.recv()) is not None:
        (box / f"{number}").write_text("here")
        connection.send(number * number)


def pair(box: Path) -> None:
    """Talk to a process over a pipe."""
    here, there = FORK.Pipe()
    process = FORK.Process(target=_square, args=[there, box])
    process.start()
    for number in range(3):
        here.send(number)
        (box / "last").write_text(str(number))
        _append(box / "log", str(here.recv()))
    here.send(None)
    process.join()


def _touch(path: str) -> str:
    with open(path, "x", encoding="utf-8") as file:
        file.write(str(os.getpid()))
    return path


def pool(box: Path) -> None:
    """Have a pool of two processes make three files."""
    with FORK.Pool(2) as workers:
        made = workers.map(_touch, [str(box / f"{number}") for number in range(3)])
    (box / "all").write_text(f"{len(made)}")


def executor(box: Path) -> None:
    """The same with `concurrent.futures`."""
    with ProcessPoolExecutor(2, mp_context=FORK) as workers:
        made = workers.map(_touch, [str(box / f"{number}") for number in range(3)])
        (box / "all").write_text(f"{len(list(made))}")


def thread_pool(box: Path) -> None:
    """The same with threads."""
    with ThreadPoolExecutor(2) as workers:
        made = workers.map(_touch, [str(box / f"{number}") for number in range(3)])
        (box / "all").write_text(f"{len(list(made))}")


def fork(box: Path) -> None:
    """Fork children that write, execute and end."""
    children = []
    for number in range(3):
        pid = os.fork()
        if pid == 0:
            (box / f"{number}").write_text(str(os.getpid()))
            if number == 2:
                os.execv("/bin/sh", ["sh", "-c", f"echo done >> {box}/{number}"])  # noqa: S606  what it is about
            os._exit(number)
        children.append(pid)
    for pid in children:
        found, status = os.waitpid(pid, 0)
        _append(box / "log", f"{found} {os.waitstatus_to_exitcode(status)}")


def long_writes(box: Path) -> None:
    """Send more through a pipe at once than there is room for in it."""
    read, write = os.pipe()
    size = 300_000

    def send() -> None:
        left = memoryview(bytes(size))
        writes = 0
        while left:
            left = left[os.write(write, left) :]
            writes += 1
        os.close(write)
        (box / "writes").write_text(str(writes))

    thread = threading.Thread(target=send)
    thread.start()
    got = 0
    while piece := os.read(read, 50_000):
        got += len(piece)
        (box / "read").write_text("some")
    thread.join()
    (box / "read").write_text("all" if got == size else str(got))


def sockets(box: Path) -> None:
    """Serve a client over a socket, with an answer too long for it to hold."""
    size = 400_000
    here, there = socket.socketpair()

    def serve() -> None:
        with there:
            (box / "asked").write_bytes(there.recv(100))
            there.sendall(bytes(size))

    thread = threading.Thread(target=serve)
    thread.start()
    here.sendall(b"what")
    (box / "sent").write_text("all")
    got = 0
    while piece := here.recv(100_000):
        got += len(piece)
    thread.join()
    (box / "got").write_text("all" if got == size else str(got))


def server(box: Path) -> None:
    """Serve a client over the network of the machine."""
    listening = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        connection, _ = listening.accept()
        with connection:
            (box / "asked").write_bytes(connection.recv(100))
            connection.sendall(b"that")

    thread = threading.Thread(target=serve)
    thread.start()
    with socket.create_connection(listening.getsockname()) as client:
        client.sendall(b"what")
        (box / "sent").write_text("all")
        (box / "got").write_bytes(client.recv(100))
    thread.join()
    listening.close()


PROGRAMS: dict[str, Callable[[Path], None]] = {
    each.__name__: each
    for each in (
        lock,
        to_thread,
        run,
        pair,
        pool,
        executor,
        thread_pool,
        fork,
        long_writes,
        sockets,
        server,
    )
}
"""Those in Python, by name."""

COMPILED = ("threads", "children")
"""Those in C."""


def scenario_of(name: str, compile_c: Callable[[str], Path]) -> Scenario:
    """Make a scenario of one actor that is a program.

    Args:
        name: Name of the program.
        compile_c: Compiles one in C, and returns where it is.
    """
    scenario = Scenario(name)
    if name in PROGRAMS:
        scenario.writer(PROGRAMS[name], name="one")
    else:
        program = command([str(compile_c(name)), "{box}"])
        scenario.writer(program, name="one")
    return scenario
