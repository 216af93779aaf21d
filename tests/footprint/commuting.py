"""The property that makes a footprint right, checked on random programs.

Two neighbouring steps of different actors whose footprints do not conflict are taken
in the other order, with everything before and after as it was. Then all steps must give
the same results and have the same footprints, and the same must be left.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from racecheck.footprint import conflicts, dependence
from tests.footprint.acting import act
from tests.footprint.programs import Maker, make_box

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from racecheck.model import Step
    from tests.footprint.stage import Played, Stage

_ACTORS = ("A", "B")
_PATHS = {"path", "oldpath", "newpath", "file", "oldfile", "infile", "outfile"}


@dataclass
class Count:
    """What was found out about pairs of steps.

    Attributes:
        executions: Executions made.
        independent: Pairs without a conflict, all of them tried the other way round.
        dependent: Pairs with one that were tried the other way round.
        commuting: How many of these made no difference all the same.
        kinds: Pairs without a conflict, by the kinds of the two steps.
        needed: Pairs with a conflict that did make one, by the kinds of resources.
        superfluous: Those that did not, likewise.
        wrong: Where the relation is wrong, a text each.
    """

    executions: int = 0
    independent: int = 0
    dependent: int = 0
    commuting: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    needed: Counter[str] = field(default_factory=Counter)
    superfluous: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)


def check(
    stage: Stage, seed: int, count: Count, *, pairs: int = 8, dependent: int = 0
) -> None:
    """Try some pairs of one random execution.

    Args:
        stage: Where it runs.
        seed: Which one.
        count: Where to note what was found.
        pairs: How many pairs without a conflict to try.
        dependent: How many with one.
    """
    generator = random.Random(seed)
    made = make_box(generator)
    maker = Maker(generator)
    programs = {name: maker.program(5) for name in _ACTORS}
    actors: dict[str, Callable[[], object]] = {
        name: partial(act, program) for name, program in programs.items()
    }
    stage.prepare(partial(act, made), actors)
    order = [generator.choice(_ACTORS) for _ in range(60)]
    first = stage.play(order)
    count.executions += 1
    candidates = list(range(len(first.steps) - 1))
    generator.shuffle(candidates)
    # Steps that change nothing are the most frequent and the least of a test.
    candidates.sort(key=lambda index: not _changes(first.steps[index : index + 2]))
    for index in candidates:
        one, other = first.steps[index : index + 2]
        if one.actor == other.actor or _is_end(one, other):
            continue
        conflict = conflicts(one.footprint, other.footprint)
        assert conflict == conflicts(other.footprint, one.footprint)
        shared = dependence(one.footprint, other.footprint)
        assert conflict == bool(shared)
        if conflict and dependent > 0:
            dependent -= 1
        elif not conflict and pairs > 0 and _related(one, other):
            pairs -= 1
        else:
            continue
        swapped = first.order
        swapped[index : index + 2] = swapped[index + 1], swapped[index]
        second = stage.play(swapped)
        count.executions += 1
        if first.uncontrolled or second.uncontrolled:
            # Where a call is refused since it leads outside, all promises end.
            continue
        found = difference(first, second)
        if conflict:
            count.dependent += 1
            count.commuting += not found
            resources = " ".join(sorted({resource.kind for resource in shared}))
            (count.needed if found else count.superfluous)[resources] += 1
        else:
            count.independent += 1
            count.kinds[" | ".join(sorted((one.kind.value, other.kind.value)))] += 1
            if found:
                where = f"seed {seed}, box {made}, {programs}"
                count.wrong.append(f"{where}\n{_show(one)}\n{_show(other)}\n{found}")


def difference(first: Played, second: Played) -> str:
    """Say how two executions of the same programs differ, empty if they do not."""
    for actor in _ACTORS:
        ours, theirs = (
            [step for step in played.steps if step.actor == actor]
            for played in (first, second)
        )
        for one, other in zip(ours, theirs, strict=False):
            if _seen(one) != _seen(other):
                return f"{actor}: {one} {one.outputs}, then {other} {other.outputs}"
            if one.footprint != other.footprint:
                return f"{actor}: {_show(one)}, then {_show(other)}"
        if len(ours) != len(theirs):
            return f"{actor} took {len(ours)} steps, then {len(theirs)}"
    if first.values != second.values:
        return f"returned {first.values}, then {second.values}"
    if first.tree != second.tree:
        return f"left {first.tree}, then {second.tree}"
    return ""


def _seen(step: Step) -> tuple[object, ...]:
    """Return what a step did, without the paths that it is shown with.

    Those say where a folder is at the moment, which the actor does not see.
    """
    args = {name: value for name, value in step.args.items() if name not in _PATHS}
    return step.call, args, step.result, step.outputs


def _is_end(*steps: Step) -> bool:
    return any(step.call in {"return", "exit_group"} for step in steps)


def _changes(steps: Sequence[Step]) -> bool:
    return any(step.footprint.writes for step in steps)


def _related(one: Step, other: Step) -> bool:
    """Say whether there is anything that both steps touch, besides the way there."""
    return bool(_objects(one) & _objects(other))


def _objects(step: Step) -> set[str]:
    touched = step.footprint.index.touched
    return {each.object for each in touched if each.object != "$SANDBOX"}


def _show(step: Step) -> str:
    reads = ", ".join(str(read) for read in step.footprint.reads)
    writes = ", ".join(f"{w.resource} [{w.label}]" for w in step.footprint.writes)
    return f"{step.actor}: {step} reads {reads}; changes {writes}"
