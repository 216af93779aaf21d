"""What steps have changed, so that calls need not be looked up again for nothing.

A task that comes to a call has it looked up at once. Others may take steps before it
makes the call, and then its paths can mean something else: where an entry on the way
has changed, or what is found there.
"""

from __future__ import annotations

from collections import deque
from itertools import islice
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from racecheck.engine.pending import Pending
    from racecheck.engine.task import Task

_MOST: Final = 64


class _Change(NamedTuple):
    """What one step may have changed.

    Attributes:
        entries: Names in folders, each with the folder.
        objects: Inodes that are something else now, or others may not use any more.
        folders: Folders that these entries are in.
    """

    entries: frozenset[tuple[str, str]]
    objects: frozenset[str]
    folders: frozenset[str]


class Changes:
    """The changes of one execution, of which the last ones are remembered.

    Attributes:
        count: How many there were.
    """

    def __init__(self) -> None:
        self.count = 0
        self._last: deque[_Change | None] = deque(maxlen=_MOST)

    def add(self, pending: Pending | None) -> None:
        """Take note of a step that may have changed something.

        Args:
            pending: The call that it was; None for what may have changed anything.
        """
        self.count += 1
        if pending is None:
            self._last.append(None)
            return
        walks = pending.walks
        objects = {file.target for file in pending.files.values()}
        objects.update(walk.target for walk in walks if walk.target)
        self._last.append(
            _Change(
                frozenset((walk.parent, walk.name) for walk in walks if walk.parent),
                frozenset(objects),
                frozenset(walk.parent for walk in walks if walk.parent),
            )
        )

    def concern(self, task: Task, pending: Pending) -> bool:
        """Say whether a call may mean something else than when it was looked up.

        It is about a task's own descriptors and about the entries that its paths go
        through. Where the task shares the former with others, or a path begins at a
        folder that can be moved, nobody can tell.
        """
        since = self.count - pending.changes
        if since > len(self._last) or len(task.actor.tasks) > 1 or pending.floats:
            return True
        changes = list(islice(reversed(self._last), since))
        if None in changes:
            return True
        for walk in pending.walks:
            if walk.upward or walk.escaped or not walk.entries:
                return True
            used = {walk.target, *walk.folders}
            for change in changes:
                assert change is not None  # noqa: S101  see above
                if (
                    not change.objects.isdisjoint(used)
                    or walk.target in change.folders
                    or not change.entries.isdisjoint(walk.entries)
                ):
                    return True
        return False
