"""Executions that a scheduler is likely to ask for soon, for others to make meanwhile.

An exploration is one process's work: each execution may decide about all later ones.
But most of what comes next is known before its turn comes. So others can make it ahead,
each with a scheduler of its own. What they made of a search counts only if the
scheduler decides the same when its turn has come. Samples are given away only once all
is learned that they depend on, or where the key tells if it was. So nothing depends on
who has made what.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, Protocol, Self, cast

import msgspec

from racecheck.model import Footprint, Scheduler

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator

_MOST: Final = 32
_MOST_UNSURE: Final = 2
"""Executions in a row that depend on more, after which all do: that of two in turn."""


class Ahead(NamedTuple):
    """An execution that is likely to be asked for.

    Attributes:
        key: What tells it from all others of its exploration.
        seed: Seed of its random bytes.
        scheduler: Makes it; it has been started.
        depth: Where the scheduler goes on with those that come after it, in their
            order: the number of steps that all of them have in common, but for the last
            one. It is -1 where the scheduler makes this one alone.
    """

    key: Hashable
    seed: int
    scheduler: Scheduler
    depth: int = -1

    @property
    def is_series(self) -> bool:
        """Whether the scheduler makes more than this one."""
        return self.depth >= 0


class Lesson(msgspec.Struct, frozen=True):
    """What a scheduler that takes samples learns of one of them.

    Attributes:
        steps: How many it has.
        touched: What the steps touched: lane, number of the step among those of the
            lane, call, footprint.
        met: Which entries of a plan of faults took effect.
    """

    steps: int = 0
    touched: tuple[tuple[str, int, str, Footprint], ...] = ()
    met: tuple[int, ...] = ()


class LooksAhead(Protocol):
    """A scheduler that knows what it is likely to ask for next.

    One that takes samples has a `lesson` of the present execution once that is at its
    end. Another one that has started the same execution can `learn` that in place of
    making it: then it goes on as if it had.
    """

    @property
    def key(self) -> Hashable:
        """What tells the execution that was started from all others."""
        ...

    def ahead(self) -> Iterator[Ahead]:
        """Yield executions that come after the present one, the next first."""
        ...

    def lesson(self) -> Lesson | None:
        """Return what there was to learn; None if that takes more than a lesson."""
        ...

    def learn(self, lesson: Lesson) -> None:
        """Take in what the present execution has taught who made it, and end it."""
        ...


class TakesSamples(LooksAhead, Scheduler, Protocol):
    """A scheduler of which each execution can be made without those before it.

    Of two that have started executions with the same key, both have started the same.
    """

    @property
    def is_certain(self) -> bool:
        """Whether it has learned all that its present execution depends on."""
        ...

    def copied(self) -> Self:
        """Return another one that goes on by itself from the next execution on."""
        ...

    def alone(self) -> Scheduler:
        """Return what makes the present execution and no other, to be sent away."""
        ...


def key_of(scheduler: Scheduler) -> Hashable:
    """Return what tells a scheduler's execution from all others; None if it cannot."""
    # There are many of these questions, and to ask whether it is a `LooksAhead` takes
    # ten times as long as the answer.
    return getattr(scheduler, "key", None)


def ahead_of(scheduler: Scheduler) -> Iterator[Ahead]:
    """Yield what a scheduler is likely to ask for next; nothing if it cannot tell."""
    ahead = getattr(scheduler, "ahead", None)
    if ahead is not None:
        yield from ahead()


def lesson_of(scheduler: Scheduler) -> Lesson | None:
    """Return what there was to learn of an execution; None if a lesson cannot tell."""
    lesson = getattr(scheduler, "lesson", None)
    found: Lesson | None = None if lesson is None else lesson()
    return found


def learn(scheduler: Scheduler, lesson: Lesson) -> None:
    """Have a scheduler learn what it would have by making its present execution."""
    cast("LooksAhead", scheduler).learn(lesson)


def samples_ahead(scheduler: TakesSamples) -> Iterator[Ahead]:
    """Yield the next executions of a scheduler that takes samples.

    Those are left out that depend on what it has yet to learn.
    """
    following = scheduler.copied()
    unsure = 0
    for _ in range(_MOST):
        seed = following.start_execution()
        if seed is None:
            return
        started = following
        following = following.copied()
        if started.is_certain:
            yield Ahead(key_of(started), seed, started.alone())
            unsure = 0
            continue
        unsure += 1
        if unsure == _MOST_UNSURE:
            return
