"""A scheduler that samples orders of steps that matter, rather than orders of steps."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Final, NamedTuple, Self

from racecheck.footprint import conflicts
from racecheck.model import EMPTY, Decision, Kind, lane_of
from racecheck.scheduling.ahead import samples_ahead
from racecheck.scheduling.numbering import (
    block_of,
    draw_seed,
    execution_numbers,
    execution_random,
)

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Sequence

    from racecheck.model import Footprint, SchedulingPoint, Step
    from racecheck.scheduling.ahead import Ahead


class _Shared(NamedTuple):
    """Something that steps of some kinds change and steps of others look at."""

    changing: frozenset[Kind]
    looking: frozenset[Kind]


_SHARED: Final = (
    # Names.
    _Shared(
        frozenset(
            {
                Kind.OPEN,
                Kind.RENAME,
                Kind.LINK,
                Kind.SYMLINK,
                Kind.UNLINK,
                Kind.RMDIR,
                Kind.MKDIR,
                Kind.MKNOD,
            }
        ),
        frozenset(
            {
                Kind.STAT,
                Kind.ACCESS,
                Kind.READLINK,
                Kind.LISTING,
                Kind.TRUNCATE,
                Kind.CHMOD,
                Kind.CHOWN,
                Kind.UTIMES,
                Kind.GETXATTR,
                Kind.SETXATTR,
                Kind.CHDIR,
                Kind.EXEC,
            }
        ),
    ),
    # Contents.
    _Shared(
        frozenset(
            {
                Kind.OPEN,
                Kind.WRITE,
                Kind.TRUNCATE,
                Kind.ALLOCATE,
                Kind.COPY,
                Kind.MAP,
            }
        ),
        frozenset({Kind.READ, Kind.SEEK, Kind.STAT, Kind.EXEC}),
    ),
    # Modes, owners, times.
    _Shared(
        frozenset({Kind.CHMOD, Kind.CHOWN, Kind.UTIMES, Kind.SETXATTR}),
        frozenset({Kind.OPEN, Kind.STAT, Kind.ACCESS, Kind.GETXATTR, Kind.EXEC}),
    ),
    # Locks.
    _Shared(
        frozenset({Kind.FLOCK, Kind.LOCK, Kind.CLOSE, Kind.EXIT, Kind.CRASH}),
        frozenset(),
    ),
)


class POSScheduler:
    """Take the pending step of highest priority, and draw anew for those it races with.

    Each step gets a random priority when an actor comes to it. After a step, those
    that wait and race with it get new ones, the others keep theirs. So two steps that
    do not race are in an order that one draw has decided, however many others come in
    between, while steps that race are in any order as likely as under a random walk.
    See Yuan, Yang and Gu, "Partial Order Aware Concurrency Sampling", CAV 2018.

    This differs from the paper in two ways:

    1. There, what a step touches is known before it is taken. Here it is known after:
       what waits is taken to touch what the same step (the actor's n-th, by the same
       call) touched when it was last taken before the block of executions
       (`numbering.block_of`). So a later execution, made alone, need not
       be the one of the exploration: its schedule repeats it, its number does not.
    2. Where that is not known either, as in the first execution, the kinds of the two
       calls decide. They say too often that steps race. With that the order is more
       like that of a random walk, which draws anew for all of them.

    Attributes:
        needs_footprints: Steps are to have footprints.
    """

    needs_footprints = True

    def __init__(
        self,
        seed: int,
        *,
        executions: int | None = None,
        first: int = 0,
        stride: int = 1,
    ) -> None:
        """Prepare the executions `first`, `first + stride`, ... below `executions`.

        Args:
            seed: Seed of the exploration.
            executions: Executions in the whole exploration; None for no limit.
            first: Number of the first execution made here.
            stride: Distance between the numbers of executions made here.
        """
        self._seed = seed
        self._numbers = execution_numbers(first, stride, executions)
        self._number = first
        self._random = execution_random("pos", seed, first)
        self._priorities: dict[str, float] = {}
        self._waiting: dict[str, SchedulingPoint] = {}
        self._taken: dict[str, int] = {}
        self._touched: dict[tuple[str, int, str], Footprint] = {}
        self._seen: dict[tuple[str, int, str], Footprint] = {}

    @property
    def key(self) -> Hashable:
        """What tells the present execution from all others."""
        return "pos", self._number

    def ahead(self) -> Iterator[Ahead]:
        """Yield the executions after the present one."""
        return samples_ahead(self)

    def copied(self) -> Self:
        """Return another one that goes on by itself from the next execution on."""
        other = copy.copy(self)
        other._numbers = copy.copy(self._numbers)  # noqa: SLF001  its own
        other._seen = dict(self._seen)  # noqa: SLF001  its own
        return other

    def start_execution(self) -> int | None:
        """Begin the next execution, or say with None that the limit is reached."""
        number = next(self._numbers, None)
        if number is None:
            return None
        if block_of(number) != block_of(self._number):
            self._touched = {**self._touched, **self._seen}
            self._seen = {}
        self._number = number
        self._random = execution_random("pos", self._seed, number)
        seed = draw_seed(self._random)
        self._priorities = {}
        self._waiting = {}
        self._taken = {}
        return seed

    def choose(
        self,
        enabled: Sequence[SchedulingPoint],
        current: str | None,  # noqa: ARG002 - priorities belong to steps, not to actors
    ) -> Decision:
        """Choose the pending step of highest priority."""
        for point in enabled:
            self._waiting[point.actor] = point
            if point.actor not in self._priorities:
                self._priorities[point.actor] = self._random.random()
        lanes = [point.actor for point in enabled]
        return Decision(max(lanes, key=self._priorities.__getitem__))

    def record(self, step: Step) -> None:
        """Take the priorities of those away that raced with a step, and its own."""
        lane = lane_of(step.actor, step.task)
        taken = self._taken.get(lane, 0)
        self._taken[lane] = taken + 1
        point = self._waiting.pop(lane, None)
        if point is not None:
            self._seen[lane, taken, point.call] = step.footprint
        self._priorities.pop(lane, None)
        for other in [*self._priorities]:
            if self._races(step, self._waiting[other]):
                del self._priorities[other]

    def finish_execution(self, steps: Sequence[Step]) -> None:
        """Learn nothing more: what steps touch was noted as they were taken."""

    def _races(self, step: Step, point: SchedulingPoint) -> bool:
        lane = point.actor
        known = self._touched.get((lane, self._taken.get(lane, 0), point.call), EMPTY)
        if EMPTY in (known, step.footprint):
            return _may_race(step, point.kind)
        return conflicts(step.footprint, known)


def _may_race(step: Step, kind: Kind) -> bool:
    """Say whether a step may race with one of a kind, be it on the same file."""
    for changing, looking in _SHARED:
        changed = step.kind in changing and not step.failed
        touched = step.kind in changing or step.kind in looking
        if (changed and kind in looking) or (touched and kind in changing):
            return True
    return False
