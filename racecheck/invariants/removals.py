"""What evictors take away, as their steps tell.

It is told by where the paths of a step led, not by how they were spelled.
"""

from __future__ import annotations

import glob
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, NamedTuple

from racecheck.invariants.actors import actors_of
from racecheck.invariants.rules import Rule
from racecheck.model import Kind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from racecheck.model import History, Place, Step, View

_REMOVING = frozenset({Kind.UNLINK, Kind.RMDIR})


class Evictions(Rule):
    """An invariant about what an evictor removes; it looks at its steps."""

    needs_calls = True

    def __init__(self, name: str, role: str) -> None:
        super().__init__(name)
        self._role = role

    def after_step(self, view: View, history: History, step: Step) -> str | None:
        """Judge the step if an evictor has taken it, and it did not fail."""
        if step.failed or step.actor not in actors_of(history, self._role):
            return None
        return self.judge(view, history, step)

    def at_end(self, view: View, history: History) -> str | None:
        """See that there is an evictor at all."""
        del view
        actors_of(history, self._role)
        return None

    def judge(self, view: View, history: History, step: Step) -> str | None:
        """Judge a step of an evictor that did not fail."""
        raise NotImplementedError


class Removal(NamedTuple):
    """Something that a step took away from where it was.

    Attributes:
        place: Where that was.
        file: Which file or folder it is; see `View.identity`.
    """

    place: Place
    file: str


def removed(view: View, step: Step) -> Iterator[Removal]:
    """Yield what a step removed, or put something else in the place of."""
    if step.kind in _REMOVING:
        yield Removal(view.places[0], view.meant[0])
    elif step.kind is Kind.RENAME and not exchanges(step):
        old, new = view.meant
        if new and new != old:
            yield Removal(view.places[1], new)


def moved(view: View, step: Step) -> Iterator[tuple[Removal, Place]]:
    """Yield what a step renamed, with where it is now."""
    if step.kind is not Kind.RENAME:
        return
    old, new = view.meant
    # Two names of one file stay as they are: rename(2).
    if old == new:
        return
    yield Removal(view.places[0], old), view.places[1]
    if exchanges(step):
        yield Removal(view.places[1], new), view.places[0]


def taken(view: View, step: Step, pattern: str) -> Iterator[tuple[str, str]]:
    """Yield path and identity of all that matched a pattern and is not there any more.

    What is in a folder is renamed with it.
    """
    for gone in removed(view, step):
        if matches(gone.place.path, pattern):
            yield gone.place.path, gone.file
    for gone, now in moved(view, step):
        path = gone.place.path
        if matches(path, pattern):
            yield path, gone.file
        depth = len(path.split("/"))
        parts = pattern.split("/")
        below = parts[depth:]
        if below and matches(path, "/".join(parts[:depth])):
            for each in view.glob("/".join([glob.escape(now.path), *below])):
                yield path + each.removeprefix(now.path), view.identity(each)


def exchanges(step: Step) -> bool:
    """Say whether a step gives each of two names what the other had."""
    return "RENAME_EXCHANGE" in str(step.args.get("flags"))


def matches(path: str, pattern: str) -> bool:
    """Say whether a path matches a pattern, in which `*` stays within one folder."""
    parts, wanted = path.split("/"), pattern.split("/")
    return len(parts) == len(wanted) and all(map(fnmatchcase, parts, wanted))
