"""A process that makes executions of an exploration ahead of their turn."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import socket
from collections import deque
from typing import TYPE_CHECKING, Final, NoReturn

import msgspec

from racecheck.engine import Machine
from racecheck.engine.sandbox import ENDS
from racecheck.explore.channel import Channel
from racecheck.explore.made import Made, Order, Stop, make
from racecheck.explore.runner import Runner

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable
    from pathlib import Path

_PR_SET_PDEATHSIG: Final = 1

_encode = msgspec.msgpack.Encoder().encode
_orders = msgspec.msgpack.Decoder(Order | Stop).decode
_made = msgspec.msgpack.Decoder(Made).decode


class Helper:
    """A process that makes executions, as the one that explores sees it.

    Attributes:
        pid: Its process id.
        given: What it has to make, in this order: numbers of orders, with what tells
            the first execution of each from others; None if nobody wants it any more.
    """

    def __init__(self, pid: int, connection: socket.socket) -> None:
        """Take note of a process that has been forked."""
        self.pid = pid
        self.given: dict[int, Hashable] = {}
        self._channel = Channel(connection)

    @property
    def is_gone(self) -> bool:
        """Whether it has ended."""
        return self._channel.is_over

    @property
    def has_answers(self) -> bool:
        """Whether there are answers that need not be waited for."""
        return self._channel.has_messages or self.is_gone

    def fileno(self) -> int:
        """Return the descriptor that its answers come from."""
        return self._channel.fileno()

    def is_at(self, number: int) -> bool:
        """Say whether it is at what it was asked for by that number."""
        return next(iter(self.given), None) == number

    def tell(self, message: Order | Stop) -> None:
        """Give it something to do, or have it stop."""
        self._channel.send(_encode(message))

    def answers(self) -> list[Made]:
        """Return what it has made since it was asked last."""
        return [_made(message) for message in self._channel.receive(wait=False)]

    def end(self) -> None:
        """Let it end, which it does after the execution that it is at."""
        self._channel.close()
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self.pid, 0)


def fork(cpu: int, runner: Runner, workdir: Path) -> Helper:
    """Fork a helper.

    Args:
        cpu: The processor that it is to use.
        runner: What makes executions in this process, once it is set up.
        workdir: Where the helper makes its box.
    """
    ours, theirs = socket.socketpair()
    parent = os.getpid()
    # Who is asked to end meanwhile knows of the helper, and waits for it.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ENDS)
    pid = os.fork()
    if pid == 0:
        # It has what the parent has, and must not put it away: nothing is to be
        # left of its copy but the processes' memory.
        _stay(lambda: _help(theirs, cpu, runner, workdir, parent, before))
    theirs.close()
    helper = Helper(pid, ours)
    signal.pthread_sigmask(signal.SIG_SETMASK, before)
    return helper


def _stay(body: Callable[[], None]) -> NoReturn:
    """Do something in a fork, and end it without the parent's way out."""
    try:
        body()
    except BaseException:  # noqa: BLE001  whoever waits for it finds it gone
        os._exit(1)
    os._exit(0)


def _help(
    connection: socket.socket,
    cpu: int,
    runner: Runner,
    workdir: Path,
    parent: int,
    mask: set[int | signal.Signals],
) -> None:
    """Make executions until nobody wants any more."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, mask)
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    if os.getppid() != parent:
        return
    number = connection.fileno()
    os.closerange(3, number)
    os.closerange(number + 1, os.sysconf("SC_OPEN_MAX"))
    os.sched_setaffinity(0, {cpu})
    scenario = runner.scenario
    with Machine(workdir=workdir, max_cpu_s=scenario.max_cpu_s) as machine:
        _Work(Runner(machine, scenario), Channel(connection)).go_on()


class _Work:
    """What a helper has to do."""

    def __init__(self, runner: Runner, channel: Channel) -> None:
        self._runner = runner
        self._channel = channel
        self._orders: deque[Order] = deque()

    def go_on(self) -> None:
        """Work until nobody is there any more."""
        while True:
            self._listen(wait=not self._orders)
            if self._channel.is_over:
                return
            if self._orders:
                self._carry_out(self._orders[0])
                self._orders.popleft()

    def _carry_out(self, order: Order) -> None:
        for made in make(self._runner, order):
            self._channel.send(_encode(made))
            if not made.more:
                return
            # A series is gone on with until somebody says otherwise.
            if self._listen(wait=False, present=order.number) or self._channel.is_over:
                self._channel.send(_encode(Made(order.number)))
                return

    def _listen(self, *, wait: bool, present: int = 0) -> bool:
        """Take in what is to be done; say whether the present order is to end."""
        is_to_end = False
        for message in map(_orders, self._channel.receive(wait=wait)):
            if isinstance(message, Order):
                self._orders.append(message)
            elif message.number == present:
                is_to_end = True
            elif any(order.number == message.number for order in self._orders):
                left = [o for o in self._orders if o.number != message.number]
                self._orders = deque(left)
                self._channel.send(_encode(Made(message.number)))
        return is_to_end
