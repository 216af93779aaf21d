"""Processes that make executions of one exploration ahead of their turn.

The exploration goes on as if it were alone: in the same order, with the same results.
It only finds that some of what it is about to make is made already. While it waits for
an execution that another process is at, it makes one ahead by itself.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import pickle
import select
import signal
import socket
from typing import TYPE_CHECKING, Final, NoReturn, Self

import msgspec

from racecheck.engine import Machine
from racecheck.engine.sandbox import ENDS
from racecheck.explore.made import Made, Order, make
from racecheck.explore.runner import Runner
from racecheck.scheduling.ahead import ahead_of, key_of

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator
    from pathlib import Path
    from types import TracebackType

    from racecheck.model import Scheduler

_HEAD: Final = 4
_AT_ONCE: Final = 2
_MOST_KEPT: Final = 1000
_PR_SET_PDEATHSIG: Final = 1

_encode = msgspec.msgpack.Encoder().encode
_orders = msgspec.msgpack.Decoder(Order).decode
_made = msgspec.msgpack.Decoder(Made).decode


class _Channel:
    """Sends and receives whole messages."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        self._data = bytearray()

    def send(self, data: bytes) -> None:
        self.connection.sendall(len(data).to_bytes(_HEAD, "big") + data)

    def messages(self) -> Iterator[bytes]:
        """Wait until something has come; yield what is whole. Nothing means the end."""
        while True:
            data = self.connection.recv(1 << 18)
            if not data:
                return
            self._data += data
            found = False
            while len(self._data) >= _HEAD:
                size = _HEAD + int.from_bytes(self._data[:_HEAD], "big")
                if len(self._data) < size:
                    break
                message = bytes(self._data[_HEAD:size])
                del self._data[:size]
                found = True
                yield message
            if found:
                return


class _Helper:
    """A process that makes executions, as the one that explores sees it."""

    def __init__(self, pid: int, connection: socket.socket) -> None:
        self.pid = pid
        self.given: dict[int, Hashable] = {}
        self.channel = _Channel(connection)

    def end(self) -> None:
        """Let it end, which it does after the execution that it is at."""
        self.channel.connection.close()
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self.pid, 0)


