"""Which faults excuse a failure: those that a program cannot do anything about."""

from __future__ import annotations

from typing import TYPE_CHECKING

from racecheck.model import FaultKind

if TYPE_CHECKING:
    from racecheck.model import History, Operation, Step


def excuses(step: Step) -> bool:
    """Say whether what was injected into a step excuses that its actor fails.

    A stall excuses nothing: a machine may hold up any process for any time, and what
    breaks then was broken before.
    """
    return step.fault is not None and step.fault.kind is not FaultKind.STALL


def is_excused(history: History, operation: Operation) -> bool:
    """Say whether an operation has met a fault that excuses that it fails."""
    if not operation.faults:
        return False
    stalls = sum(
        step.actor == operation.actor
        and step.operation == operation.index
        and step.fault is not None
        and not excuses(step)
        for step in history.steps
    )
    return operation.faults > stalls
