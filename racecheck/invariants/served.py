"""Served: whatever a reader was given is fit to be used."""

from __future__ import annotations

from typing import TYPE_CHECKING

from racecheck.errors import ScenarioError
from racecheck.invariants.arguments import check_function, check_name, check_who
from racecheck.invariants.rules import OperationRule
from racecheck.invariants.wording import complaint, happened
from racecheck.model import Ending

if TYPE_CHECKING:
    from collections.abc import Callable

    from racecheck.model import History, Invariant, Operation, View


def served(
    actor_or_role: str, check: Callable[[object], object], *, name: str = "served"
) -> Invariant:
    """Require that every value that a successful operation returned passes a check.

    Args:
        actor_or_role: Whose operations.
        check: Judges a returned value, which has to be plain data: numbers, text,
            bytes, lists, dicts. None and True mean that it is right, and anything else
            says what is wrong.
        name: Name of the invariant, for a scenario that has several.

    Raises:
        ScenarioError: An argument makes no sense.
    """
    check_function(check, of="served", what="check", takes=("a returned value",))
    return _Served(
        check_name(name), check_who(actor_or_role, of="served", what="actor"), check
    )


class _Served(OperationRule):
    def __init__(self, name: str, who: str, check: Callable[[object], object]) -> None:
        super().__init__(name, who)
        self._check = check

    def start(self, view: View) -> None:
        super().start(view)
        self.has_judged = False

    def judge(self, operation: Operation, history: History) -> str | None:
        del history
        if not operation.succeeded:
            return None
        self.has_judged = True
        if operation.ending is not Ending.RETURNED:
            raise ScenarioError(
                f"served is about returned values, but {happened(operation)}"
            )
        # A value that could not be carried over shows as something and is None.
        if operation.value is None and operation.shown not in ("", "None"):
            raise ScenarioError(
                f"served needs plain data to check, but {happened(operation)}"
            )
        wrong = complaint(self._check(operation.value), "refused")
        return wrong and (
            f"expected every returned value to pass, but {happened(operation)}: {wrong}"
        )
