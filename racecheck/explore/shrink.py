"""Shrinking: making a failing execution simpler while it still fails.

`Shrinker.shrink` is the entry point, and `Shrinker.consider` the only place where an
execution is given up for a simpler one. After Hypothesis's shrinker.
"""

from __future__ import annotations

import itertools
from collections import Counter
from typing import TYPE_CHECKING, Final

from racecheck.explore import passes
from racecheck.explore.fewest import fewest_runs
from racecheck.explore.passes import Best
from racecheck.footprint import conflicts, merge
from racecheck.model import EMPTY, Schedule, from_lane

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from racecheck.explore.passes import Turns
    from racecheck.explore.trials import Outcome, Trials
    from racecheck.model import Footprint, Step, Trace

    Key = tuple[int, int, int, int, tuple[tuple[int, int], ...], tuple[int, ...]]

EXECUTIONS: Final = 200
"""How many a shrink may take where nobody says otherwise."""

EXECUTIONS_OF_SLOW: Final = 3
"""How many where each runs into a limit of time, or of the machine."""

STEPS: Final = 50_000
"""How many steps these may have in all, so that long ones do not take for ever."""

TURNS: Final = 2_000_000
"""How many turns may be looked through for candidates, for the same reason.

It takes some seconds. A short execution ends by its tries long before."""

# The cheap ones that gain most come first, since every gain starts over.
_PASSES: Final[tuple[Callable[[Best], Iterator[Turns]], ...]] = (
    passes.drop_faults,
    passes.cut_tail,
    passes.set_aside,
    passes.join_runs,
    fewest_runs,
    passes.drop_repeated,
    passes.stop_earlier,
    passes.rename_actors,
    passes.swap_runs,
    passes.stop_later,
)


def sort_key(schedule: Schedule, actors: Sequence[str], *, preemptions: int = 0) -> Key:
    """Order schedules from simplest to most complicated.

    1. Fewer faults win: a race that needs none is another race than one that does, and
       a worse one.
    2. Then fewer context switches, because each is something that the reader has to
       keep in mind at once.
    3. Then fewer preemptions: an actor that ends or waits makes way in any case. One
       that is stopped though it could go on is what the race is made of.
    4. Then fewer steps, because there is less to read.
    5. Then actors in the order of their declaration, and
    6. longer runs first: who is stopped as late as can be is stopped right before the
       step that matters. These two make the simplest of all a single one, so that a
       failure looks the same whatever it was shrunk from.

    Args:
        schedule: The decisions.
        actors: Their names, in the order of their declaration.
        preemptions: How many of its context switches are preemptions, if that is known.
    """
    rank = {actor: index for index, actor in enumerate(actors)}
    lanes = [decision.actor for decision in schedule.decisions]
    runs = [(from_lane(lane), len([*run])) for lane, run in itertools.groupby(lanes)]
    return (
        sum(decision.fault is not None for decision in schedule.decisions),
        len(runs) - 1,
        preemptions,
        len(lanes),
        tuple((rank[actor], task) for (actor, task), _ in runs),
        tuple(-length for _, length in runs),
    )


class Shrinker:
    """Makes an execution simpler that breaks an invariant, in a number of tries.

    Attributes:
        best: The simplest that was found so far.
    """

    def __init__(
        self, trials: Trials, invariant: str, *, executions: int = EXECUTIONS
    ) -> None:
        """Begin with the simplest known execution that breaks the invariant.

        Args:
            trials: Runs candidates. What was tried for another invariant is known.
            invariant: Name of what has to stay broken, or `deadlock`.
            executions: How many executions may be made.
        """
        self._trials = trials
        self._invariant = invariant
        found = trials.outcomes[0].trace
        affordable = min(executions, STEPS // max(1, len(found.steps)))
        self._end = trials.executions + affordable
        self._turns = TURNS
        self._roles = {actor.name: actor.role for actor in found.actors}
        self._matters = _what_matters(found)
        failing = [each for each in trials.outcomes if invariant in each.broken]
        self.best = min(failing, key=self._key)

    def shrink(self) -> Trace:
        """Make it as simple as can be, and return it."""
        while any(map(self._improve, _PASSES)):
            pass
        return self.best.trace

    def consider(self, turns: Turns) -> bool:
        """Adopt what a candidate leads to if it is simpler and still fails."""
        best = self._key(self.best)
        if self._key_of(turns) >= best:
            return False
        if self._trials.executions >= self._end and not self._trials.knows(turns):
            return False
        outcome = self._trials.outcome(turns)
        # It need not have gone as it was proposed.
        if (
            outcome is None
            or self._invariant not in outcome.broken
            or self._key(outcome) >= best
        ):
            return False
        self.best = outcome
        return True

    def _improve(self, propose: Callable[[Best], Iterator[Turns]]) -> bool:
        for turns in propose(self._as_passes_see_it()):
            self._turns -= len(turns)
            if self._turns < 0:
                return False
            if self.consider(turns):
                return True
        return False

    def _key(self, outcome: Outcome) -> Key:
        return self._key_of(outcome.turns, outcome.preemptions)

    def _key_of(self, turns: Turns, preemptions: int = 0) -> Key:
        schedule = Schedule(0, tuple(turn.decision for turn in turns))
        return sort_key(schedule, tuple(self._roles), preemptions=preemptions)

    def _as_passes_see_it(self) -> Best:
        turns, trace = self.best.turns, self.best.trace
        rank = {actor: index for index, actor in enumerate(self._roles)}
        taken = Counter(turn.lane for turn in turns)
        lanes = sorted(taken, key=lambda lane: (rank[from_lane(lane)[0]], lane))
        broken_at = {each.invariant: each.step for each in trace.violations}
        return Best(
            turns=turns,
            lanes=tuple(lanes),
            roles=self._roles,
            broken_at=broken_at.get(self._invariant),
            repeated=_repeated(trace.steps),
            cuts={
                lane: [
                    number
                    for number in range(1, taken[lane])
                    if self._matters is None or number in self._matters.get(lane, ())
                ]
                for lane in lanes
            },
        )


def _repeated(steps: Sequence[Step]) -> frozenset[int]:
    """Return the steps that make the same call as the step of their lane before."""
    last: dict[tuple[str, int], Step] = {}
    repeated = set()
    for index, step in enumerate(steps):
        before = last.get((step.actor, step.task))
        if before and (before.call, before.args) == (step.call, step.args):
            repeated.add(index)
        last[step.actor, step.task] = step
    return frozenset(repeated)


def _what_matters(trace: Trace) -> dict[str, set[int]] | None:
    """Return for each lane which of its steps depend on what others do.

    To be stopped before any other step is the same as to be stopped before the next
    of these. The numbers are those of the execution that was found, and a guess for
    others. Without footprints there is no telling: None.
    """
    own: dict[str, list[Footprint]] = {}
    for decision, step in zip(trace.schedule.decisions, trace.steps, strict=True):
        own.setdefault(decision.actor, []).append(step.footprint)
    merged = {lane: merge(*footprints) for lane, footprints in own.items()}
    if all(footprint == EMPTY for footprint in merged.values()):
        return None
    matters = {}
    for lane, footprints in own.items():
        others = merge(*(merged[other] for other in own if other != lane))
        matters[lane] = {
            number
            for number, footprint in enumerate(footprints)
            if conflicts(footprint, others)
        }
    return matters
