"""What one examination gives."""

from __future__ import annotations

import enum

import msgspec


class State(enum.StrEnum):
    """How well something works: `fine`, `limited` or `refused`."""

    FINE = "fine"
    LIMITED = "limited"
    REFUSED = "refused"


class Observation(msgspec.Struct, frozen=True):
    """One thing that was looked at.

    Attributes:
        name: What it is, in a word or two.
        state: How well it works.
        found: What was found, in a line.
        advice: What to change, or what it means; empty where all is well.
        needed: Whether the process engine cannot do without.
    """

    name: str
    state: State
    found: str
    advice: str = ""
    needed: bool = False
