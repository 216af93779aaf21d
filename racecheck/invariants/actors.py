"""Who an invariant is about, and from when on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from racecheck.errors import ScenarioError

if TYPE_CHECKING:
    from racecheck.model import History, Operation


def actors_of(history: History, who: str) -> frozenset[str]:
    """Return the names of the actors that `who` stands for.

    It stands for the actor and for the role of that name, and for `serve-1`, `serve-2`
    where it is the `serve` that they were declared as. All of them where it is several
    of these: an invariant that judges too few is worse than one that judges too many.

    Raises:
        ScenarioError: It stands for nobody, so that nothing would ever be judged.
    """
    names = frozenset(
        program.name
        for program in history.programs
        if who in (program.name, program.role) or _is_one_of(program.name, who)
    )
    if not names:
        actors = ", ".join(program.name for program in history.programs)
        roles = ", ".join(sorted({program.role for program in history.programs}))
        raise ScenarioError(
            f"{who!r} is no actor and no role of this scenario; "
            f"actors: {actors}; roles: {roles}"
        )
    return names


def _is_one_of(name: str, declared: str) -> bool:
    base, dash, number = name.rpartition("-")
    return bool(dash) and base == declared and number.isdecimal()


class Gate:
    """Keeps an invariant from judging before somebody has succeeded.

    Attributes:
        is_open: Whether it is time to judge.
    """

    def __init__(self, after: str | None) -> None:
        self._after = after
        self.is_open = after is None

    def shut(self) -> None:
        """Wait again, as another execution begins."""
        self.is_open = self._after is None

    def opens(self, history: History, operation: Operation | None = None) -> bool:
        """Look whether the time has come just now.

        Args:
            history: What has happened so far.
            operation: The one that ends now, which need not be in the history yet.
        """
        if self._after is None or self.is_open:
            return False
        names = actors_of(history, self._after)
        ended = [*history.operations]
        if operation is not None:
            ended.append(operation)
        self.is_open = any(each.succeeded and each.actor in names for each in ended)
        return self.is_open
