"""The interface of everything that judges an execution."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from racecheck.model.history import Operation
    from racecheck.model.step import Step
    from racecheck.model.view import History, View


class Invariant(Protocol):
    """Something that must hold at every step, at each return, or at the end.

    Each method returns None while the invariant holds, else one line that says what
    was expected and what was found. One that raises gives `unknown`, never `passed`.
    """

    @property
    def name(self) -> str:
        """The name that verdicts, expectations and reports call it by."""
        ...

    def start(self, view: View) -> None:
        """Forget the last execution and look at the box as it is before the first."""
        ...

    def after_step(self, view: View, history: History, step: Step) -> str | None:
        """Judge the state after a step that may have changed the box."""
        ...

    def at_return(
        self, view: View, history: History, operation: Operation
    ) -> str | None:
        """Judge an operation as it ends."""
        ...

    def at_end(self, view: View, history: History) -> str | None:
        """Judge the whole execution, after every actor has ended."""
        ...
