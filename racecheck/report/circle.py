"""Who waits for whom in a deadlock, and the lines of code that brought it about."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from racecheck.model import lane_of
from racecheck.report.places import place_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from racecheck.model import Held, Trace
    from racecheck.report.places import Place


class Part(NamedTuple):
    """What somebody waits for, or took.

    Attributes:
        text: It in words: who, what, and at which step.
        place: Where in the program, if that is known.
    """

    text: str
    place: Place | None


def circle(trace: Trace) -> Iterator[Part]:
    """Yield who waits for what at the end of an execution, and then who took what.

    Nothing for an execution that was not recorded.
    """
    held: tuple[Held, ...] = ()
    waiting: dict[str, str] = {}
    for moment in trace.detail.moments if trace.detail is not None else ():
        held = held if moment.locks is None else moment.locks
        waiting = waiting if moment.waiting is None else moment.waiting
    for lane, what in waiting.items():
        last = [
            step.index for step in trace.steps if lane_of(step.actor, step.task) == lane
        ]
        place = place_of(trace, last[-1]) if last else None
        yield Part(f"{lane} waits in {what}", place)
    for lock in sorted(held, key=lambda lock: (lock.step, lock.lane)):
        yield Part(
            f"{lock.lane} took {lock.type} on {lock.path} at step {lock.step}",
            place_of(trace, lock.step),
        )
