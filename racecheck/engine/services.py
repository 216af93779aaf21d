"""Calls that racecheck answers itself: ids, signals, random bytes, clocks, alarms.

None of them is a step: what they answer does not depend on the order of steps.
"""

from __future__ import annotations

import errno
import os
import signal
import socket
import struct
from typing import TYPE_CHECKING, Final

from racecheck.kernel.deadlines import MONOTONIC_CLOCKS
from racecheck.kernel.rows import Service

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from racecheck.engine.alarms import Alarms
    from racecheck.engine.task import Actor, Process, Task
    from racecheck.engine.tries import Ids
    from racecheck.kernel.registers import Registers
    from racecheck.kernel.rows import Silent

_PARENT: Final = 1
_LARGEST_RANDOM: Final = 1 << 20
_SECOND: Final = 1_000_000_000
_UNIX: Final = struct.pack("=H", socket.AF_UNIX)

# struct timespec and struct timeval, and struct tms, of 64-bit machines.
_PAIR = struct.Struct("=qq")
_TIMES = struct.Struct("=4q")
_TICK_NS: Final = 10_000_000


class Services:
    """Answers for the actors of one execution."""

    def __init__(
        self,
        registers: Registers,
        actors: Sequence[Actor],
        ids: Ids,
        note: Callable[..., None],
        send: Callable[[Process, int], None],
        alarms: Alarms,
    ) -> None:
        self._registers = registers
        self._actors = actors
        self._ids = ids
        self._note = note
        self._send = send
        self._alarms = alarms

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
            skip(task.tid, parent.shown if parent else _PARENT)
        elif service is Service.RANDOM:
            self._random(task, raw[0], raw[1])
        elif service is Service.CLOCK:
            self._time(task, silent, raw)
        elif service is Service.ALARM:
            self._alarms.serve(task, silent, raw)
        elif service is Service.BIND:
            self._bind(task, raw)
        else:
            self._signal(task, silent, raw)

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

    def _bind(self, task: Task, raw: Sequence[int]) -> None:
        """Refuse to give a socket a name in a folder, which no step would tell of."""
        try:
            head = task.process.memory.read(raw[1], 3)
        except OSError:
            return
        # Names without a file start with a zero byte, or are missing; see unix(7).
        length = raw[2] & 0xFFFFFFFF
        if head[:2] == _UNIX and length > len(_UNIX) and head[2:] != b"\0":
            self._note(f"bind of a socket to a path by {task.name}", refused=True)
            self._registers.skip(task.tid, -errno.EACCES)

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

    # --- signals ----------------------------------------------------------------------

    def _signal(self, task: Task, silent: Silent, raw: Sequence[int]) -> None:
        """Translate the ids of a signal; none leaves the actor that sends it."""
        number = self._signal_number(silent, raw)
        if number and silent.name == "pidfd_send_signal":
            # Such a descriptor can be one of /proc too, and be anybody's.
            self._refuse(task, silent, number, "a descriptor")
            self._registers.skip(task.tid, -errno.EPERM)
            return
        changes = {}
        for index, name in enumerate(silent.args):
            if name not in ("pid", "tid"):
                continue
            wanted = ((raw[index] & 0xFFFFFFFF) ^ 0x80000000) - 0x80000000
            if number and silent.name == "kill" and wanted <= 0:
                group = os.getpgid(task.process.pid)
                if wanted in (0, -group):
                    # The worker and all actors are in it, unless this one has left it.
                    self._signal_group(task, group, number)
                    return
            if wanted == 0:
                continue
            target = self._find(task, abs(wanted)) if wanted != -1 else None
            own = target is not None and target.actor is task.actor
            if number and not own:
                self._refuse(task, silent, number, f"process {wanted}")
            elif not own:
                text = f"whether another process lives, asked by {task.actor.name}"
                self._note(text, ordered=False)
            if target is None or (number and not own):
                # An id that nobody has is that of a process that is gone.
                refused = errno.ESRCH if target is None else errno.EPERM
                self._registers.skip(task.tid, -refused)
                return
            if number and wanted < 0:
                self._signal_group(task, target.process.pid, number)
                return
            if number and silent.name == "kill" and target.process is not task.process:
                self._registers.skip(task.tid, 0)
                self._send(target.process, number)
                return
            real = target.tid if name == "tid" else target.process.pid
            changes[index] = real if wanted > 0 else -real
        if changes:
            self._registers.edit(task.tid, changes)

    def _signal_group(self, task: Task, group: int, number: int) -> None:
        """Send a signal to those processes of an actor that are in a group."""
        members = [
            process
            for process in task.actor.processes()
            if os.getpgid(process.pid) == group
        ]
        for process in members:
            if process is not task.process:
                self._send(process, number)
        if task.process in members:
            self._registers.edit(task.tid, {0: task.process.pid})
        else:
            self._registers.skip(task.tid, 0 if members else -errno.ESRCH)

    def _refuse(self, task: Task, silent: Silent, number: int, target: str) -> None:
        text = f"{silent.name}: {task.name} sends {_signal_name(number)} to {target}"
        self._note(text, refused=True)

    def _find(self, task: Task, wanted: int) -> Task | None:
        """Return a live task on the same host that has an id; its own actor's first."""
        others = [each for each in self._actors if each is not task.actor]
        for actor in (task.actor, *others):
            if actor.program.host != task.actor.program.host:
                continue
            for other in actor.tasks:
                ids = (self._ids.shown(other.tid), other.process.shown, other.tid)
                if not other.ended and wanted in ids:
                    return other
        return None

    @staticmethod
    def _signal_number(silent: Silent, raw: Sequence[int]) -> int:
        if "signal" not in silent.args:
            return 0
        return raw[silent.args.index("signal")] & 0xFFFFFFFF


def _processor_times(pid: int) -> list[int]:
    """Return what a process and its children have used, in ticks; see times(2)."""
    with open(f"/proc/{pid}/stat", "rb") as file:
        fields = file.read().rpartition(b")")[2].split()
    return [int(field) for field in fields[11:15]]


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
