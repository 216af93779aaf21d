"""A scheduler that samples orders of steps that matter, rather than orders of steps."""

from __future__ import annotations

import pickle
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple, Self

from racecheck.footprint import conflicts
from racecheck.model import EMPTY, Decision, Kind, lane_of
from racecheck.scheduling.ahead import Lesson
from racecheck.scheduling.sampling import SamplingScheduler

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from racecheck.model import Footprint, SchedulingPoint, Step


_Place = tuple[str, int, str]
"""A lane, the number of a step among its own, and the call."""


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


class _Touched:
    """What steps touched in executions before; it changes no more.

    A scheduler is sent to other processes often, and this seldom changes meanwhile. So
    it is packed once, and unpacked once there.
    """

    def __init__(self, found: dict[_Place, Footprint]) -> None:
        self.found = found

    @cached_property
    def packed(self) -> bytes:
        return pickle.dumps(self.found)

    def __reduce__(self) -> tuple[Callable[[bytes], _Touched], tuple[bytes]]:
        return _unpacked, (self.packed,)


@lru_cache(maxsize=1)
def _unpacked(packed: bytes) -> _Touched:
    return _Touched(pickle.loads(packed))  # noqa: S301  from our own process


class POSScheduler(SamplingScheduler):
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

    name = "pos"
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
        super().__init__(seed, executions=executions, first=first, stride=stride)
        self._priorities: dict[str, float] = {}
        self._waiting: dict[str, SchedulingPoint] = {}
        self._taken: dict[str, int] = {}
        self._touched = _Touched({})
        self._seen: dict[_Place, Footprint] = {}
        self._present: dict[_Place, Footprint] = {}
        # Whether the present execution is still to be learned from; whether one is that
        # went before it; and whether one is of a block before.
        self._is_open = False
        self._is_behind = False
        self._is_certain = True

    @property
    def is_certain(self) -> bool:
        """Whether it was there at the ends of all executions of the blocks before."""
        return self._is_certain

    def copied(self) -> Self:
        """Return another one that goes on by itself from the next execution on."""
        other = super().copied()
        is_behind = self._is_behind or self._is_open
        # What is not all is of no use, and takes time to be sent.
        other._seen = {} if is_behind else dict(self._seen)  # noqa: SLF001  its own
        other._is_behind = is_behind  # noqa: SLF001  its own
        other._is_open = False  # noqa: SLF001  its own
        return other

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
            self._present[lane, taken, point.call] = step.footprint
        self._priorities.pop(lane, None)
        for other in [*self._priorities]:
            if self._races(step, self._waiting[other]):
                del self._priorities[other]

    def finish_execution(self, steps: Sequence[Step]) -> None:
        """Remember what steps touched, for the executions of the next block."""
        del steps
        self.learn(self.lesson())

    def lesson(self) -> Lesson:
        """Return what the steps of the execution touched."""
        return Lesson(
            touched=tuple((*key, found) for key, found in self._present.items())
        )

    def learn(self, lesson: Lesson) -> None:
        """Remember what the steps touched."""
        self._is_open = False
        for lane, number, call, footprint in lesson.touched:
            self._seen[lane, number, call] = footprint

    def _begin_block(self) -> None:
        """Count with what steps touched so far."""
        self._touched = _Touched({**self._touched.found, **self._seen})
        self._seen = {}
        self._is_certain = not self._is_behind

    def _begin(self) -> None:
        """Give no step a priority yet."""
        self._is_open = True
        self._priorities = {}
        self._waiting = {}
        self._taken = {}
        self._present = {}

    def _races(self, step: Step, point: SchedulingPoint) -> bool:
        lane = point.actor
        place = lane, self._taken.get(lane, 0), point.call
        known = self._touched.found.get(place, EMPTY)
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
