"""Executions that follow one another and are made ahead, by one process."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator

    from racecheck.explore.helper import Helper
    from racecheck.explore.made import Made
    from racecheck.scheduling.ahead import Ahead

AT_ONCE: Final = 2
"""Orders that a helper has at the same time, so that it need not wait for the next."""
SAMPLES_AT_ONCE: Final = 6
"""The same for samples, once it has room for any: to look for them takes a moment."""


@dataclass(slots=True)
class Series:
    """Executions that follow one another, as far as they are made and not taken.

    Attributes:
        number: That of the order.
        key: What tells the first of them from all others.
        helper: Who makes them; None if that is done here.
        depth: As for `Ahead`.
        made: Those that are there.
        is_over: Whether no more will come.
        is_stopped: Whether the helper was asked to stop.
        skipped: How many of those to come were made here in their place.
    """

    number: int
    key: Hashable
    helper: Helper | None
    depth: int
    made: deque[Made] = field(default_factory=deque)
    is_over: bool = False
    is_stopped: bool = False
    skipped: int = 0

    @property
    def goes_on(self) -> bool:
        """Whether any of it is still to be taken."""
        return bool(self.made) or not self.is_over


def but_for_the_next(found: Iterator[Ahead]) -> Iterator[Ahead]:
    """Put the part of a search that comes next behind the one after it.

    The exploration comes to it so soon that it would have to be taken away again.
    """
    first = next(found, None)
    if first is not None and first.is_series:
        second = next(found, None)
        if second is not None:
            yield second
    if first is not None:
        yield first
    yield from found


def kind_of(key: Hashable) -> Hashable:
    """Return what the executions of one scheduler have in common."""
    return key[0] if isinstance(key, tuple) else key
