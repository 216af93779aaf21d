"""What an invariant asks of the history, which tells which orders differ for it.

The files that it looks at are noted by the view. What has happened is no file, and no
step changes it as one: that something has ended is asked of `operations`, `ends` and
`live`, and what steps there were of `steps` and `open_files`.
"""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, Any

import msgspec

from racecheck.invariants.rules import is_shipped
from racecheck.model import Operation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from racecheck.model import ActorEnd, History, Invariant, Program, Step


class Asked(IntEnum):
    """How much an invariant asks of the history; each one includes those before it."""

    NOTHING = 0
    OPERATIONS = 1
    """Which operations have ended, and in what order."""
    ENDS = 2
    """Which actors have ended, too."""
    STEPS = 3
    """Which steps there were, and in what order."""


class Asking:
    """A history that notes what is asked of it; see `History`.

    Attributes:
        asked: How much was asked.
    """

    def __init__(self, history: History) -> None:
        """Note what is asked of a history."""
        self.asked = Asked.NOTHING
        self._history = history

    @property
    def programs(self) -> Sequence[Program]:
        """See `History.programs`; these are the same in every execution."""
        return self._history.programs

    @property
    def steps(self) -> Sequence[Step]:
        """See `History.steps`."""
        self.note(Asked.STEPS)
        return self._history.steps

    @property
    def operations(self) -> Sequence[Operation]:
        """See `History.operations`."""
        self.note(Asked.OPERATIONS)
        return [self.told(operation) for operation in self._history.operations]

    @property
    def ends(self) -> Sequence[ActorEnd]:
        """See `History.ends`."""
        self.note(Asked.ENDS)
        return self._history.ends

    def open_files(self, actor: str) -> Sequence[str]:
        """See `History.open_files`."""
        self.note(Asked.STEPS)
        return self._history.open_files(actor)

    def live(self, role: str) -> int:
        """See `History.live`."""
        self.note(Asked.ENDS)
        return self._history.live(role)

    def note(self, asked: Asked) -> None:
        """Take note that so much was asked."""
        self.asked = max(self.asked, asked)

    def told(self, operation: Operation) -> Operation:
        """Return an operation that notes if it is asked for its place among steps."""
        return _Told(**msgspec.structs.asdict(operation), asking=self)


def asked_of(history: History) -> Asked:
    """Return how much was asked of a history, where that is noted."""
    return history.asked if isinstance(history, Asking) else Asked.NOTHING


def noting(history: History, invariant: Invariant) -> History:
    """Return the history that an invariant is given.

    Those that are shipped say by themselves what they depend on.
    """
    if is_shipped(invariant) and not invariant.is_noted:
        return history
    return Asking(history)


class _Told(Operation, frozen=True, eq=False):
    """An operation as an invariant is told of it.

    Its first and its last step are numbers among all steps.
    """

    asking: Asking | None = None

    def __getattribute__(self, name: str) -> Any:  # noqa: ANN401 - any attribute
        if name in _PLACES and self.asking is not None:
            self.asking.note(Asked.STEPS)
        return super().__getattribute__(name)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Operation):
            return NotImplemented
        return _fields(self) == _fields(other)

    def __hash__(self) -> int:
        return hash((self.actor, self.index))


_PLACES = frozenset({"first", "last"})
_FIELDS = tuple(field for field in Operation.__struct_fields__ if field not in _PLACES)


def _fields(operation: Operation) -> tuple[object, ...]:
    return tuple(getattr(operation, field) for field in _FIELDS)
