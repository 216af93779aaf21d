"""Programs that look again and again until something has changed.

Such a program is always able to go on, so that nobody else need ever have a turn, and
no time ever passes. Therefore who has looked for a while in vain is held up: until
another changes something, or, where nobody else can go on, for some virtual time that
doubles each time. So polling programs are let wait as if they slept in between, by
every scheduler, and their time limits come; what they look at is never out of date.

All of this follows from the steps, so that equal schedules give equal pauses.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from racecheck.model import Kind

if TYPE_CHECKING:
    from racecheck.engine.pending import Pending
    from racecheck.model import Step

IN_VAIN: Final = 20
"""Steps that tell nothing new, in a row, after which a task is held up."""

_SILENT: Final = 1000
"""The same for what is no step: asking for the time."""

_AGAIN: Final = 20
"""How many more of those there may be after each pause, so that few who have seen what
they waited for are held up once more."""

_FIRST_NS: Final = 1_000_000
_LONGEST_NS: Final = 3600 * 1_000_000_000

_LOOKS: Final = frozenset(
    {
        Kind.READ,
        Kind.SEEK,
        Kind.DUP,
        Kind.STAT,
        Kind.ACCESS,
        Kind.READLINK,
        Kind.LISTING,
        Kind.SYNC,
        Kind.GETXATTR,
        Kind.CHDIR,
        Kind.GETCWD,
    }
)
"""Kinds that change nothing for anybody else."""

_LOCKING: Final = frozenset({Kind.FLOCK, Kind.LOCK, Kind.CLOSE})
_NOTHING: Final = frozenset({Kind.WAKE, Kind.STALL})


class Patience:
    """How long somebody looks in vain before being held up, and for how long then.

    Attributes:
        looks: Looks in vain, in a row.
        pauses: How often that has led to a pause.
    """

    __slots__ = ("looks", "pauses")

    def __init__(self) -> None:
        self.looks = 0
        self.pauses = 0

    def lose(self, most: int = _SILENT, again: int = _AGAIN) -> bool:
        """Count a look in vain; say whether it is time for a pause.

        Args:
            most: How many there may be before the first pause.
            again: How many more there may be after each pause.
        """
        self.looks += 1
        if self.looks < most:
            return False
        self.looks = most - again
        return True

    def pause(self) -> int:
        """Return for how many ns to hold up who has looked in vain."""
        self.pauses += 1
        return min(_FIRST_NS << (self.pauses - 1), _LONGEST_NS)


class _Lane:
    """What one task has looked at since anything changed."""

    __slots__ = ("patience", "seen")

    def __init__(self) -> None:
        self.patience = Patience()
        self.seen: set[object] = set()


class Spinning:
    """Who spins, in one execution.

    Attributes:
        quiet: Steps since one of a kind that always changes something.
        happened: Whether anybody was held up so far.
    """

    def __init__(self) -> None:
        self.quiet = 0
        self.happened = False
        self._lanes: dict[str, _Lane] = {}
        self._reads: dict[tuple[str, int], int] = {}

    def patience(self, lane: str) -> Patience:
        """Return that of a task whose last step was in vain."""
        return self._lanes[lane].patience

    def change(self) -> None:
        """Take note of a step that changed something, and begin anew."""
        self.quiet = 0
        self._lanes.clear()

    def took(self, lane: str, step: Step, pending: Pending | None) -> bool:
        """Look at a step for which it has been quiet long enough.

        Args:
            lane: Who took it.
            step: The step.
            pending: The call that it was, if it was one.

        Returns:
            Whether it tells nothing new, for the last of so many times that the task is
            to be held up.
        """
        if step.kind in _NOTHING:
            return False
        locking = False
        if step.result >= 0 and step.kind not in _LOOKS:
            locking = _is_locking(step, pending)
            if not (locking or _is_look(step, pending)):
                self.change()
                return False
        spin = self._lanes.setdefault(lane, _Lane())
        key = self._key(lane, step)
        if key in spin.seen:
            return self._lose(spin)
        spin.seen.add(key)
        spin.patience.looks = 0
        if locking:
            # Whoever takes a lock and lets it go, only to look at something, does so
            # over and over. That changes nothing for others but the first time.
            self.change()
            self._lanes[lane] = spin
        return False

    @staticmethod
    def _lose(spin: _Lane) -> bool:
        # It may look at many things in turn: all of them twice, and once more after
        # each pause.
        many = len(spin.seen)
        return spin.patience.lose(max(IN_VAIN, 2 * many), many)

    def _key(self, lane: str, step: Step) -> object:
        """Return what is equal for two steps if the second tells nothing new."""
        place = 0
        number = step.args.get("fd")
        if step.kind is Kind.OPEN and not step.failed:
            self._reads[lane, step.result] = 0
        elif step.kind is Kind.SEEK and isinstance(number, int):
            self._reads[lane, number] = 0
        elif step.kind in {Kind.READ, Kind.LISTING} and isinstance(number, int):
            # A file of zeros is read in equal pieces, each of which is another.
            place = self._reads.get((lane, number), 0)
            self._reads[lane, number] = place + bool(step.result)
        values = (*step.args.values(), *step.outputs.values())
        return (step.call, step.result, place, *values)


def _is_look(step: Step, pending: Pending | None) -> bool:
    """Say whether a step that succeeded has changed nothing for anybody else."""
    if step.kind is Kind.CLOSE:
        return True
    if step.kind is not Kind.OPEN or pending is None or not pending.walks:
        return False
    status = pending.walks[0].status
    if status is None:
        return False
    return not (status.st_size and pending.call.number("flags") & os.O_TRUNC)


def _is_locking(step: Step, pending: Pending | None) -> bool:
    """Say whether a step that succeeded has taken a lock, or let one go."""
    if step.kind not in _LOCKING or pending is None:
        return False
    return any(file.locked for file in pending.files.values())
