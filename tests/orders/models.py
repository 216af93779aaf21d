"""Programs that are made up, in which what a step reads depends on what it finds.

A step tests variables one after the other and fails at the first that has the wrong
value, so that it has read no more than up to there; else it changes some. That is what
makes file-system calls hard to search, without the calls: thousands of programs a
minute, all of whose orders are gone through.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from racecheck.footprint import conflicts
from racecheck.model import Footprint, Kind, Resource, SchedulingPoint, Step, Write

if TYPE_CHECKING:
    import random
    from collections.abc import Mapping, Sequence

    from racecheck.scheduling import DPORScheduler

_NAMES = "ABCD"
_VARIABLES = "vwxyz"
_COUNTER = "n"
_SHAPES = (
    *((2, 2), (3, 2), (3, 3), (4, 3)),
    *((2, 1, 1), (2, 2, 1), (2, 2, 2), (3, 2, 1)) * 2,
    *((1, 1, 1, 1), (2, 1, 1, 1), (2, 2, 1, 1)),
)

Event = tuple[str, int]
"""A step: the actor that took it, and which of the actor's it is."""

Order = tuple[frozenset[tuple[Event, Event]], frozenset[Event]]
"""Pairs of dependent steps, as they came, and all steps that there were."""


class Act(NamedTuple):
    """One step of an actor.

    Attributes:
        tests: Variables that are looked at, each with the value that it must not have.
        changes: New values, unless a test fails.
        counts: Whether it also counts, as the makers of names in a folder do: who
            counts does not look.
        gives_up: Whether the actor ends where a test fails.
    """

    tests: tuple[tuple[str, int], ...]
    changes: tuple[tuple[str, int], ...]
    counts: bool
    gives_up: bool


class Model(NamedTuple):
    """A program: variables at the start, and what each actor does."""

    start: Mapping[str, int]
    actors: Mapping[str, tuple[Act, ...]]


class Taken(NamedTuple):
    """A step that was taken, and what was seen."""

    event: Event
    footprint: Footprint
    seen: tuple[int, ...]


class TooManyError(Exception):
    """There are more orders than it is worth while to go through."""


def make_model(generator: random.Random) -> Model:
    """Return a random program."""
    pick = generator.choice
    shape = list(pick(_SHAPES))
    generator.shuffle(shape)
    names = _VARIABLES[: pick((2, 3, 3, 4, 5))]
    counts = generator.random() < 0.3

    def act() -> Act:
        tests = [(pick(names), pick((0, 1))) for _ in range(pick((0, 1, 1, 2, 2, 3)))]
        if counts and generator.random() < 0.15:
            tests.append((_COUNTER, -1))
        changes = {pick(names): pick((0, 1, 1, 2)) for _ in range(pick((0, 1, 1, 2)))}
        return Act(
            tuple(tests),
            tuple(changes.items()),
            counts and generator.random() < 0.4,
            generator.random() < 0.2,
        )

    actors = {
        name: tuple(act() for _ in range(length))
        for name, length in zip(_NAMES, shape, strict=False)
    }
    return Model({name: pick((0, 0, 1)) for name in names} | {_COUNTER: 0}, actors)


