"""Executions that a scheduler is likely to ask for soon, for others to make meanwhile.

An exploration is one process's work: each execution may decide about all later ones.
But most of what comes next is known before its turn comes. So others can make it ahead,
each with a scheduler of its own. What they made counts only if the scheduler decides
the same when its turn has come: nothing depends on who has made what.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol, Self

from racecheck.model import Scheduler

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator

_MOST: int = 32


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


class LooksAhead(Protocol):
    """A scheduler that knows what it is likely to ask for next."""

    @property
    def key(self) -> Hashable:
        """What tells the execution that was started from all others."""
        ...

    def ahead(self) -> Iterator[Ahead]:
        """Yield executions that come after the present one, the next first."""
        ...


class TakesSamples(LooksAhead, Scheduler, Protocol):
    """A scheduler of which each execution can be made without those before it."""

    def copied(self) -> Self:
        """Return another one that goes on by itself from the next execution on."""
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


def samples_ahead(scheduler: TakesSamples) -> Iterator[Ahead]:
    """Yield the next executions of a scheduler that takes samples.

    What it has yet to learn from those in between is missing.
    """
    following = scheduler.copied()
    for _ in range(_MOST):
        seed = following.start_execution()
        if seed is None:
            return
        started = following
        following = following.copied()
        yield Ahead(key_of(started), seed, started)
