"""Calls that racecheck answers itself: ids, signals, random bytes, clocks, alarms.

None of them is a step: what they answer does not depend on the order of steps.
"""

from __future__ import annotations

import errno
import struct
from typing import TYPE_CHECKING, Final

from racecheck.engine.addresses import Addresses
from racecheck.kernel.deadlines import MONOTONIC_CLOCKS
from racecheck.kernel.rows import Service

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from racecheck.engine.alarms import Alarms
    from racecheck.engine.making import Making
    from racecheck.engine.sending import Sending
    from racecheck.engine.task import Task
    from racecheck.engine.tries import Ids
    from racecheck.kernel.registers import Registers
    from racecheck.kernel.rows import Silent

_INIT: Final = 1
_LARGEST_RANDOM: Final = 1 << 20
_SECOND: Final = 1_000_000_000

# struct timespec and struct timeval, and struct tms, of 64-bit machines.
_PAIR = struct.Struct("=qq")
_TIMES = struct.Struct("=4q")
_TICK_NS: Final = 10_000_000


class Services:
    """Answers for the actors of one execution."""

    def __init__(
        self,
        registers: Registers,
        ids: Ids,
        note: Callable[..., None],
        *,
        sending: Sending,
        alarms: Alarms,
        making: Making,
    ) -> None:
        self._registers = registers
        self._ids = ids
        self._note = note
        self._sending = sending
        self._alarms = alarms
        self._addresses = Addresses(registers, making, note)

    def serve(self, task: Task, silent: Silent, raw: Sequence[int]) -> None:
        """Answer a call at its entry stop, or prepare it for the kernel's answer."""
        service = silent.service
        skip = self._registers.skip
        if service is Service.PID:
            skip(task.tid, task.process.shown)
        elif service is Service.TID:
            skip(task.tid, self._ids.shown(task.tid))
        elif service is Service.PPID:
            parent = task.process.parent
            alive = parent is not None and not parent.ended
            skip(task.tid, parent.shown if parent and alive else _INIT)
        elif service is Service.RANDOM:
            self._random(task, raw[0], raw[1])
        elif service is Service.CLOCK:
            self._time(task, silent, raw)
        elif service is Service.ALARM:
            self._alarms.serve(task, silent, raw)
            if any(each.at_ns is not None for each in task.process.alarms.values()):
                # Steps take no time. In life it may go off before any of them.
                timer = f"the moment at which a timer of {task.actor.name} goes off"
                self._note(timer, ordered=False)
        elif service is Service.BIND:
            self._addresses.bind(task, raw)
        elif service is Service.CONNECT:
            self._addresses.connect(task, raw)
        elif service is Service.DUMPABLE:
            # A process that nobody may look into could not be traced by who has no
            # rights beyond its own. It may say so, and nothing comes of it.
            skip(task.tid, 0 if raw[1] in (0, 1) else -errno.EINVAL)
        elif service is Service.SHARE:
            self._addresses.share(task, silent.name, raw)
        elif service is Service.TARGET:
            self._sending.target(task, silent, raw)
        elif service is Service.GROUP:
            self._sending.group(task, silent.name, raw)
        else:
            self._sending.send(task, silent, raw)

    def send(
        self, task: Task, descriptor: int, *, name: int = 0, length: int = 0
    ) -> None:
        """See `Addresses.send`."""
        self._addresses.send(task, descriptor, name=name, length=length)

    def speak(self, task: Task, descriptor: int) -> None:
        """See `Addresses.speak`."""
        self._addresses.speak(task, descriptor)

    def read_random(self, task: Task, raw: Sequence[int]) -> None:
        """Answer a read of a random device; raw[1:3] is where the bytes go."""
        self._random(task, raw[1], raw[2])

    def _random(self, task: Task, address: int, count: int) -> None:
        length = min(count, _LARGEST_RANDOM)
        self._give(task, address, task.actor.random(length), length)

    def _give(self, task: Task, address: int, data: bytes, result: int) -> None:
        try:
            if address:
                task.process.memory.write(address, data)
        except OSError:
            result = -errno.EFAULT
        self._registers.skip(task.tid, result)

    # --- time -------------------------------------------------------------------------

    def _time(self, task: Task, silent: Silent, raw: Sequence[int]) -> None:
        clock = task.actor.clock
        if silent.name == "time":
            seconds = clock.realtime_ns // _SECOND
            self._give(task, raw[0], struct.pack("=q", seconds), seconds)
        elif silent.name == "gettimeofday":
            now = clock.realtime_ns
            pair = _PAIR.pack(now // _SECOND, now % _SECOND // 1000)
            self._give(task, raw[0], pair, 0)
        elif silent.name == "times":
            # Processor time is real; what it returns is the time since some start.
            spent = _TIMES.pack(*_processor_times(task.process.pid))
            self._give(task, raw[0], spent, clock.monotonic_ns // _TICK_NS)
        else:
            which = raw[0] & 0xFFFFFFFF
            shown = clock.read(which)
            if shown is not None and which in MONOTONIC_CLOCKS:
                shown = max(shown, task.process.clock)
            if shown is not None:
                pair = _PAIR.pack(shown // _SECOND, shown % _SECOND)
                self._give(task, raw[1], pair, 0)


def _processor_times(pid: int) -> list[int]:
    """Return what a process and its children have used, in ticks; see times(2)."""
    with open(f"/proc/{pid}/stat", "rb") as file:
        fields = file.read().rpartition(b")")[2].split()
    return [int(field) for field in fields[11:15]]
