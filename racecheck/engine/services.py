"""Calls that racecheck answers itself: process ids, signals, random bytes.

None of them is a step: what they answer does not depend on other actors.
"""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING, Final

from racecheck.kernel.rows import Service

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from racecheck.engine.tracee import Tracee
    from racecheck.kernel.registers import Registers
    from racecheck.kernel.rows import Silent

_PARENT: Final = 1
_LARGEST_RANDOM: Final = 1 << 20


class Services:
    """Answers for the actors of one execution."""

    def __init__(
        self,
        registers: Registers,
        tracees: Sequence[Tracee],
        uncontrolled: Callable[[str], None],
    ) -> None:
        self._registers = registers
        self._tracees = tracees
        self._uncontrolled = uncontrolled

    def serve(self, tracee: Tracee, silent: Silent, raw: Sequence[int]) -> None:
        """Answer a call at its entry stop, or prepare it for the kernel's answer."""
        service = silent.service
        skip = self._registers.skip
        if service in (Service.PID, Service.TID):
            skip(tracee.pid, tracee.program.pid)
        elif service is Service.PPID:
            skip(tracee.pid, _PARENT)
        elif service is Service.RANDOM:
            length = min(raw[1], _LARGEST_RANDOM)
            try:
                tracee.memory.write(raw[0], tracee.random(length))
            except OSError:
                skip(tracee.pid, -errno.EFAULT)
            else:
                skip(tracee.pid, length)
        elif service is Service.SPAWN:
            if silent.name == "clone3":
                # glibc falls back to clone, which then says what is wanted.
                skip(tracee.pid, -errno.ENOSYS)
                return
            self._uncontrolled(f"{silent.name}: {tracee.name} starts a second task")
            skip(tracee.pid, -errno.EAGAIN)
        else:
            self._signal(tracee, silent, raw)

    def _signal(self, tracee: Tracee, silent: Silent, raw: Sequence[int]) -> None:
        """Translate the process ids of a signal; no signal leaves the scenario."""
        changes = {}
        for index, name in enumerate(silent.args):
            if name not in ("pid", "tid"):
                continue
            wanted = raw[index] & 0xFFFFFFFF
            if wanted in (0, tracee.program.pid, tracee.pid):
                changes[index] = 0 if wanted == 0 else tracee.pid
                continue
            number = self._signal_number(silent, raw)
            target = self._find(tracee, wanted)
            if number:
                self._uncontrolled(
                    f"{silent.name}: {tracee.name} sends signal {number} to "
                    + (target.name if target else f"process {wanted}")
                )
            if target is None or number:
                # A process id that nobody has is that of a process that is gone.
                refused = errno.ESRCH if target is None else errno.EPERM
                self._registers.skip(tracee.pid, -refused)
                return
            changes[index] = target.pid
        if changes:
            self._registers.edit(tracee.pid, changes)

    def _find(self, tracee: Tracee, wanted: int) -> Tracee | None:
        for other in self._tracees:
            if (
                other.end is None
                and other.program.pid == wanted
                and other.program.host == tracee.program.host
            ):
                return other
        return None

    @staticmethod
    def _signal_number(silent: Silent, raw: Sequence[int]) -> int:
        if "signal" not in silent.args:
            return 0
        return raw[silent.args.index("signal")] & 0xFFFFFFFF
