"""The passes of the shrinker: each proposes candidates, and none of them runs any.

A candidate is a list of turns. What it leads to need not be what it says, since an
actor that meets other files takes other steps. So a pass need not be right: what it
proposes only has to be worth an execution.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, NamedTuple

from racecheck.model import Decision, FaultKind, Kind, from_lane, lane_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_DEADLY = frozenset({FaultKind.CRASH, FaultKind.TEAR})


class Turn(NamedTuple):
    """A decision, with the kind of the step that it led to."""

    decision: Decision
    kind: Kind

    @property
    def lane(self) -> str:
        """Whose turn it is."""
        return self.decision.actor


Turns = tuple[Turn, ...]


class Best(NamedTuple):
    """The simplest failing execution so far, as passes see it.

    Attributes:
        turns: Its turns.
        lanes: Who took them, in the order of the actors' declaration.
        roles: Role of each actor; two of one role may well do the same.
        broken_at: Index of the step that broke the invariant; None at the end.
        repeated: Indices of the steps that make the call of their lane's step before.
        cuts: For each lane the numbers of those of its turns that it may matter to be
            stopped before, in order.
    """

    turns: Turns
    lanes: tuple[str, ...]
    roles: Mapping[str, str]
    broken_at: int | None
    repeated: frozenset[int]
    cuts: Mapping[str, Sequence[int]]


def runs_of(turns: Sequence[Turn]) -> list[Turns]:
    """Return the turns that lanes took in a row, each run by itself."""
    return [tuple(run) for _, run in itertools.groupby(turns, lambda turn: turn.lane)]


def flat(runs: Sequence[Turns]) -> Turns:
    """Return the turns of runs, one run after the other."""
    return tuple(itertools.chain.from_iterable(runs))


def drop_faults(best: Best) -> Iterator[Turns]:
    """Let everything go well, or one thing more."""
    faulty = [i for i, turn in enumerate(best.turns) if turn.decision.fault]
    for dropped in [faulty, *([index] for index in faulty)]:
        if dropped:
            yield _without(best.turns, dropped, and_later=False)
            # An actor that was killed did nothing more. Now it does, but only when it
            # is in nobody's way.
            yield _without(best.turns, dropped, and_later=True)


def cut_tail(best: Best) -> Iterator[Turns]:
    """After the violation, let whoever broke it carry on, and the others follow."""
    if best.broken_at is None:
        return
    head = best.turns[: best.broken_at + 1]
    tail = best.turns[best.broken_at + 1 :]
    first = head[-1].lane
    order = [first, *(lane for lane in best.lanes if lane != first)]
    yield head + tuple(turn for lane in order for turn in tail if turn.lane == lane)


def set_aside(best: Best) -> Iterator[Turns]:
    """Let an actor come when all others are done, or before they begin.

    An actor cannot be left out, since it belongs to the scenario. But so it is out of
    the way of whoever reads on to the violation.
    """
    for lane in best.lanes:
        own = tuple(turn for turn in best.turns if turn.lane == lane)
        others = tuple(turn for turn in best.turns if turn.lane != lane)
        yield others + own
        yield own + others


def join_runs(best: Best) -> Iterator[Turns]:
    """Move a run next to the last or the next one of the same actor.

    Both ways are needed: with either of them alone a lost update stays at three
    switches where two are enough.
    """
    runs = runs_of(best.turns)
    for later, run in enumerate(runs):
        for earlier in range(later - 2, -1, -1):
            if runs[earlier][0].lane == run[0].lane:
                between = runs[earlier + 1 : later]
                for joined in (
                    [runs[earlier], run, *between],
                    [*between, runs[earlier], run],
                ):
                    yield flat([*runs[:earlier], *joined, *runs[later + 1 :]])
                break


def drop_repeated(best: Best) -> Iterator[Turns]:
    """Leave out what was only done again and again, all of it or one time."""
    for dropped in [best.repeated, *({index} for index in sorted(best.repeated))]:
        if dropped:
            yield tuple(
                turn for index, turn in enumerate(best.turns) if index not in dropped
            )


def stop_earlier(best: Best) -> Iterator[Turns]:
    """Leave out the end of a run that is not its actor's last.

    It may take those steps later, and nothing is gained. But where it then meets an
    error, it may not take them at all.
    """
    runs = runs_of(best.turns)
    for index, run in enumerate(runs):
        if any(later[0].lane == run[0].lane for later in runs[index + 1 :]):
            for part in (2, 4):
                shorter = run[: -(len(run) // part) or None]
                yield flat([*runs[:index], shorter, *runs[index + 1 :]])


def rename_actors(best: Best) -> Iterator[Turns]:
    """Let actors of one role change places, so that the first comes first."""
    for turns in (best.turns, *itertools.islice(set_aside(best), 0, None, 2)):
        yield _renamed(turns, best)


def swap_runs(best: Best) -> Iterator[Turns]:
    """Let a run change places with the next one."""
    runs = runs_of(best.turns)
    for index in range(len(runs) - 1):
        yield flat([*runs[:index], runs[index + 1], runs[index], *runs[index + 2 :]])


def stop_later(best: Best) -> Iterator[Turns]:
    """Let an actor go on for longer before it is stopped.

    Stopped as late as can be it stands right before the step that matters.
    """
    runs = runs_of(best.turns)
    done = dict.fromkeys(best.lanes, 0)
    for index, run in enumerate(runs):
        lane = run[0].lane
        done[lane] += len(run)
        following = (i for i in range(index + 1, len(runs)) if runs[i][0].lane == lane)
        rest = next(following, None)
        if rest is None:
            continue
        end = done[lane] + len(runs[rest])
        places = [cut for cut in best.cuts[lane] if done[lane] < cut < end]
        # Half of the way, to the next place, or a step: what matters is a guess.
        nearer = places[len(places) // 2 :][:1] + places[:1]
        for place in dict.fromkeys([*nearer, *range(done[lane] + 1, end)[:1]]):
            more = place - done[lane]
            order = list(runs)
            order[index] = run + runs[rest][:more]
            order[rest] = runs[rest][more:]
            yield flat(order)


def _without(turns: Turns, dropped: Sequence[int], *, and_later: bool) -> Turns:
    """Return turns without the faults at some of them."""
    found: list[Turn] = []
    later: list[Turn] = []
    for index, turn in enumerate(turns):
        fault = turn.decision.fault
        if fault is None or index not in dropped:
            found.append(turn)
        elif fault.kind is FaultKind.STALL:
            continue  # It is a step of its own, which is not there without it.
        else:
            deadly = fault.kind in _DEADLY
            plain = Turn(Decision(turn.lane), turn.kind)
            (later if deadly and and_later else found).append(plain)
    return (*found, *later)


def _renamed(turns: Turns, best: Best) -> Turns:
    """Name the actors of each role in the order in which they appear."""
    free: dict[str, list[str]] = {}
    for actor, role in best.roles.items():
        free.setdefault(role, []).append(actor)
    names: dict[str, str] = {}
    renamed = []
    for turn in turns:
        actor, task = from_lane(turn.lane)
        if actor not in names:
            names[actor] = free[best.roles[actor]].pop(0)
        decision = Decision(lane_of(names[actor], task), turn.decision.fault)
        renamed.append(Turn(decision, turn.kind))
    return tuple(renamed)
