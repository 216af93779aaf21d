"""A history in another order, for those who say that the order is no matter."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from racecheck.model import ActorEnd, History, Operation, Program, Step


class Rearranged:
    """A history in which actors come one after another, the last declared one first.

    Each has done what it did. See `History`.
    """

    def __init__(self, history: History) -> None:
        """Put what has happened into another order."""
        self._history = history
        names = [program.name for program in history.programs]
        self._place = {name: -place for place, name in enumerate(names)}

    @property
    def programs(self) -> Sequence[Program]:
        """See `History.programs`."""
        return self._history.programs

    @property
    def steps(self) -> Sequence[Step]:
        """See `History.steps`."""
        steps = self._history.steps
        return sorted(steps, key=lambda step: self._place.get(step.actor, 1))

    @property
    def operations(self) -> Sequence[Operation]:
        """See `History.operations`."""
        operations = self._history.operations
        return sorted(operations, key=lambda each: self._place[each.actor])

    @property
    def ends(self) -> Sequence[ActorEnd]:
        """See `History.ends`."""
        return sorted(self._history.ends, key=lambda end: self._place[end.actor])

    def open_files(self, actor: str) -> Sequence[str]:
        """See `History.open_files`."""
        return self._history.open_files(actor)

    def live(self, role: str) -> int:
        """See `History.live`."""
        return self._history.live(role)
