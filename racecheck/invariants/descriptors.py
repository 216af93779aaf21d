"""No leaked descriptors: an operation closes what it has opened."""

from __future__ import annotations

from typing import TYPE_CHECKING

from racecheck.invariants.actors import actors_of
from racecheck.invariants.arguments import check_name, check_who
from racecheck.invariants.rules import Rule
from racecheck.invariants.wording import amount, happened
from racecheck.model import Ending

if TYPE_CHECKING:
    from racecheck.model import History, Invariant, Operation, View


def no_leaked_descriptors(
    *, who: str | None = None, name: str = "no_leaked_descriptors"
) -> Invariant:
    """Require that no file of the box is open once an operation has ended.

    Args:
        who: Actor or role that it is about; None means everybody.
        name: Name of the invariant.

    Raises:
        ScenarioError: An argument makes no sense.
    """
    if who is not None:
        check_who(who, of="no_leaked_descriptors", what="who")
    return _NoLeakedDescriptors(check_name(name), who)


class _NoLeakedDescriptors(Rule):
    def __init__(self, name: str, who: str | None) -> None:
        super().__init__(name)
        self._who = who

    def at_return(
        self, view: View, history: History, operation: Operation
    ) -> str | None:
        del view
        if operation.ending not in (Ending.RETURNED, Ending.RAISED):
            return None
        if self._who is not None and operation.actor not in actors_of(
            history, self._who
        ):
            return None
        left = history.open_files(operation.actor)
        if not left:
            return None
        return (
            f"expected no open file after an operation, but {happened(operation)} with "
            f"{amount(len(left), 'descriptor')} open: {', '.join(left)}"
        )