class Team:
    """The helpers of one exploration; without any it changes nothing."""

    def __init__(self, runner: Runner, cpus: int, workdir: Path) -> None:
        """Prepare.

        Args:
            runner: Makes what is made here. It has been set up, so that nothing of
                what follows makes a difference to its actors.
            cpus: A processor for each helper; bit 0 is the first processor.
            workdir: Where helpers make their boxes.
        """
        self._runner = runner
        self._helpers: list[_Helper] = []
        self._numbers = 0
        self._keep: dict[Hashable, Made] = {}
        self._reuse = True
        try:
            for cpu in range(cpus.bit_length()):
                if cpus >> cpu & 1:
                    self._fork(cpu, workdir)
        except BaseException:
            self.__exit__(None, None, None)
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for helper in self._helpers:
            helper.end()
        self._helpers.clear()

    def __bool__(self) -> bool:
        """Say whether there is anybody."""
        return bool(self._helpers)

    def begin(self) -> None:
        """Forget what was made: another exploration begins."""
        self._keep.clear()
        for helper in self._helpers:
            # They are made all the same, and then fit no key.
            helper.given = dict.fromkeys(helper.given)

    def keep_busy(self, scheduler: Scheduler, *, reuse: bool) -> None:
        """Give helpers something to do while an execution is made here.

        Args:
            scheduler: Makes that execution, which it has started.
            reuse: Whether actors may run in processes that were used before.
        """
        self._reuse = reuse
        self._receive(wait=False)
        self._give(scheduler)

    def find(self, scheduler: Scheduler) -> Made | None:
        """Return the execution that a scheduler has started, if it is made elsewhere.

        While somebody is at it, others are made here.
        """
        key = key_of(scheduler)
        while key not in self._keep and key in self._given():
            ahead = next(self._untouched(scheduler), None)
            if ahead is not None and len(self._keep) < _MOST_KEPT:
                other, order = ahead
                self._keep[other] = make(self._runner, order)
                self._receive(wait=False)
                self._give(scheduler)
            else:
                self._receive(wait=True)
        made = self._keep.pop(key, None)
        return made if made is not None and made.plain else None

    def forget(self, scheduler: Scheduler) -> None:
        """Give the execution up that a scheduler has started: it is made once more."""
        key = key_of(scheduler)
        self._keep.pop(key, None)
        for helper in self._helpers:
            for number, given in helper.given.items():
                if given == key:
                    helper.given[number] = None

    def _given(self) -> set[Hashable]:
        return {key for helper in self._helpers for key in helper.given.values()}

    def _untouched(self, scheduler: Scheduler) -> Iterator[tuple[Hashable, Order]]:
        """Yield orders for what nobody has made and nobody is at."""
        given = self._given()
        given.add(key_of(scheduler))
        for key, seed, ahead in ahead_of(scheduler):
            if key not in self._keep and key not in given:
                self._numbers += 1
                yield (
                    key,
                    Order(
                        number=self._numbers,
                        seed=seed,
                        scheduler=pickle.dumps(ahead),
                        footprints=bool(getattr(ahead, "needs_footprints", False)),
                        reuse=self._reuse,
                        exact=self._runner.watch.is_exact,
                    ),
                )

    def _give(self, scheduler: Scheduler) -> None:
        """Give each helper as much as it may have, in turn."""
        room = [each for each in self._helpers if len(each.given) < _AT_ONCE]
        if not room or len(self._keep) >= _MOST_KEPT:
            return
        for key, order in self._untouched(scheduler):
            helper = min(room, key=lambda each: len(each.given))
            helper.given[order.number] = key
            try:
                helper.channel.send(_encode(order))
            except OSError:
                self._lose(helper)
            room = [each for each in self._helpers if len(each.given) < _AT_ONCE]
            if not room:
                return

    def _receive(self, *, wait: bool) -> None:
        """Take in what helpers have made, at least one of it if asked to wait."""
        by_socket = {each.channel.connection: each for each in self._helpers}
        if not by_socket:
            return
        ready, _, _ = select.select(list(by_socket), [], [], None if wait else 0)
        for connection in ready:
            helper = by_socket[connection]
            try:
                messages = list(helper.channel.messages())
            except OSError:
                messages = []
            if not messages:
                self._lose(helper)
            for message in messages:
                made = _made(message)
                key = helper.given.pop(made.number)
                if key is not None:
                    self._keep[key] = made

    def _lose(self, helper: _Helper) -> None:
        """Go on without a helper: what it had to make is made here."""
        if helper in self._helpers:
            self._helpers.remove(helper)
            helper.end()

    def _fork(self, cpu: int, workdir: Path) -> None:
        ours, theirs = socket.socketpair()
        parent = os.getpid()
        # Who is asked to end meanwhile knows of the helper, and waits for it.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, ENDS)
        pid = os.fork()
        if pid == 0:
            # It has what the parent has, and must not put it away: nothing is to be
            # left of its copy but the processes' memory.
            _stay(lambda: _help(theirs, cpu, self._runner, workdir, parent, before))
        theirs.close()
        self._helpers.append(_Helper(pid, ours))
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


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
    channel = connection.fileno()
    os.closerange(3, channel)
    os.closerange(channel + 1, os.sysconf("SC_OPEN_MAX"))
    os.sched_setaffinity(0, {cpu})
    scenario = runner.scenario
    with Machine(workdir=workdir, max_cpu_s=scenario.max_cpu_s) as machine:
        own = Runner(machine, scenario)
        orders = _Channel(connection)
        while messages := list(orders.messages()):
            for message in messages:
                orders.send(_encode(make(own, _orders(message))))
