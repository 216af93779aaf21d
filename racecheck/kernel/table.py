"""The call table by the numbers of one machine."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, TypeVar

from racecheck.kernel.numbers import names, numbers
from racecheck.kernel.rows import (
    CARRIERS,
    HARMLESS,
    QUIET,
    REFUSED,
    ROWS,
    SERVICES,
    WAITS,
    WATCHERS,
    stops,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from racecheck.kernel.rows import Row

T = TypeVar("T")


class Table:
    """The same by call number, for one machine; calls it lacks are left out.

    Attributes:
        machine: Name of the machine.
        stops: With which arguments each call that is a step has to stop.
        conditions: The same for each call that does not always stop, step or not.
        services: Calls that racecheck serves.
        refused: Error with which each refused call fails.
        carriers: Numbers of `CARRIERS`.
        watchers: Numbers of `WATCHERS`.
        waits: Numbers of `WAITS`.
        harmless: Numbers of `HARMLESS`.
    """

    def __init__(self, machine: str | None = None) -> None:
        self._numbers = numbers(machine)
        self._names = names(machine)
        self._rows: dict[int, tuple[Row, ...]] = {}
        for row in ROWS:
            if (number := self._numbers.get(row.name)) is not None:
                self._rows[number] = (*self._rows.get(number, ()), row)
        self._single = {
            number: rows[0]
            for number, rows in self._rows.items()
            if rows[0].when is None
        }
        self.stops = {
            number: stops(rows[0].name) for number, rows in self._rows.items()
        }
        quiet = {name: stops(name) for name in QUIET}
        self.conditions = {
            number: condition
            for number, condition in self._by_number(quiet).items()
            if condition is not None
        }
        self.services = self._by_number({row.name: row for row in SERVICES})
        self.refused = self._by_number(REFUSED)
        self.carriers = self._present(CARRIERS)
        self.watchers = self._present(WATCHERS)
        self.waits = self._present(WAITS)
        self.harmless = self._present(HARMLESS)

    def find(self, number: int, raw: Sequence[int]) -> Row | None:
        """Return the row for a call with these arguments.

        None means that there is none: the call is no step, or it has a command that
        racecheck does not know.
        """
        row = self._single.get(number)
        if row is not None:
            return row
        for row in self._rows.get(number, ()):
            if row.applies(raw):
                return row
        return None

    def number(self, name: str) -> int:
        """Return the number of a call that every machine has."""
        return self._numbers[name]

    def name(self, number: int) -> str:
        """Return the name of a call, or `call 999` if it has none here."""
        return self._names.get(number, f"call {number}")

    def _by_number(self, calls: Mapping[str, T]) -> dict[int, T]:
        return {
            self._numbers[name]: what
            for name, what in calls.items()
            if name in self._numbers
        }

    def _present(self, calls: Iterable[str]) -> frozenset[int]:
        return frozenset(self._numbers[name] for name in calls if name in self._numbers)


@cache
def table(machine: str | None = None) -> Table:
    """Return the table of a machine, by default of the one that this runs on."""
    return Table(machine)
