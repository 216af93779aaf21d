"""What steps have changed, so that calls need not be looked up again for nothing.

A task that comes to a call has it looked up at once. Others may take steps before it
makes the call, and then its paths can mean something else: where an entry on the way
has changed, or what is found there.
"""

from __future__ import annotations

from collections import deque
from itertools import islice
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from racecheck.engine.pending import Pending
    from racecheck.engine.task import Task
    from racecheck.footprint import Walk

_MOST: Final = 64


class Changes:
    """The changes of one execution, of which the last ones are remembered.

    Attributes:
        count: How many there were.
    """

    def __init__(self) -> None:
        self.count = 0
        self._last: deque[Pending | None] = deque(maxlen=_MOST)

    def add(self, pending: Pending | None) -> None:
        """Take note of a step that may have changed something.

        Args:
            pending: The call that it was; None for what may have changed anything.
        """
        self.count += 1
        self._last.append(pending)

    def concern(self, task: Task, pending: Pending) -> bool:
        """Say whether a call may mean something else than when it was looked up.

        It is about a task's own descriptors and about the entries that its paths go
        through. Where the task shares the former with others, or a path begins at a
        folder that can be moved, nobody can tell.
        """
        since = self.count - pending.changes
        if since > len(self._last) or len(task.actor.tasks) > 1 or pending.floats:
            return True
        for change in islice(reversed(self._last), since):
            if change is None:
                return True
            for walk in pending.walks:
                if _meet(walk, change):
                    return True
        return False


def _meet(walk: Walk, change: Pending) -> bool:
    """Say whether a lookup may give something else after a call was made."""
    if walk.upward or walk.escaped or not walk.entries:
        return True
    target, folders = walk.target, walk.folders
    for file in change.files.values():
        if file.target == target or file.target in folders:
            return True
    for other in change.walks:
        if other.target and (other.target == target or other.target in folders):
            return True
        if other.parent and (
            other.parent == target or (other.parent, other.name) in walk.entries
        ):
            return True
    return False
