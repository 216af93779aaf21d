"""Looking for a known kind of race in an execution.

An execution often fits more than one kind: who shares a temporary file also acts on a
name after a check. The order of `PATTERNS` says which is told. First come those that
need the most to be true and whose repair ends the others as well, last the most
general.

1. A lock that excludes nobody, since whatever else happens below it follows from it.
2. A write through a link, which is also a write in place, but of another file.
3. A shared temporary name: its users also remove and fill each other's file.
4. The removal of a temporary file by one who does not write it.
5. A stale lock: its removal is also one by name, and leaves a gap.
6. A write in place, before what a crash leaves behind, which is then the file itself.
7. What is left behind, torn reads, gaps and evictions, none of which is another.
8. A lost update, which is a check and an act whose check is reading.
9. Check and act, on a name or on what a folder holds.
10. A piece of a file that was read while it was written in place, which tells of a
    failure only if no call of the one that failed does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from racecheck.report.diagnosis.case import Case
from racecheck.report.diagnosis.files import (
    in_place,
    lost_update,
    through_link,
)
from racecheck.report.diagnosis.locks import lock_file_removed, stale_lock
from racecheck.report.diagnosis.names import (
    check_then_act,
    evicted_by_name,
    filled_again,
    gap,
)
from racecheck.report.diagnosis.reads import piece_read, torn_read
from racecheck.report.diagnosis.temps import (
    left_behind,
    live_temp_removed,
    shared_temp,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from racecheck.model import Trace
    from racecheck.report.diagnosis.diagnosis import Diagnosis

    Pattern = Callable[[Case], Diagnosis | None]
    """Given an execution and what it breaks, the diagnosis if it fits."""

PATTERNS: Final[tuple[Pattern, ...]] = (
    lock_file_removed,
    through_link,
    shared_temp,
    live_temp_removed,
    stale_lock,
    in_place,
    left_behind,
    torn_read,
    gap,
    evicted_by_name,
    lost_update,
    check_then_act,
    filled_again,
    piece_read,
)
"""The kinds of race that are known, the most special first."""

MOST_STEPS = 5_000
"""Calls of an execution that is looked at: reports of longer ones stay quick."""


def diagnose(trace: Trace, invariant: str) -> Diagnosis | None:
    """Return what kind of race an execution shows, or None if it is none that is known.

    Args:
        trace: The execution, with footprints.
        invariant: Name of the invariant that it breaks, or `deadlock`.
    """
    case = Case(trace, invariant)
    if not case.holds or len(trace.steps) > MOST_STEPS:
        return None
    for pattern in PATTERNS:
        found = pattern(case)
        if found is not None:
            return found
    return None
