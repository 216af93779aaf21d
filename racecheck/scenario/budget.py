"""How long an exploration may go on: a number of executions, or a time."""

from __future__ import annotations

import re
from dataclasses import dataclass

from racecheck.errors import UsageError
from racecheck.scenario.arguments import GREATEST

_TEXT = re.compile(r"(?P<number>\d+(?:\.\d+)?)(?P<unit>ms|s|m|h)?")
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_QUICK = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """A limit on an exploration; with both limits, the one reached first ends it.

    Attributes:
        seconds: Wall-clock time, or None for no limit.
        executions: Number of executions, or None for no limit.
    """

    seconds: float | None = None
    executions: int | None = None

    def __post_init__(self) -> None:
        """Refuse a budget that allows nothing, or everything."""
        if self.seconds is None and self.executions is None:
            raise UsageError("a budget needs seconds or executions, and has neither")
        if self.seconds is not None and not 0 < self.seconds < float("inf"):
            raise UsageError(f"a budget of {self.seconds!r} seconds allows nothing")
        if self.executions is not None and self.executions > GREATEST:
            raise UsageError(f"a budget is at most {GREATEST} executions")
        if self.executions is not None and self.executions < 1:
            raise UsageError(
                f"a budget of {self.executions!r} executions allows nothing"
            )

    @classmethod
    def from_value(cls, value: Budget | int | str) -> Budget:
        """Read a budget as people write it: `5000` executions, or a time as `30s`.

        Raises:
            UsageError: It is neither.
        """
        if isinstance(value, Budget):
            return value
        # Python neither writes nor reads numbers of some thousand digits.
        if isinstance(value, int) and value > GREATEST:
            return cls(executions=value)
        match = _TEXT.fullmatch(str(value).strip())
        # A bool is an int to Python, and `budget = true` is a mistake to people.
        if match is None or isinstance(value, bool):
            raise UsageError(
                f"a budget is a number of executions or a time such as '30s' or "
                f"'5m', not {value!r}"
            )
        number, unit = match["number"], match["unit"]
        if unit is not None:
            return cls(seconds=float(number) * _SECONDS[unit])
        if "." in number:
            raise UsageError(f"a budget of {value!r} needs a unit, such as '{value}s'")
        digits = number.lstrip("0")[: len(str(GREATEST)) + 1]
        return cls(executions=int(digits or "0"))

    def is_spent(self, executions: int, seconds: float) -> bool:
        """Say whether an exploration that has gone so far has to end."""
        return (self.executions is not None and executions >= self.executions) or (
            self.seconds is not None and seconds >= self.seconds
        )

    def quick(self) -> Budget:
        """Return a tenth of it, for a first look."""
        return Budget(
            seconds=None if self.seconds is None else self.seconds / _QUICK,
            executions=None
            if self.executions is None
            else max(1, self.executions // _QUICK),
        )

    def __str__(self) -> str:
        """Return it as reports show it."""
        parts = []
        if self.executions is not None:
            parts.append(f"{self.executions} executions")
        if self.seconds is not None:
            parts.append(f"{self.seconds:g} s")
        return " or ".join(parts)
