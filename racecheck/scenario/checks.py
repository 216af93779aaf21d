"""What is checked of a scenario's own values, each refused in one line."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from racecheck.errors import ScenarioError, UsageError
from racecheck.invariants import Judge, no_unexpected_errors, progress
from racecheck.model import FaultBound, PlannedFault
from racecheck.scenario.arguments import GREATEST, meant

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from racecheck.model import Invariant

ENGINES = ("process", "simulated", "stress")
"""Names of the engines that can run a scenario."""

DEADLOCK = "deadlock"
"""What a scenario expects that ends with actors waiting for each other."""


@contextmanager
def about(name: str) -> Iterator[None]:
    """Put the name of a scenario in front of what is wrong with it."""
    try:
        yield
    except UsageError as error:
        raise ScenarioError(f"{name}: {error}") from None


def invariants_of(values: Iterable[Invariant]) -> tuple[Invariant, ...]:
    """Return a scenario's invariants, with those that hold for every scenario.

    Whatever a scenario is about, an actor that hangs or fails unawares makes its pass
    worthless, so that these two are judged even where nobody asked for it.

    Raises:
        ScenarioError: One of them is none, or two have one name.
    """
    invariants = tuple(values)
    Judge(invariants)  # Refuses what it could not ask.
    names = {each.name for each in invariants}
    implied = (no_unexpected_errors(), progress())
    return (*invariants, *(each for each in implied if each.name not in names))


def faults_of(
    values: Iterable[PlannedFault | FaultBound],
) -> tuple[PlannedFault | FaultBound, ...]:
    """Return a scenario's faults, planned ones and those that come anywhere.

    Raises:
        ScenarioError: One of them is none.
    """
    faults = tuple(values)
    for fault in faults:
        if not isinstance(fault, PlannedFault | FaultBound):
            raise ScenarioError(f"{fault!r} is no fault")
    return faults


def check_fault_actors(
    faults: Iterable[PlannedFault | FaultBound], actors: Collection[str]
) -> None:
    """Refuse a fault of an actor that there is none of.

    Raises:
        ScenarioError: There is such a fault.
    """
    for fault in faults:
        anybody = isinstance(fault, FaultBound) and not fault.actor
        if not anybody and fault.actor not in actors:
            raise ScenarioError(
                f"{fault.fault} is planned for {fault.actor!r}, which is "
                f"no actor{meant(fault.actor, actors)}; actors: {', '.join(actors)}"
            )


def check_expect(expect: Collection[str], invariants: Iterable[Invariant]) -> None:
    """Refuse an expectation that nothing could ever meet.

    Raises:
        ScenarioError: A name is that of no invariant, nor `deadlock`.
    """
    known = [*(each.name for each in invariants), DEADLOCK]
    for name in sorted(expect):
        if name not in known:
            raise ScenarioError(
                f"expects {name!r}, which is none of its invariants"
                f"{meant(name, known)}; it has: {', '.join(known)}"
            )


def check_engine(engine: object) -> None:
    """Refuse what is no engine.

    Raises:
        ScenarioError: There is none of that name.
    """
    if engine not in ENGINES:
        raise ScenarioError(f"an engine is one of {', '.join(ENGINES)}, not {engine!r}")


def check_limit(option: str, value: object) -> None:
    """Refuse a limit that is no positive number, or one that nothing could keep.

    Raises:
        ScenarioError: It is none.
    """
    if isinstance(value, bool) or not isinstance(value, int | float) or value <= 0:
        raise ScenarioError(f"{option} is more than 0, not {value!r}")
    if not value <= GREATEST:  # Which holds for what is no number at all, too.
        raise ScenarioError(f"{option} is at most {GREATEST}")
