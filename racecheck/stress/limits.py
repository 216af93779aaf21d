"""What the stress engine takes for granted, and what is beyond it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from racecheck.model import FaultKind

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from racecheck.model import FaultBound, Invariant, PlannedFault, Program

ASSUMPTIONS: Final = (
    "the system picked the order: what it did not do was not looked at",
    "files were judged now and then and as operations returned, while all stood still",
    "a crash is the end of a process, not a loss of power",
    "actors were not confined to their box",
)
"""What every answer of the stress engine takes for granted."""


def beyond(
    programs: Sequence[Program],
    faults: Iterable[PlannedFault],
    bounds: Iterable[FaultBound],
    invariants: Iterable[Invariant],
) -> str:
    """Say what a scenario asks for that only an engine can do that traces calls.

    Returns:
        What that is, as the reason of an unknown verdict; else empty.
    """
    found = []
    pids = [program.pid for program in programs]
    if len(set(pids)) < len(pids):
        found.append("actors with one process id")
    if any(program.clock_offset_s for program in programs):
        found.append("clocks that differ")
    found += [f"{each.fault} at a chosen call" for each in faults]
    found += [
        f"{each.fault} at any call"
        for each in bounds
        if each.fault.kind is not FaultKind.CRASH
    ]
    found += [
        f"calls for {each.name} to judge by"
        for each in invariants
        if getattr(each, "needs_calls", False)
    ]
    if not found:
        return ""
    return f"the stress engine has no {', '.join(dict.fromkeys(found))}"
