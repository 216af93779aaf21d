"""Clean failure: a write that fails leaves everything as if it had not been tried."""

from __future__ import annotations

from typing import TYPE_CHECKING

from racecheck.invariants.actors import actors_of
from racecheck.invariants.arguments import (
    check_name,
    check_path,
    check_pattern,
    check_who,
)
from racecheck.invariants.rules import Rule
from racecheck.invariants.steps import may_have_changed
from racecheck.invariants.wording import happened
from racecheck.model import Ending

if TYPE_CHECKING:
    from racecheck.model import History, Invariant, Operation, Step, View


def clean_failure(
    path: str, temps: str, *, role: str = "writer", name: str = "clean_failure"
) -> Invariant:
    """Require that a failed write has not changed a path, and leaves no temp file.

    What others did to the path meanwhile is theirs, as are files that others made. An
    operation that was crashed has no chance to clean up, and is left out.

    Args:
        path: Path in the box that is written to.
        temps: What temporary files are called; `*` stays within one folder.
        role: Role or actor whose operations are the writes.
        name: Name of the invariant, for a scenario that has several.

    Raises:
        ScenarioError: An argument makes no sense.
    """
    of = "clean_failure"
    return _CleanFailure(
        check_name(name),
        path=check_path(path, of=of),
        temps=check_pattern(temps, of=of),
        role=check_who(role, of=of, what="role"),
    )


class _CleanFailure(Rule):
    # A failure is to blame for its own steps and for no others'.
    needs_calls = True

    def __init__(self, name: str, *, path: str, temps: str, role: str) -> None:
        super().__init__(name)
        self._path = path
        self._temps = temps
        self._role = role
        self._last: tuple[str, bytes | None] = ("", None)
        self._changed: dict[tuple[str, int], str] = {}

    def start(self, view: View) -> None:
        self._changed.clear()
        self._last = self._look(view)

    def after_step(self, view: View, history: History, step: Step) -> str | None:
        del history
        if may_have_changed(step):
            now = self._look(view)
            if now != self._last:
                # The first change is the one that somebody will want to see.
                self._changed.setdefault((step.actor, step.operation), str(step))
            self._last = now
        return None

    def at_return(
        self, view: View, history: History, operation: Operation
    ) -> str | None:
        if operation.succeeded or operation.actor not in actors_of(history, self._role):
            return None
        if operation.ending in (Ending.CRASHED, Ending.UNFINISHED):
            return None
        changed = self._changed.get((operation.actor, operation.index))
        if changed is not None:
            return (
                f"expected a failed write to leave {self._path!r} alone, but "
                f"{happened(operation)} after {changed}"
            )
        left = [
            path
            for path in view.glob(self._temps)
            if view.maker(path) == operation.actor
        ]
        if left:
            return (
                f"expected a failed write to leave no temporary file, but "
                f"{happened(operation)} and left {', '.join(left)}"
            )
        return None

    def _look(self, view: View) -> tuple[str, bytes | None]:
        return view.identity(self._path), view.read(self._path)
