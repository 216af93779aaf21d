"""Orders of small programs: all that there are, or one that is written down."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from racecheck.model import Decision
from racecheck.scheduling import PlannedFaultsScheduler

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from racecheck.model import (
        Fault,
        PlannedFault,
        SchedulingPoint,
        Step,
        Trace,
    )
    from tests.unit.small_programs import Small


class _Numbered:
    """Follows choices by number, then takes the first; notes how many there were."""

    def __init__(self, choices: Sequence[int]) -> None:
        self._choices = choices
        self.taken: list[int] = []
        self.widths: list[int] = []

    def start_execution(self) -> int | None:
        return 0

    def choose(
        self, enabled: Sequence[SchedulingPoint], current: str | None
    ) -> Decision:
        del current
        options = [Decision(point.actor) for point in enabled]
        options += [
            Decision(point.actor, fault) for point in enabled for fault in point.faults
        ]
        index = len(self.taken)
        choice = self._choices[index] if index < len(self._choices) else 0
        self.taken.append(choice)
        self.widths.append(len(options))
        return options[choice]

    def record(self, step: Step) -> None:
        del step

    def finish_execution(self, steps: Sequence[Step]) -> None:
        del steps


def all_executions(program: Small) -> Iterator[Trace]:
    """Yield every execution of a program: each order, with each fault."""
    choices: Sequence[int] | None = ()
    while choices is not None:
        scheduler = _Numbered(choices)
        trace = program.run(scheduler)
        assert trace is not None
        yield trace
        choices = _following(scheduler.taken, scheduler.widths)


def _following(taken: Sequence[int], widths: Sequence[int]) -> Sequence[int] | None:
    for index in reversed(range(len(taken))):
        if taken[index] + 1 < widths[index]:
            return [*taken[:index], taken[index] + 1]
    return None


class _Written:
    """Follows initials of actors, then takes the first; meets faults by position."""

    def __init__(self, order: str, faults: dict[int, Fault]) -> None:
        self._order = order
        self._faults = faults
        self._index = -1

    def start_execution(self) -> int | None:
        return 7

    def choose(
        self, enabled: Sequence[SchedulingPoint], current: str | None
    ) -> Decision:
        del current
        self._index += 1
        wanted = self._order[self._index : self._index + 1]
        for point in enabled:
            if wanted and point.actor.startswith(wanted):
                return Decision(point.actor, self._faults.get(self._index))
        assert not wanted, f"{wanted} cannot go on"
        return Decision(enabled[0].actor)

    def record(self, step: Step) -> None:
        del step

    def finish_execution(self, steps: Sequence[Step]) -> None:
        del steps


def run(
    program: Small,
    order: str,
    *,
    faults: dict[int, Fault] | None = None,
    plan: Sequence[PlannedFault] = (),
) -> Trace:
    """Make the execution in which actors go on as their initials say."""
    scheduler = PlannedFaultsScheduler(_Written(order, faults or {}), plan)
    scheduler.start_execution()
    trace = program.run(scheduler, 7)
    assert trace is not None
    return trace


def order_of(trace: Trace) -> str:
    """Return the initials of who took the steps."""
    return "".join(each.actor[0] for each in trace.schedule.decisions)


def renamed(program: Small, *names: str) -> Small:
    """Give actors the names by whose initials an order can call them."""
    actors = dict(zip(names, program.actors.values(), strict=True))
    return replace(program, actors=actors)
