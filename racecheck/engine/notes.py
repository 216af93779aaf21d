"""What an execution has to say against itself: what was not controlled or not ordered.

Whatever is noted here keeps an execution from being taken for more than it is.
"""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING, Final

from racecheck.model import Kind

if TYPE_CHECKING:
    from racecheck.engine.pending import Pending
    from racecheck.engine.task import Actor, Task

_GIVING_PAGES: Final = frozenset({"sendfile", "splice"})


class Notes:
    """The notes of one execution, each kept once and in order.

    Attributes:
        uncontrolled: What was not controlled or not decoded.
        unordered: What depends on the order of steps though it is no step.
        altered: Whether some of that was refused, so that what the actors did from
            there on is not what they do by themselves.
    """

    def __init__(self) -> None:
        self.uncontrolled: dict[str, None] = {}
        self.unordered: dict[str, None] = {}
        self.altered = False
        self._mapped: dict[str, dict[str, str]] = {}
        self._run: dict[str, set[str]] = {}
        self._written: dict[str, set[str]] = {}
        self._users: dict[str, str] = {}

    def add(
        self,
        text: str,
        *,
        refused: bool = False,
        ordered: bool = True,
        by: str = "",
    ) -> None:
        """Take note of something.

        Args:
            text: What it is, and whose.
            refused: Whether a call was refused because of it.
            ordered: Whether it was all in its order, and only not controlled.
            by: Which actor uses it, if that is no harm unless another does so too.
        """
        if by:
            first = self._users.setdefault(text, by)
            if first == by:
                return
            text = f"{text}, which both {first} and {by} use"
        if not ordered:
            self.unordered[text] = None
            return
        self.uncontrolled[text] = None
        self.altered = self.altered or refused

    def watch_mappings(self, task: Task, pending: Pending) -> None:
        """Take note of files that are seen by no call, and of those who change them."""
        actor = task.actor
        way = _way_to_see(task, pending)
        if way:
            seen = pending.files["fd" if "fd" in pending.files else "infd"].target
            self._mapped.setdefault(seen, {})[actor.name] = way
        if not self._mapped:
            return
        for target in pending.rewritten() & self._mapped.keys():
            for other, way in sorted(self._mapped[target].items()):
                if other != actor.name:
                    self.add(f"{other} has {way} what {actor.name} changes: {target}")

    def watch_pipes(self, actor: Actor, pending: Pending) -> None:
        """Take note of who opens a pipe that has a name, and so may share it."""
        walk = pending.walks[0] if pending.walks else None
        if walk is None or walk.status is None or not walk.target:
            return
        if stat.S_ISFIFO(walk.status.st_mode):
            self.add(f"the named pipe {walk.target}", by=actor.name)

    def watch_programs(self, actor: Actor, pending: Pending) -> None:
        """Take note of files that one runs and another opens for writing.

        The kernel lets nobody do both at a time, for as long as the file is open. What
        is open is no resource, so that these orders are not told apart.
        """
        ours, theirs = self._run, self._written
        if pending.call.row.kind is not Kind.EXEC:
            ours, theirs = theirs, ours
            try:
                flags = pending.call.number("flags")
            except KeyError:  # They are at a bad address, and nothing is opened.
                return
            if flags & os.O_ACCMODE == os.O_RDONLY:
                return
        targets = {walk.target for walk in pending.walks if walk.target}
        targets.update(file.target for file in pending.files.values())
        for target in targets:
            ours.setdefault(target, set()).add(actor.name)
            if theirs.get(target, set()) - {actor.name}:
                text = f"running {target} and opening it for writing"
                self.add(text, ordered=False)


def _way_to_see(task: Task, pending: Pending) -> str:
    """Say how a call lets its actor see a file later on without a call, or ""."""
    call, files = pending.call, pending.files
    if call.row.kind is Kind.MAP:
        return "mapped" if files else ""
    if "infd" not in files or call.row.name not in _GIVING_PAGES:
        return ""
    # Pipes and sockets take the pages of the file, and no copy of them.
    try:
        status = os.stat(f"/proc/{task.process.proc}/fd/{call.number('outfd')}")
    except OSError:
        return ""
    takes = stat.S_ISFIFO(status.st_mode) or stat.S_ISSOCK(status.st_mode)
    return "put into a pipe or a socket" if takes else ""
