"""The default scheduler: every order, and samples as well where there are many."""

from __future__ import annotations

from typing import TYPE_CHECKING

from racecheck.scheduling.dpor import DPORScheduler
from racecheck.scheduling.mixed import mixed_scheduler
from racecheck.scheduling.random_faults import RandomFaultsScheduler

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Sequence

    from racecheck.model import Decision, SchedulingPoint, Step
    from racecheck.scheduling.ahead import Ahead, Lesson

_ALONE = 100
_IN_TURN = 300
_LONG = 20_000
_SELDOM = 8


class ExhaustiveScheduler:
    """Cover every order, and take samples in between once that shows to be long.

    The search goes through the orders as a tree, leaves first, and a race that needs a
    turn near the root comes late in it. Samples come from everywhere. So every other
    execution is one from the hundredth on. What a hundred of them have not found is
    worth less, and searches that end do so within some ten thousand executions. So
    from then on only every eighth is a sample, until the search has turned out to be so
    long that nobody can expect its end: then it is every other one again.

    The search takes the tasks of one actor as one, and leaves out the orders that they
    can have among themselves. Where there are such orders, every other execution is a
    sample, in which each task is somebody of its own, and samples go on when the search
    has ended: as long as anybody wants them, since they never cover everything.

    Attributes:
        exhaustive: Executions of the search so far.
        sampled: Samples so far.
    """

    def __init__(
        self,
        seed: int = 0,
        *,
        first: int = 0,
        stride: int = 1,
        sleep_sets: bool = True,
    ) -> None:
        """Prepare.

        Args:
            seed: Seed of the executions' random bytes, and of the samples.
            first: Which share of the samples to take, from 0.
            stride: How many shares there are.
            sleep_sets: As for `DPORScheduler`.
        """
        self.exhaustive = 0
        self.sampled = 0
        self._search = DPORScheduler(seed, sleep_sets=sleep_sets)
        self._samples = RandomFaultsScheduler(
            mixed_scheduler(seed, first=first, stride=stride)
        )
        self._active: DPORScheduler | RandomFaultsScheduler = self._search

    @property
    def finished(self) -> bool:
        """Whether the search has covered everything."""
        return self._search.finished

    @property
    def blocked(self) -> int:
        """Executions of the search that were given up as repetitions."""
        return self._search.blocked

    @property
    def key(self) -> Hashable:
        """What tells the present execution from all others."""
        return self._active.key

    def ahead(self) -> Iterator[Ahead]:
        """Yield what comes next, of the search and of the samples."""
        search = self._search.ahead(started=self._active is self._search)
        samples = self._samples.ahead()
        turn = self.exhaustive + self.sampled
        while self._search.left_out or not self.finished:
            found = next(samples if self._is_sample(turn) else search, None)
            if found is None:
                break
            yield found
            turn += 1
        # One of them has no more to tell; what the other has is to come all the same.
        yield from search
        if self._search.left_out or turn >= _ALONE:
            yield from samples

    @property
    def needs_footprints(self) -> bool:
        """Whether the steps of the present execution need footprints."""
        return self._active is self._search or self._samples.needs_footprints

    def start_execution(self) -> int | None:
        """Begin an execution of the search, or a sample."""
        sample = self._is_sample(self.exhaustive + self.sampled)
        self._active = self._samples if sample else self._search
        seed = self._active.start_execution()
        if seed is not None:
            self.sampled += sample
            self.exhaustive += not sample
        return seed

    def choose(
        self, enabled: Sequence[SchedulingPoint], current: str | None
    ) -> Decision | None:
        """Let the search or the sampler decide, whose execution it is."""
        return self._active.choose(enabled, current)

    def record(self, step: Step) -> None:
        """Tell whose execution it is."""
        self._active.record(step)

    def finish_execution(self, steps: Sequence[Step]) -> None:
        """Tell whose execution it was."""
        blocked = self.blocked
        self._active.finish_execution(steps)
        self.exhaustive -= self.blocked - blocked

    def lesson(self) -> Lesson | None:
        """Return what there was to learn of a sample; None for what the search made."""
        is_sample = self._active is self._samples
        return self._samples.lesson() if is_sample else None

    def learn(self, lesson: Lesson) -> None:
        """Tell the sampler, whose execution it is."""
        self._samples.learn(lesson)

    def _is_sample(self, turn: int) -> bool:
        """Say whether an execution is a sample, by its number."""
        if self._search.left_out:
            return turn % 2 == 1 or self.finished
        if turn < _ALONE or self.finished:
            return False
        often = turn < _IN_TURN or turn >= _LONG
        return turn % (2 if often else _SELDOM) == 1


def awake_scheduler(
    seed: int, *, first: int = 0, stride: int = 1
) -> ExhaustiveScheduler:
    """Make the same without sleep sets.

    It makes some executions again that differ in nothing, and needs no rule that makes
    up for what sleeps. So it is there to check the other one.
    """
    return ExhaustiveScheduler(seed, first=first, stride=stride, sleep_sets=False)
