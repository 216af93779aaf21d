"""The steps of one execution as dynamic partial-order reduction sees them.

Which step happened before which is kept as bit masks: bit `i` of the past of a step
says that step `i` happened before it, or is it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from racecheck.footprint import conflicts

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from racecheck.model import Footprint


@dataclass(frozen=True, slots=True)
class Event:
    """A step, with what happened before it.

    Attributes:
        lane: Who took it.
        footprint: What it read and changed.
        past: The steps that happened before it, itself included, as a mask.
        direct: Earlier steps of others that it conflicts with, in order, without those
            that one of the others happened after.
        enabler: The step that made it possible, if another actor's did, else -1.
    """

    lane: str
    footprint: Footprint
    past: int
    direct: tuple[int, ...]
    enabler: int


class Events:
    """The events of the present execution, those of the repeated prefix included."""

    def __init__(self) -> None:
        self._events: list[Event] = []

    def __len__(self) -> int:
        return len(self._events)

    def __getitem__(self, index: int) -> Event:
        return self._events[index]

    def cut(self, length: int) -> None:
        """Forget the events from an index on."""
        del self._events[length:]

    def add(self, lane: str, footprint: Footprint, enabler: int) -> None:
        """Add the next event."""
        past = 1 << len(self._events)
        if enabler >= 0:
            past |= self._events[enabler].past
        direct = []
        # What a later one happened after need not be compared: it is in the past with
        # that one, which lies between the two, so that they are no race.
        rest = self._mask(len(self._events)) & ~past
        while rest:
            index = rest.bit_length() - 1
            other = self._events[index]
            if other.lane == lane:
                past |= other.past
            elif conflicts(other.footprint, footprint):
                past |= other.past
                direct.append(index)
            rest &= self._mask(index) & ~past
        self._events.append(
            Event(lane, footprint, past, tuple(reversed(direct)), enabler)
        )

    def races(self, index: int) -> Iterator[int]:
        """Yield the events that could change places with an event.

        They conflict with it, and nothing that happened after them happened before it.
        """
        event = self._events[index]
        for earlier in event.direct:
            if earlier == event.enabler:
                # It was not possible before.
                continue
            between = event.past & ~self._mask(earlier + 1) & ~(1 << index)
            if not self._any_after(between, earlier):
                yield earlier

    def initials(self, mask: int) -> Collection[str]:
        """Return who could take the first step of a part of the execution.

        Args:
            mask: The events of the part.
        """
        found: dict[str, None] = {}
        seen: set[str] = set()
        rest = mask
        while rest:
            index = (rest & -rest).bit_length() - 1
            rest &= rest - 1
            event = self._events[index]
            if event.lane in seen:
                continue
            seen.add(event.lane)
            if event.past & mask == 1 << index:
                found[event.lane] = None
        return found

    def not_after(self, earlier: int, index: int) -> int:
        """Return the events between two that did not happen after the first.

        The second is among them: it is what would come next without the first.
        """
        mask = 1 << index
        for between in range(earlier + 1, index):
            if not self._events[between].past >> earlier & 1:
                mask |= 1 << between
        return mask

    def before(self, start: int, index: int) -> int:
        """Return the events from a place on that happened before one, with that one."""
        return self._events[index].past & ~self._mask(start)

    def meets(self, mask: int, lane: str, footprint: Footprint) -> bool:
        """Say whether any event of a part is a lane's, or conflicts with a footprint.

        Args:
            mask: The events of the part.
            lane: The lane.
            footprint: The footprint of a step of that lane.
        """
        while mask:
            index = (mask & -mask).bit_length() - 1
            mask &= mask - 1
            event = self._events[index]
            if event.lane == lane or conflicts(event.footprint, footprint):
                return True
        return False

    def _any_after(self, mask: int, earlier: int) -> bool:
        while mask:
            index = (mask & -mask).bit_length() - 1
            mask &= mask - 1
            if self._events[index].past >> earlier & 1:
                return True
        return False

    @staticmethod
    def _mask(length: int) -> int:
        return (1 << length) - 1
