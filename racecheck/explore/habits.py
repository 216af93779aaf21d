"""Seeing from what actors do whether their processes keep state between executions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from racecheck.model import Kind

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from racecheck.model import Step

_MOST: Final = 1 << 17
"""How many situations are remembered: about 14 MB."""


_OF_OTHERS: Final = (Kind.CRASH, Kind.STALL)
"""What an actor does not do by itself."""
_TELLING_MORE: Final = (Kind.STAT, Kind.LISTING, Kind.MAP, Kind.EXEC, Kind.OTHER)
"""What tells more than a step shows: inode numbers, times, what is in a file."""
_NAMES: Final = ("entry", "parent", "alive", "missing", "way", "named")
"""Resources that are looked at on the way, and told of by the result."""


class StateKeptError(Exception):
    """The subject keeps state in its process, so that no process may be used twice."""


class Habits:
    """What each actor did next, by all that it had done and been told before.

    A process that begins as it did in other executions, and has had the same answers to
    the same calls, makes the same call next. If it does not, then something else has
    decided: what an earlier execution has left in its memory. Or it has been told
    something in another way, by a signal or a mapping, so that this can be a false
    alarm.

    Attributes:
        latest: The call that was made in each situation of the latest execution. Both
            are numbers that mean the same in all forks of a process.
    """

    def __init__(self) -> None:
        """Know of nothing yet."""
        self.latest: dict[int, int] = {}
        self._next: dict[int, int] = {}

    def learn(self, seed: int, steps: Sequence[Step]) -> None:
        """Take in an execution, from its beginning as far as it has come.

        Args:
            seed: Seed of its random bytes, which are an answer as well.
            steps: Its steps. Actors with further tasks are left out, since what these
                tell each other in memory cannot be seen.

        Raises:
            StateKeptError: An actor did not do what it did in the same situation.
        """
        self.latest = latest = {}
        shared = {step.actor for step in steps if step.task}
        situations: dict[str, int] = {}
        changes: dict[str, int] = {}
        for step in steps:
            actor = step.actor
            if actor in shared or step.kind in _OF_OTHERS:
                continue
            situation = situations.get(actor)
            if situation is None:
                situation = hash((actor, seed))
            latest[situation] = call = hash((step.call, *step.args.values()))
            told = hash((call, step.result, step.fault, *step.outputs.values()))
            if step.kind in _TELLING_MORE and not step.failed:
                for resource in step.footprint.reads:
                    if resource.kind not in _NAMES:
                        thing = resource.object
                        told = hash((told, thing, changes.get(thing)))
            situation = situations[actor] = hash((situation, told))
            for write in step.footprint.writes:
                thing = write.resource.object
                changes[thing] = hash((changes.get(thing), situation))
        self.agree(latest)

    def agree(self, others: Mapping[int, int]) -> None:
        """Take in what was done in an execution that another process has made.

        Args:
            others: What was the latest there.

        Raises:
            StateKeptError: An actor did not do what it did in the same situation.
        """
        known = self._next
        is_full = len(known) >= _MOST
        for situation, call in others.items():
            before = known.get(situation)
            if before is None:
                if not is_full:
                    known[situation] = call
            elif before != call:
                raise StateKeptError
