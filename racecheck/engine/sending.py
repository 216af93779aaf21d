"""Calls by which an actor reaches other processes: signals, groups, how they are run.

The task makes its call itself, so that the kernel notes who has sent the signal. Only
the ids are translated, and a signal to a group is made one to each of its processes:
the kernel's group can hold others who have nothing to do with the actor.
"""

from __future__ import annotations

import errno
import os
import signal
from typing import TYPE_CHECKING, Final

from racecheck.engine.groups import members, real_group, shown_group
from racecheck.engine.states import is_zombie

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from racecheck.engine.machine import Machine
    from racecheck.engine.making import Making
    from racecheck.engine.signals import Signals
    from racecheck.engine.task import Actor, Process, Task
    from racecheck.engine.tries import Ids
    from racecheck.kernel.rows import Silent

_ONE_PROCESS: Final = {"ioprio_get": 1, "ioprio_set": 1}
"""Value of `which` that means one process, or thread, where it is not 0."""

_START: Final = 1
"""Session of who has started the actors."""


class Sending:
    """Answers calls that send signals, or are about groups, in one execution."""

    def __init__(
        self,
        machine: Machine,
        actors: Sequence[Actor],
        ids: Ids,
        *,
        signals: Signals,
        making: Making,
        note: Callable[..., None],
    ) -> None:
        """Serve one execution.

        Args:
            machine: What executions share.
            actors: The actors.
            ids: Translates ids.
            signals: Told of what was sent.
            making: Has tasks make calls at once.
            note: Takes note of what is not controlled.
        """
        self._registers = machine.registers
        self._table = machine.table
        self._actors = actors
        self._ids = ids
        self._signals = signals
        self._making = making
        self._note = note

    # --- signals ----------------------------------------------------------------------

    def send(self, task: Task, silent: Silent, raw: Sequence[int]) -> None:
        """Translate the ids of a signal; none leaves the actor that sends it."""
        number = _signal_number(silent, raw)
        name = silent.name
        if name == "pidfd_send_signal":
            self._send_by_descriptor(task, name, number, raw[0])
            return
        wanted = signed(raw[silent.args.index("tid" if name == "tkill" else "pid")])
        if name in ("kill", "rt_sigqueueinfo") and wanted <= 0 and wanted != -1:
            self._send_to_group(task, name, raw, number, -wanted)
            return
        target = self._find(task, wanted) if wanted > 0 else None
        if target is None and (ended := self._ended(task.actor, wanted)):
            # As long as its parent has not asked for its end, it is still there. The
            # kernel is not asked, to which the id may be another's by now.
            self._registers.skip(task.tid, 0 if is_zombie(ended) else -errno.ESRCH)
            return
        own = target is not None and target.actor is task.actor
        if number and not own:
            self._refuse(task, name, number, f"process {wanted}")
        elif not own:
            self._ask(task)
        if target is None or (number and not own):
            # An id that nobody has is that of a process that is gone.
            refused = errno.ESRCH if target is None else errno.EPERM
            self._registers.skip(task.tid, -refused)
            return
        changes = {}
        for index, argument in enumerate(silent.args):
            if argument == "pid":
                changes[index] = target.process.pid
            elif argument == "tid":
                thread = self._find(task, signed(raw[index]))
                if thread is None or thread.process is not target.process:
                    self._registers.skip(task.tid, -errno.ESRCH)
                    return
                changes[index], target = thread.tid, thread
        if not number or name == "pidfd_open":
            self._registers.edit(task.tid, changes)
            return
        if "tid" not in silent.args:
            self._send_to_process(task, name, raw, target.process, number)
        elif self._making.make(task, raw, changes) == 0:
            self._signals.sent(target.process, number, target)

    def _send_by_descriptor(
        self, task: Task, name: str, number: int, descriptor: int
    ) -> None:
        """Let a task ask whether a process lives; it may be anybody's."""
        if number:
            self._refuse(task, name, number, "a descriptor")
            self._registers.skip(task.tid, -errno.EPERM)
            return
        target = _meant(task, descriptor)
        if not any(each.process.pid == target for each in task.actor.tasks):
            self._ask(task)

    def _send_to_process(
        self,
        task: Task,
        name: str,
        raw: Sequence[int],
        process: Process,
        number: int,
        *,
        again: bool = False,
    ) -> None:
        """Send a signal to one process, from there to the thread that is to have it."""
        changes, call, thread = {0: process.pid}, -1, None
        if name == "kill" and number and number != signal.SIGKILL:
            thread = self._signals.receiver(process, number)
            if thread is not None and task.actor.others(thread):
                # The kernel, for which all of them are stopped, would leave it to
                # whoever goes on first.
                thread.redirected.add(number)
                changes |= {1: thread.tid, 2: number}
                call = self._table.number("tgkill")
        sent = self._making.make(task, raw, changes, number=call, again=again)
        if sent == 0 and number:
            self._signals.sent(process, number, thread)

    def _send_to_group(
        self, task: Task, name: str, raw: Sequence[int], number: int, wanted: int
    ) -> None:
        """Send a signal to those processes of an actor that are in a group."""
        group = os.getpgid(task.process.pid)
        if wanted:
            group = real_group(task.actor, self._ids, wanted)
        found = members(task.actor, group)
        if not found:
            self._refuse(task, name, number, f"group {wanted}")
            self._registers.skip(task.tid, -errno.ESRCH)
            return
        # Who sends it may not live to send it to others.
        found.sort(key=lambda process: process is task.process)
        for process in found:
            last = process is found[-1]
            self._send_to_process(task, name, raw, process, number, again=not last)
            if task.ended:
                return

    def _ask(self, task: Task) -> None:
        text = f"whether another process lives, asked by {task.actor.name}"
        self._note(text, ordered=False)

    def _refuse(self, task: Task, name: str, number: int, target: str) -> None:
        text = f"{name}: {task.name} sends {_signal_name(number)} to {target}"
        self._note(text, refused=True)

    # --- how processes are run --------------------------------------------------------

    def target(self, task: Task, silent: Silent, raw: Sequence[int]) -> None:
        """Translate the id of a process that is asked about, or is to be changed.

        Nobody is changed but processes of the actor itself.
        """
        name = silent.name
        changes = "set" in name or name == "migrate_pages"
        if name == "prlimit64":
            changes = bool(raw[2])
        place = silent.args.index("pid")
        wanted = signed(raw[place])
        which = signed(raw[0]) if place else 0
        if which != _ONE_PROCESS.get(name, 0):
            # All of a group or of a user, who need not be the actor's.
            if changes:
                self._refuse_change(task, name, "others")
            return
        if not wanted:
            return
        target = self._find(task, wanted)
        if target is not None and (target.actor is task.actor or not changes):
            self._registers.edit(task.tid, {place: target.tid})
        elif changes:
            self._refuse_change(task, name, f"process {wanted}")
        else:
            self._registers.skip(task.tid, -errno.ESRCH)

    def _refuse_change(self, task: Task, name: str, whom: str) -> None:
        self._note(f"{name}: {task.name} changes {whom}", refused=True)
        self._registers.skip(task.tid, -errno.EPERM)

    # --- groups -----------------------------------------------------------------------

    def group(self, task: Task, name: str, raw: Sequence[int]) -> None:
        """Answer a call about groups and sessions."""
        skip = self._registers.skip
        if name == "setsid":
            result = self._making.make(task, raw, {})
            if result > 0:
                self._registers.finish(task.tid, self._ids.shown(result), {})
            return
        wanted = signed(raw[0]) if name != "getpgrp" else 0
        target = self._find(task, wanted) if wanted else task
        if target is None or target.actor is not task.actor:
            skip(task.tid, -errno.ESRCH)
        elif name == "getsid":
            session = os.getsid(target.process.pid)
            shown = self._ids.shown(session)
            skip(task.tid, _START if shown == session else shown)
        elif name in ("getpgid", "getpgrp"):
            group = os.getpgid(target.process.pid)
            skip(task.tid, shown_group(task.actor, self._ids, group))
        else:
            self._set_group(task, target, raw)

    def _set_group(self, task: Task, target: Task, raw: Sequence[int]) -> None:
        wanted = signed(raw[1]) or target.process.shown
        process = target.process
        if wanted == target.actor.program.pid == process.shown:
            # The actor's first process is the leader of its group from the start.
            self._registers.skip(task.tid, 0)
            return
        group = real_group(task.actor, self._ids, wanted)
        self._registers.edit(task.tid, {0: process.pid, 1: group})

    @staticmethod
    def _ended(actor: Actor, wanted: int) -> int:
        """Return the real id of an actor's process that has ended, or 0."""
        for task in reversed(actor.tasks):
            if task.process.ended and task.process.shown == wanted:
                return task.process.pid
        return 0

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


def signed(raw: int) -> int:
    """Return an argument as a C `int`."""
    return ((raw & 0xFFFFFFFF) ^ 0x80000000) - 0x80000000


def _meant(task: Task, descriptor: int) -> int:
    """Return the real id of the process that a descriptor is for, or 0."""
    path = f"/proc/{task.process.proc}/fdinfo/{descriptor & 0xFFFFFFFF}"
    try:
        with open(path, encoding="ascii") as file:
            fields = dict(line.split(":", 1) for line in file)
        return int(fields["Pid"])
    except (OSError, KeyError, ValueError):
        return 0


def _signal_number(silent: Silent, raw: Sequence[int]) -> int:
    if "signal" not in silent.args:
        return 0
    return raw[silent.args.index("signal")] & 0xFFFFFFFF


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
