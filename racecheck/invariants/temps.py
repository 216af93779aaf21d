"""Temporary files bounded: no more litter than live writers and crashes explain."""

from __future__ import annotations

from typing import TYPE_CHECKING

from racecheck.errors import ScenarioError
from racecheck.invariants.arguments import (
    check_count,
    check_name,
    check_pattern,
    check_who,
)
from racecheck.invariants.rules import Rule
from racecheck.invariants.steps import may_have_changed
from racecheck.invariants.wording import amount
from racecheck.model import Ending, Kind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from racecheck.model import History, Invariant, Operation, Step, View


def temp_files_bounded(
    pattern: str,
    *,
    per_crash: int = 1,
    per_writer: int = 1,
    role: str = "writer",
    name: str = "temp_files_bounded",
) -> Invariant:
    """Require that temporary files belong to live writers, or to crashed ones.

    At each step there may be `per_writer` for each live writer and `per_crash` for each
    that was crashed; after the end only the latter. A writer that failed, or that died
    without help, has to have cleaned up.

    Args:
        pattern: What temporary files are called; `*` stays within one folder.
        per_crash: How many a crash may leave behind.
        per_writer: How many a live writer may have.
        role: Role of the actors that make them.
        name: Name of the invariant, for a scenario that has several.

    Raises:
        ScenarioError: An argument makes no sense.
    """
    of = "temp_files_bounded"
    return _TempFilesBounded(
        check_name(name),
        pattern=check_pattern(pattern, of=of),
        per_crash=check_count(per_crash, of=of, what="per_crash"),
        per_writer=check_count(per_writer, of=of, what="per_writer"),
        role=check_who(role, of=of, what="role"),
    )


class _TempFilesBounded(Rule):
    def __init__(
        self, name: str, *, pattern: str, per_crash: int, per_writer: int, role: str
    ) -> None:
        super().__init__(name)
        self._pattern = pattern
        self._per_crash = per_crash
        self._per_writer = per_writer
        self._role = role

    def after_step(self, view: View, history: History, step: Step) -> str | None:
        # The end of a writer changes no file, but what is left of it is litter then.
        if not may_have_changed(step) and step.kind is not Kind.EXIT:
            return None
        return self._judge(view, history, history.live(self._role))

    def at_return(
        self, view: View, history: History, operation: Operation
    ) -> str | None:
        # A process that dies between two steps makes none of its death.
        if operation.ending is Ending.RETURNED:
            return None
        return self._judge(view, history, history.live(self._role))

    def at_end(self, view: View, history: History) -> str | None:
        # A writer that hangs is alive for ever, which is for `progress` to say.
        hanging = {
            operation.actor
            for operation in history.operations
            if operation.ending is Ending.UNFINISHED
        }
        return self._judge(view, history, len(hanging & self._writers(history)))

    def margins(self, view: View, history: History) -> Mapping[str, int]:
        """Return what is left of each writer's share; see `racecheck.invariants.watch`.

        A file counts for who made it, and for nobody if it was there at the start.
        """
        ended = {end.actor for end in history.ends}
        crashed = {end.actor for end in history.ends if end.crashed}
        shares = {"": 0}
        for writer in self._writers(history):
            live = self._per_writer if writer not in ended else 0
            shares[writer] = live + self._per_crash * (writer in crashed)
        for path in view.glob(self._pattern):
            maker = view.maker(path)
            shares[maker if maker in shares else ""] -= 1
        return shares

    def _bound(self, history: History, live: int) -> int:
        return live * self._per_writer + self._crashes(history) * self._per_crash

    def _crashes(self, history: History) -> int:
        writers = self._writers(history)
        return sum(end.crashed and end.actor in writers for end in history.ends)

    def _judge(self, view: View, history: History, live: int) -> str | None:
        crashes = self._crashes(history)
        bound = self._bound(history, live)
        found = view.glob(self._pattern)
        if len(found) <= bound:
            return None
        return (
            f"expected at most {amount(bound, 'temporary file')} "
            f"({self._per_writer} each for {amount(live, f'live {self._role}')}, "
            f"{self._per_crash} each for {amount(crashes, 'crash')}), "
            f"but found {len(found)}: {', '.join(found)}"
        )

    def _writers(self, history: History) -> set[str]:
        writers = {
            program.name for program in history.programs if program.role == self._role
        }
        if not writers:
            roles = sorted({program.role for program in history.programs})
            raise ScenarioError(
                f"{self._role!r} is no role of this scenario; roles: {', '.join(roles)}"
            )
        return writers
