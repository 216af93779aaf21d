"""What happens inside an actor's process under stress: it waits, runs, and reports."""

from __future__ import annotations

import contextlib
import ctypes
import os
import random
import resource
import signal
import socket
import sys
import time

# As it is now, whatever a subject makes of it.
from os import _exit
from typing import TYPE_CHECKING, Final, NoReturn

import msgspec

from racecheck.engine import actor as inside
from racecheck.engine.actor import Report
from racecheck.stress.delays import Delays, Pace

if TYPE_CHECKING:
    from racecheck.model import Program

LOST: Final = 70
"""Exit status of an actor that could not report."""

HEAD: Final = 4
"""Bytes of a message that say how long the rest is."""

READY: Final = b"r"
GO: Final = b"g"

_PR_SET_PDEATHSIG: Final = 1
_KEPT: Final = 200
_encode = msgspec.msgpack.Encoder().encode


class Told(msgspec.Struct, frozen=True):
    """What an actor says of one operation.

    Attributes:
        report: How it ended.
        began: When it began, on the monotonic clock that all processes share.
        ended: When it ended.
    """

    report: Report
    began: float
    ended: float


def be_actor(
    program: Program,
    *,
    index: int,
    folder: str,
    streams: tuple[int, int],
    channel: socket.socket,
    gate: int,
    seed: int,
    pace: Pace,
    max_cpu_s: float,
) -> NoReturn:
    """Be the process of an actor, from its birth to its end.

    Args:
        program: What it runs.
        index: Place of the program, from 1.
        folder: Folder to start in.
        streams: Descriptors of standard input, and of standard output and error.
        channel: Where to report, and to be told to go on.
        gate: A pipe that is closed when all begin; -1 waits for the channel instead.
        seed: Seed of the execution.
        pace: How it is delayed.
        max_cpu_s: Processor time after which the kernel ends it.
    """
    try:
        libc = ctypes.CDLL(None, use_errno=True)
        libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        os.setpgid(0, 0)
        # High numbers, so that those of the subject's files are the usual ones.
        kept = _far_away(channel.fileno())
        channel.detach()
        wait = _far_away(gate) if gate >= 0 else -1
        keep = [each for each in (kept, wait) if each >= 0]
        inside.prepare(index=index, folder=folder, streams=streams, keep=keep)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        _limit(max_cpu_s)
        inside.reseed(program, seed)
        delays = Delays(f"{seed}/{program.name}/delays", pace)
        channel = socket.socket(fileno=kept)
        _wait(channel, wait)
        delays.pause()
        if program.argv:
            inside.execute(program.argv)
        delays.install()
        _operate(program, channel, delays)
        inside.wait_for_others()
        inside.flush()
    except BaseException as error:  # noqa: BLE001  nothing may unwind into the worker
        status = error.code if isinstance(error, SystemExit) else 1
        if not isinstance(error, SystemExit):
            with contextlib.suppress(BaseException):
                sys.stderr.write(f"{type(error).__name__}: {error}\n")
        inside.flush()
        _exit(status if isinstance(status, int) else int(status is not None))
    _exit(0)


def _far_away(descriptor: int) -> int:
    import fcntl  # noqa: PLC0415  only actors need it

    return fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, _KEPT)


def _limit(max_cpu_s: float) -> None:
    seconds = max(1, round(max_cpu_s))
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))


def _wait(channel: socket.socket, gate: int) -> None:
    """Say that all is ready, and wait until it begins."""
    channel.sendall(READY)
    if gate >= 0:
        os.read(gate, 1)
        os.close(gate)
    elif channel.recv(1) != GO:
        _exit(0)


def _operate(program: Program, channel: socket.socket, delays: Delays) -> None:
    for number in range(program.repeat):
        if number:
            delays.pause()
        began = time.monotonic()
        report = inside.outcome(program)
        told = _encode(Told(report, began, time.monotonic()))
        inside.flush()
        try:
            channel.sendall(len(told).to_bytes(HEAD, "big") + told)
            # It has returned once that has been looked into: until then the others may
            # still be held to what was so while it was about to.
            answered = channel.recv(1)
        except OSError:
            _exit(LOST)
        if answered != GO:
            _exit(LOST)


def shuffled(seed: int) -> random.Random:
    """Return the random numbers of the watcher of an execution."""
    return random.Random(f"{seed}/watcher")
