"""No unexpected errors: nothing goes wrong that the scenario does not speak of."""

from __future__ import annotations

from typing import TYPE_CHECKING

from racecheck.invariants.arguments import check_name
from racecheck.invariants.excuses import excuses, is_excused
from racecheck.invariants.rules import OperationRule
from racecheck.invariants.wording import ended_with, happened
from racecheck.model import Ending

if TYPE_CHECKING:
    from racecheck.model import ActorEnd, History, Invariant, Operation, View


def no_unexpected_errors(*, name: str = "no_unexpected_errors") -> Invariant:
    """Require that operations raise only what is declared, and processes end well.

    What happens in an operation with a fault of its own, or to an actor that was
    crashed, is no surprise. A command ends well where its scenario calls that success.

    Args:
        name: Name of the invariant.

    Raises:
        ScenarioError: An argument makes no sense.
    """
    return _NoUnexpectedErrors(check_name(name))


class _NoUnexpectedErrors(OperationRule):
    def judge(self, operation: Operation, history: History) -> str | None:
        if operation.expected or operation.succeeded:
            return None
        if operation.ending not in (Ending.RAISED, Ending.EXITED):
            return None
        if is_excused(history, operation):
            return None
        return (
            f"expected no error that its scenario does not declare, "
            f"but {happened(operation)}"
        )

    def at_end(self, view: View, history: History) -> str | None:
        broken = super().at_end(view, history)
        if broken is not None:
            return broken
        for end in history.ends:
            if (
                end.status != 0
                and not end.crashed
                and not _is_accounted_for(end, history)
            ):
                return (
                    f"expected each process to end with status 0, "
                    f"but {end.actor} {ended_with(end.status)}"
                )
        return None


def _is_accounted_for(end: ActorEnd, history: History) -> bool:
    """Say whether the status is the doing of racecheck, or an operation's business."""
    if any(step.actor == end.actor and excuses(step) for step in history.steps):
        return True
    return any(
        operation.actor == end.actor
        # Exited ones have been judged, and actors that hang are killed at the end.
        and operation.ending in (Ending.EXITED, Ending.CRASHED, Ending.UNFINISHED)
        for operation in history.operations
    )
