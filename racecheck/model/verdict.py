"""Verdicts, violations, and what an exploration says of a scenario."""

from __future__ import annotations

from enum import StrEnum

import msgspec


class Verdict(StrEnum):
    """What came of an execution or of a scenario."""

    PASSED = "passed"
    VIOLATED = "violated"
    DEADLOCKED = "deadlocked"
    DIVERGED = "diverged"
    UNKNOWN = "unknown"


class Coverage(StrEnum):
    """How much an answer covers."""

    COMPLETE = "complete"
    SAMPLED = "sampled"
    CUT = "cut"


class Violation(msgspec.Struct, frozen=True):
    """One invariant found false.

    Attributes:
        invariant: Name of the invariant.
        message: What was expected and what was found.
        step: Index of the step after which it was false; None at the end.
        actor: Whose operation it concerns, if one's.
    """

    invariant: str
    message: str
    step: int | None = None
    actor: str | None = None
