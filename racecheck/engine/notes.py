"""What an execution has to say against itself: what was not controlled or not ordered.

Whatever is noted here keeps an execution from being taken for more than it is.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from racecheck.model import Kind

if TYPE_CHECKING:
    from racecheck.engine.pending import Pending
    from racecheck.engine.task import Actor


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
        self._mapped: dict[str, set[str]] = {}
        self._run: dict[str, set[str]] = {}
        self._written: dict[str, set[str]] = {}

    def add(self, text: str, *, refused: bool = False, ordered: bool = True) -> None:
        """Take note of something.

        Args:
            text: What it is, and whose.
            refused: Whether a call was refused because of it.
            ordered: Whether it was all in its order, and only not controlled.
        """
        if not ordered:
            self.unordered[text] = None
            return
        self.uncontrolled[text] = None
        self.altered = self.altered or refused

    def watch_mappings(self, actor: Actor, pending: Pending) -> None:
        """Take note of mapped files, and of those who write to what others see so."""
        if pending.call.row.kind is Kind.MAP:
            for file in pending.files.values():
                self._mapped.setdefault(file.target, set()).add(actor.name)
            return
        if not self._mapped:
            return
        for target in pending.rewritten() & self._mapped.keys():
            for other in sorted(self._mapped[target] - {actor.name}):
                self.add(f"{other} has mapped what {actor.name} changes: {target}")

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
