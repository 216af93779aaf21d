"""Looking for a known kind of race in an execution."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

    from racecheck.model import Trace
    from racecheck.report.diagnosis.diagnosis import Diagnosis

    Pattern = Callable[[Trace, str], Diagnosis | None]
    """Given an execution and the invariant it breaks, the diagnosis if it fits."""

PATTERNS: Final[tuple[Pattern, ...]] = ()
"""The kinds of race that are known, the most special first."""


def diagnose(trace: Trace, invariant: str) -> Diagnosis | None:
    """Return what kind of race an execution shows, or None if it is none that is known.

    Args:
        trace: The execution, with footprints.
        invariant: Name of the invariant that it breaks, or `deadlock`.
    """
    for pattern in PATTERNS:
        found = pattern(trace, invariant)
        if found is not None:
            return found
    return None
