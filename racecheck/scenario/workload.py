"""Workloads: who does what to which box, and what goes wrong, without a name."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, Self

from racecheck.errors import ScenarioError
from racecheck.model import FaultKind, PlannedFault
from racecheck.scenario.actors import Declaration, Given, declare
from racecheck.scenario.operations import Script
from racecheck.scenario.scenario import Scenario

if TYPE_CHECKING:
    from racecheck.model import FaultBound, Invariant, ScenarioResult
    from racecheck.scenario.budget import Budget


class _Printer(Protocol):
    def text(self, text: str) -> None: ...


@dataclass(frozen=True, kw_only=True, repr=False)
class Workload:
    """Who does what to which box, and what goes wrong meanwhile.

    Attributes:
        actors: Who acts.
        setup: Fills the box, or None for an empty one; as in `Scenario.setup`.
        faults: What goes wrong, by plan or anywhere.
        same_pid: Whether all actors have one process id.
        budget: How long an exploration of it may go on, if it says so itself.
    """

    actors: tuple[Declaration, ...]
    setup: Callable[..., object] | None = None
    faults: tuple[PlannedFault | FaultBound, ...] = ()
    same_pid: bool = False
    budget: Budget | int | str | None = None

    @classmethod
    def of(
        cls,
        actors: Iterable[Given | Declaration],
        *,
        setup: Callable[..., object] | None = None,
        faults: Iterable[PlannedFault | FaultBound] = (),
        same_pid: bool = False,
    ) -> Workload:
        """Return the workload of actors as people list them.

        The same function listed twice is two actors. What no role was said of is an
        actor of no special role. The other arguments are the attributes.

        Raises:
            ScenarioError: One is nothing that an actor can run.
        """
        if isinstance(actors, str | Mapping) or not isinstance(actors, Iterable):
            raise ScenarioError(f"actors are a list of functions, not {actors!r}")
        return cls(
            actors=merged(
                each
                if isinstance(each, Declaration)
                else declare("actor", each, {}, anonymous="actor")
                for each in actors
            ),
            setup=setup,
            faults=tuple(faults),
            same_pid=same_pid,
        )

    def plus(
        self,
        *,
        setup: Callable[..., object] | None = None,
        faults: Iterable[PlannedFault | FaultBound] = (),
        same_pid: bool = False,
    ) -> Self:
        """Return one to which these are added.

        Raises:
            ScenarioError: It has a setup already.
        """
        if setup is not None and self.setup is not None:
            raise ScenarioError("the workload has a setup already")
        return dataclasses.replace(
            self,
            setup=setup or self.setup,
            faults=(*self.faults, *faults),
            same_pid=same_pid or self.same_pid,
        )

    def observe(self, result: ScenarioResult) -> None:
        """Take note of what came of an exploration of it; here it does nothing."""

    def count(self, role: str) -> int:
        """Return how many actors have a role."""
        return sum(each.count for each in self.actors if each.role == role)

    @property
    def operations(self) -> tuple[int, ...]:
        """How many operations each actor makes."""
        return tuple(
            _length(each) * each.repeat
            for each in self.actors
            for _ in range(each.count)
        )

    def scenario(
        self,
        name: str,
        *,
        invariants: Iterable[Invariant] = (),
        max_steps: int = 10_000,
        max_cpu_s: float = 10.0,
    ) -> Scenario:
        """Return a scenario of it; the arguments are those of `Scenario`.

        Raises:
            ScenarioError: It is not well formed.
        """
        made = Scenario(
            name,
            invariants=invariants,
            faults=self.faults,
            setup=self.setup,
            same_pid=self.same_pid,
            max_steps=max_steps,
            max_cpu_s=max_cpu_s,
            budget=self.budget,
        )
        made.declare(*self.actors)
        return made

    def _repr_pretty_(self, printer: _Printer, cycle: bool) -> None:  # noqa: FBT001  as it is called
        """Be shown by Hypothesis and notebooks as it is written."""
        del cycle
        printer.text(repr(self))

    def __repr__(self) -> str:
        parts = [", ".join(_shown(each) for each in self.actors)]
        parts[0] = f"[{parts[0]}]"
        if self.setup is not None:
            parts.append(f"setup={getattr(self.setup, '__name__', self.setup)}")
        if self.faults:
            parts.append(f"faults=[{', '.join(_fault(f) for f in self.faults)}]")
        if self.same_pid:
            parts.append("same_pid=True")
        return f"Workload.of({', '.join(parts)})"


@dataclass
class _Names:
    """Gives every declaration a name of its own."""

    taken: set[str] = field(default_factory=set)

    def give(self, name: str) -> str:
        """Return the name, with a number behind it if it is taken."""
        given, number = name, 1
        while given in self.taken:
            number += 1
            given = f"{name}.{number}"
        self.taken.add(given)
        return given


def merged(declarations: Iterable[Declaration]) -> tuple[Declaration, ...]:
    """Return declarations, equal ones counted together and all others told apart."""
    found: list[Declaration] = []
    for each in declarations:
        for index, other in enumerate(found):
            if dataclasses.replace(other, count=each.count) == each:
                found[index] = dataclasses.replace(
                    other, count=other.count + each.count
                )
                break
        else:
            found.append(each)
    names = _Names()
    return tuple(
        dataclasses.replace(each, name=names.give(each.name)) for each in found
    )


def _length(declaration: Declaration) -> int:
    subject = declaration.subject
    return len(subject.operations) if isinstance(subject, Script) else 1


def _shown(declaration: Declaration) -> str:
    subject = declaration.subject
    if isinstance(subject, Script):
        inside = ", ".join(map(repr, subject.operations))
        inside = f"[{inside}]" if len(subject.operations) > 1 else inside
    else:
        inside = declaration.name
    if declaration.count > 1:
        inside += f", count={declaration.count}"
    if declaration.repeat > 1:
        inside += f", repeat={declaration.repeat}"
    return f"{declaration.role}({inside})"


def _fault(fault: PlannedFault | FaultBound) -> str:
    """Return a fault as it is written."""
    if isinstance(fault, PlannedFault):
        return f"{fault!r}"
    kind, most = fault.fault.kind, fault.most
    match kind:
        case FaultKind.ERRNO:
            shown = f"errnos({fault.fault.errno!r}, on={fault.on!r}"
        case FaultKind.SHORT:
            shown = "short_writes("
        case FaultKind.STALL:
            shown = f"stalls({fault.fault.length}"
        case _:
            shown = "crashes("
    more = [] if most == 1 else [f"most={most}"]
    more += [f"actor={fault.actor!r}"] if fault.actor else []
    inside = ", ".join(more)
    return f"{shown}{', ' if more and not shown.endswith('(') else ''}{inside})"
