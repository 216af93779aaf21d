"""The interface of whoever looks on at an execution, such as the judge."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from racecheck.model import Footprint, History, Operation, Step, View


class Observer(Protocol):
    """Somebody who looks on: told of each step while every actor stands still."""

    def start(self, view: View, history: History | None) -> None:
        """Look at the box before the first step; history if footprints are wanted."""
        ...

    def on_step(self, view: View, history: History, step: Step) -> Footprint:
        """Look at what a step has done; return what that adds to its footprint."""
        ...

    def on_return(
        self, view: View, history: History, operation: Operation
    ) -> Footprint:
        """Look at an operation that has ended; return as `on_step` does."""
        ...

    def keep(self) -> object:
        """Return what is known of the execution so far; None if that cannot be kept."""
        ...

    def resume(self, kept: object) -> None:
        """Go on from where something was kept, be it in an execution before this."""
        ...

    def on_end(self, view: View, history: History) -> None:
        """Look at what is left when every actor has ended."""
        ...
