"""No lost writes: every write without a fault of its own succeeds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from racecheck.invariants.arguments import check_name, check_who
from racecheck.invariants.excuses import is_excused
from racecheck.invariants.rules import OperationRule
from racecheck.invariants.wording import happened
from racecheck.model import Ending

if TYPE_CHECKING:
    from racecheck.model import History, Invariant, Operation


def no_lost_writes(*, role: str = "writer", name: str = "no_lost_writes") -> Invariant:
    """Require that every write without a fault of its own succeeds.

    Faults in other actors excuse nothing, nor does being held up, and neither do
    exceptions that the scenario declares: they say how a write may fail, which is not
    that it did not.

    Args:
        role: Role or actor whose operations are the writes.
        name: Name of the invariant, for a scenario that has several.

    Raises:
        ScenarioError: An argument makes no sense.
    """
    return _NoLostWrites(
        check_name(name), check_who(role, of="no_lost_writes", what="role")
    )


class _NoLostWrites(OperationRule):
    def judge(self, operation: Operation, history: History) -> str | None:
        if operation.succeeded or operation.ending is Ending.CRASHED:
            return None
        if is_excused(history, operation):
            return None
        return (
            f"expected every write without a fault to succeed, "
            f"but {happened(operation)}"
        )
