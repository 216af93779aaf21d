"""What evictors take away, as their steps tell."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from racecheck.invariants.actors import actors_of
from racecheck.invariants.rules import Rule
from racecheck.model import Kind

if TYPE_CHECKING:
    from racecheck.model import History, Step, View


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


def removed(step: Step) -> str | None:
    """Return the path that a step of an evictor took away, if it did."""
    if step.kind is Kind.UNLINK:
        return str(step.args["path"])
    return str(step.args["oldpath"]) if step.kind is Kind.RENAME else None


def matches(path: str, pattern: str) -> bool:
    """Say whether a path matches a pattern, in which `*` stays within one folder."""
    parts, wanted = path.split("/"), pattern.split("/")
    return len(parts) == len(wanted) and all(map(fnmatchcase, parts, wanted))
