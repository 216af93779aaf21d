"""Progress: every actor that was not crashed comes to its end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from racecheck.invariants.arguments import check_name
from racecheck.invariants.completeness import unended
from racecheck.invariants.rules import Rule

if TYPE_CHECKING:
    from racecheck.model import History, Invariant, View


def progress(*, name: str = "progress") -> Invariant:
    """Require that every actor that was not crashed ends, also when others crashed.

    Args:
        name: Name of the invariant.

    Raises:
        ScenarioError: An argument makes no sense.
    """
    return _Progress(check_name(name))


class _Progress(Rule):
    def at_end(self, view: View, history: History) -> str | None:
        del view
        stuck = next(unended(history), None)
        if stuck is None:
            return None
        return f"expected every actor to end, but {stuck}"
