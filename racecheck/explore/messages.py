"""What a caller and its worker processes say to each other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from racecheck.model import Progress, ScenarioResult, Trace, legible

if TYPE_CHECKING:
    import socket
    from collections.abc import Iterator, Sequence


class Task(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """One scenario for one worker.

    Attributes:
        file: File that holds the scenario, or empty.
        pickled: The scenario itself, where no file holds it.
        name: Full name of the scenario.
        seed: Seed of the exploration.
        max_executions: Budget in executions, or None.
        max_seconds: Budget in seconds, or None.
        scheduler: Name of the scheduler.
        workdir: Folder for the box, or empty for the default.
        fresh: Whether each execution starts all its processes anew.
        shrink: Whether what is found is made simpler before it is told.
        curve: Whether to find out where what is found became certain.
        token: The execution to replay; empty to explore.
        engine: Name of the engine.
        cpus: Processors that the caller may use, where the engine takes them all.
        helpers: Processors for executions at the same time, beside the worker's own:
            bit 0 is the first. A small number takes no memory, and so does not move
            what actors are forked from.
    """

    file: str
    pickled: bytes = b""
    name: str
    seed: int = 0
    max_executions: int | None = None
    max_seconds: float | None = None
    scheduler: str = ""
    workdir: str = ""
    fresh: bool = False
    shrink: bool = True
    curve: bool = False
    token: str = ""
    engine: str = "process"
    cpus: tuple[int, ...] = ()
    helpers: int = 0


class Replayed(msgspec.Struct, frozen=True, tag=True):
    """What came of a replay.

    Attributes:
        trace: The execution as it went.
        left: Where the program left the recording.
        same: Whether every call, argument and result was as recorded.
    """

    trace: Trace
    left: tuple[int, str, str] | None
    same: bool


class Advanced(msgspec.Struct, frozen=True, tag=True):
    """How far an exploration is."""

    progress: Progress


class Explored(msgspec.Struct, frozen=True, tag=True):
    """What an exploration has found."""

    result: ScenarioResult


class Failed(msgspec.Struct, frozen=True, tag=True):
    """An error that ended the task: its class in `racecheck.errors`, and its line."""

    error: str
    message: str


Answer = Replayed | Advanced | Explored | Failed

_HEAD = 4
_encode = msgspec.msgpack.Encoder().encode
_answers = msgspec.msgpack.Decoder(Answer)
_tasks = msgspec.msgpack.Decoder(Task)
_starts = msgspec.msgpack.Decoder(tuple[tuple[str, ...], str])


def send(connection: socket.socket, message: Task | Answer) -> None:
    """Send one message."""
    try:
        data = _encode(message)
    except UnicodeEncodeError:
        # What was said of a file can hold its name, which need not be text.
        plain = msgspec.to_builtins(message, builtin_types=(bytes,))
        data = _encode(_legible(plain))
    connection.sendall(len(data).to_bytes(_HEAD, "big") + data)


def send_start(
    connection: socket.socket, modules: Sequence[str], coverage: str
) -> None:
    """Tell a worker what to do before its first task.

    Args:
        connection: Where it listens.
        modules: Names of what it imports.
        coverage: How its caller measures coverage, or empty.
    """
    data = msgspec.msgpack.encode((modules, coverage))
    connection.sendall(len(data).to_bytes(_HEAD, "big") + data)


def receive_start(connection: socket.socket) -> tuple[tuple[str, ...], str]:
    """Wait to be told so; nothing is to be done if the caller is gone."""
    head = _exactly(connection, _HEAD)
    data = head and _exactly(connection, int.from_bytes(head, "big"))
    return _starts.decode(data) if data else ((), "")


def receive_task(connection: socket.socket) -> Task | None:
    """Wait for a task; None means that the caller is gone."""
    head = _exactly(connection, _HEAD)
    data = head and _exactly(connection, int.from_bytes(head, "big"))
    return _tasks.decode(data) if data else None


class Answers:
    """Takes a worker's messages out of the bytes that arrive from it."""

    def __init__(self) -> None:
        self._data = bytearray()

    def feed(self, data: bytes) -> Iterator[Answer]:
        """Take bytes in and yield the messages that are whole now."""
        self._data += data
        while len(self._data) >= _HEAD:
            size = int.from_bytes(self._data[:_HEAD], "big")
            if len(self._data) < _HEAD + size:
                return
            message = bytes(self._data[_HEAD : _HEAD + size])
            del self._data[: _HEAD + size]
            yield _answers.decode(message)


def _legible(value: object) -> object:
    if isinstance(value, str):
        return legible(value)
    if isinstance(value, dict):
        return {_legible(key): _legible(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_legible(item) for item in value]
    return value


def _exactly(connection: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        more = connection.recv(size - len(data))
        if not more:
            return b""
        data += more
    return data
