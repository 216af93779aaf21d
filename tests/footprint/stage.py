"""Runs actors in a chosen order on the real kernel and keeps all that came of it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from racecheck.engine import Execution, Machine
from racecheck.model import EMPTY, Decision, Kind, Program, Step
from tests.footprint.left import describe

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from racecheck.engine import Observer
    from racecheck.footprint import Names
    from racecheck.model import (
        Footprint,
        History,
        Operation,
        Scheduler,
        SchedulingPoint,
        View,
    )

_MAX_STEPS = 400


@dataclass(frozen=True, slots=True)
class Played:
    """What came of one execution.

    Attributes:
        steps: Its steps.
        values: What each actor's function returned.
        tree: What was left of the box: by name, which inode it is and what is in it.
        uncontrolled: What racecheck could not control.
        waiting: Who was left waiting for ever.
        unordered: What depends on the order of steps though it is no step.
    """

    steps: tuple[Step, ...]
    values: dict[str, object]
    tree: dict[str, tuple[object, ...]]
    uncontrolled: tuple[str, ...]
    waiting: tuple[str, ...] = ()
    unordered: tuple[str, ...] = ()

    @property
    def order(self) -> list[str]:
        """Who took each step."""
        return [step.actor for step in self.steps]

    def of(self, actor: str) -> list[Step]:
        """Return the steps of one actor on the box, without its ends."""
        return [
            step
            for step in self.steps
            if step.actor == actor and step.kind not in {Kind.RETURN, Kind.EXIT}
        ]


class Stage:
    """A box and actors, for executions one after the other."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._programs: list[Program] = []

    @property
    def root(self) -> str:
        """Path of the sandbox."""
        return str(self._machine.sandbox.root)

    def prepare(
        self, fill: Callable[[], object], actors: Mapping[str, Callable[[], object]]
    ) -> None:
        """Get ready for executions.

        Args:
            fill: Fills the box, which is the working directory while it does.
            actors: What each actor does, by name.
        """
        sandbox = self._machine.sandbox
        sandbox.clear()
        here = os.getcwd()
        os.chdir(sandbox.box)
        try:
            fill()
        finally:
            os.chdir(here)
        sandbox.keep_as_initial()
        self._programs = [
            Program(name=name, role="actor", pid=1001 + index, function=f, arguments={})
            for index, (name, f) in enumerate(actors.items())
        ]
        self._machine.serve(self._programs)

    def play(self, order: Sequence[str | Decision] = ()) -> Played:
        """Run one execution.

        Args:
            order: Who takes each step; after that, each actor goes on to its end.
        """
        played = self.run(Ordered(order))
        assert played is not None, "an order is never given up"
        return played

    def run(
        self,
        scheduler: Scheduler,
        *,
        reuse: bool = False,
        observer: Observer | None = None,
    ) -> Played | None:
        """Run one execution; None if the scheduler has given it up.

        Args:
            scheduler: Decides who goes next; its execution has been started.
            reuse: Whether actors may run in processes that were used before.
            observer: Looks on as well.
        """
        execution = Execution(
            self._machine,
            self._programs,
            seed=0,
            max_steps=_MAX_STEPS,
            footprints=True,
            reuse=reuse,
        )
        watcher = _Watcher(
            str(self._machine.sandbox.box), execution.names, observer or Onlooker()
        )
        execution.run(scheduler, watcher)
        if execution.given_up:
            return None
        return Played(
            tuple(execution.steps),
            {each.actor: each.value for each in execution.operations},
            watcher.tree,
            tuple(execution.uncontrolled),
            execution.waiting,
            tuple(execution.notes.unordered),
        )


class Ordered:
    """A scheduler that takes the steps in an order, and then those that are left."""

    def __init__(self, order: Sequence[str | Decision]) -> None:
        self._order = list(order)

    def start_execution(self) -> int | None:
        """Begin."""
        return 0

    def choose(
        self, enabled: Sequence[SchedulingPoint], current: str | None
    ) -> Decision:
        """Choose the next one of the order that can go on."""
        del current
        names = [point.actor for point in enabled]
        while self._order:
            wanted = self._order.pop(0)
            decision = Decision(wanted) if isinstance(wanted, str) else wanted
            if decision.actor in names:
                return decision
        return Decision(names[0])

    def record(self, step: Step) -> None:
        """Learn nothing."""

    def finish_execution(self, steps: Sequence[Step]) -> None:
        """Learn nothing."""


class Onlooker:
    """An observer that looks at nothing."""

    def start(self, view: View, history: History | None) -> None:
        """Look at nothing."""

    def on_step(self, view: View, history: History, step: Step) -> Footprint:
        """Look at nothing."""
        del view, history, step
        return EMPTY

    def on_return(
        self, view: View, history: History, operation: Operation
    ) -> Footprint:
        """Look at nothing."""
        del view, history, operation
        return EMPTY

    def keep(self) -> object:
        """Look at each step anew."""

    def resume(self, kept: object) -> None:
        """Look at each step anew."""

    def on_end(self, view: View, history: History) -> None:
        """Look at nothing."""


class _Watcher:
    """Keeps the tree that is left at the end, and lets another one look on."""

    def __init__(self, box: str, names: Names, other: Observer) -> None:
        self.tree: dict[str, tuple[object, ...]] = {}
        self._box = box
        self._names = names
        self._other = other
        self.start = other.start
        self.on_step = other.on_step
        self.on_return = other.on_return
        self.keep = other.keep
        self.resume = other.resume

    def on_end(self, view: View, history: History) -> None:
        """Keep type, mode, identity and content of everything."""
        self._other.on_end(view, history)
        root = os.path.dirname(self._box)
        for name, shown in describe(root).items():
            status = os.lstat(f"{root}/{name}")
            self.tree[name] = (self._names.find(status), *shown)
