"""Scenarios that are explored for as long as one likes, and in which nothing breaks."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from benchmarks.beside.subjects import increment, prepare
from racecheck.invariants import no_unexpected_errors
from racecheck.scenario import Scenario

if TYPE_CHECKING:
    from pathlib import Path

counter = Scenario("beside/counter", invariants=[no_unexpected_errors()])
counter.setup(prepare)
counter.writer(increment, count=2)

orders = Scenario("beside/orders", invariants=[no_unexpected_errors()])
"""More orders than anybody goes through: each name is made, found and removed."""


@orders.actor(count=4)
def meddle(box: Path) -> None:
    """Make and remove what others make and remove too."""
    for name in ("a", "b", "c"):
        os.close(os.open(box / name, os.O_CREAT | os.O_WRONLY))
        if (box / name).exists():
            (box / name).unlink(missing_ok=True)
