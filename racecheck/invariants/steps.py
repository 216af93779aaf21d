"""Which steps an invariant has to look at the box after."""

from __future__ import annotations

from typing import TYPE_CHECKING

from racecheck.model import FaultKind, Kind

if TYPE_CHECKING:
    from racecheck.model import Step

_FATAL = frozenset({FaultKind.CRASH, FaultKind.TEAR})

_PARTIAL = frozenset({Kind.WRITE, Kind.COPY, Kind.ALLOCATE})
"""Kinds whose failure does not say that no byte was written before it."""


def is_crash(step: Step) -> bool:
    """Say whether the actor was killed by racecheck in this step."""
    return step.kind is Kind.CRASH or (
        step.fault is not None and step.fault.kind in _FATAL
    )


def may_have_changed(step: Step) -> bool:
    """Say whether the box can look another way than before the step.

    This says yes more often than `Step.may_change`: to look in vain costs time, and
    not to look can cost a violation.
    """
    if step.may_change or is_crash(step) or step.kind is Kind.OTHER:
        return True
    # An injected errno stands for a call that was not made.
    was_made = step.fault is None or step.fault.kind is not FaultKind.ERRNO
    return step.kind in _PARTIAL and was_made