class Run:
    """One execution, as far as it has gone."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.state = dict(model.start)
        self.places = dict.fromkeys(model.actors, 0)
        self.taken: list[Taken] = []

    def copied(self) -> Run:
        other = Run(self.model)
        other.state, other.places = dict(self.state), dict(self.places)
        other.taken = list(self.taken)
        return other

    @property
    def enabled(self) -> list[str]:
        return [
            name
            for name, acts in self.model.actors.items()
            if self.places[name] < len(acts)
        ]

    def take(self, name: str) -> Footprint:
        """Have an actor take its next step."""
        acts, place = self.model.actors[name], self.places[name]
        act = acts[place]
        reads: set[str] = set()
        writes: set[str] = set()
        labels: set[str] = set()
        seen = []
        failed = False
        for variable, wrong in act.tests:
            reads.add(variable)
            seen.append(self.state[variable])
            failed = self.state[variable] == wrong
            if failed:
                break
        if not failed:
            self.state.update(act.changes)
            writes.update(variable for variable, _ in act.changes)
            if act.counts:
                self.state[_COUNTER] += 1
                (writes if _COUNTER in reads else labels).add(_COUNTER)
        self.places[name] = len(acts) if failed and act.gives_up else place + 1
        footprint = Footprint(
            tuple(_resource(each) for each in sorted(reads - writes)),
            tuple(Write(_resource(each)) for each in sorted(writes))
            + tuple(Write(_resource(each), "m") for each in sorted(labels)),
        )
        self.taken.append(Taken((name, place), footprint, tuple(seen)))
        return footprint

    def order(self) -> Order:
        pairs = set()
        for index, later in enumerate(self.taken):
            for earlier in self.taken[:index]:
                if earlier.event[0] != later.event[0] and conflicts(
                    earlier.footprint, later.footprint
                ):
                    pairs.add((earlier.event, later.event))
        return frozenset(pairs), frozenset(taken.event for taken in self.taken)

    def outcome(self) -> object:
        seen = sorted((taken.event, taken.seen) for taken in self.taken)
        return tuple(sorted(self.state.items())), tuple(seen)


def _resource(variable: str) -> Resource:
    return Resource("size", variable)


def every_order(model: Model, *, most: int) -> dict[Order, object]:
    """Go through all orders; return the inequivalent ones, with what comes of each.

    Raises:
        TooManyError: There are more orders than `most`.
    """
    found: dict[Order, object] = {}
    pending = [Run(model)]
    orders = 0
    while pending:
        run = pending.pop()
        if not run.enabled:
            orders += 1
            if orders > most:
                raise TooManyError
            outcome = run.outcome()
            # Otherwise the model is none: equal orders have to be equal.
            assert found.setdefault(run.order(), outcome) == outcome
        for name in run.enabled:
            other = run.copied()
            other.take(name)
            pending.append(other)
    return found


def searched(
    model: Model, scheduler: DPORScheduler, *, carry_on: bool
) -> list[tuple[Order, object]]:
    """Return the orders that a search comes through, with what comes of each.

    Args:
        model: The program.
        scheduler: The search.
        carry_on: Whether it is told who took the last step, to go on with.
    """
    found = []
    while scheduler.start_execution() is not None:
        run = run_once(model, scheduler, carry_on=carry_on)
        if not run.enabled:
            found.append((run.order(), run.outcome()))
    return found


def run_once(model: Model, scheduler: DPORScheduler, *, carry_on: bool) -> Run:
    """Make the execution that a search has started; it may be given up."""
    run = Run(model)
    current = None
    while enabled := run.enabled:
        points = [SchedulingPoint(name, Kind.STAT, "stat") for name in enabled]
        decision = scheduler.choose(points, current if carry_on else None)
        if decision is None:
            break
        current = decision.actor
        footprint = run.take(current)
        scheduler.record(_step(len(run.taken) - 1, current, footprint))
    scheduler.finish_execution(())
    return run


def _step(index: int, actor: str, footprint: Footprint) -> Step:
    return Step(
        index=index,
        actor=actor,
        operation=0,
        call="stat",
        kind=Kind.STAT,
        args={},
        result=0,
        footprint=footprint,
    )


def wrong_with(
    every: Mapping[Order, object], found: Sequence[tuple[Order, object]]
) -> str:
    """Say what is wrong with a search that has to find each order once; or nothing."""
    orders = [order for order, _ in found]
    if len(set(orders)) < len(orders):
        return "an order was found twice"
    if missing := every.keys() - set(orders):
        return f"{len(missing)} of {len(every)} orders were not found"
    if any(every.get(order) != outcome for order, outcome in found):
        return "something else came of an order"
    return ""
