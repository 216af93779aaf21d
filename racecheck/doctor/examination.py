"""All that is looked at, in the order in which one thing needs another."""

from __future__ import annotations

from typing import TYPE_CHECKING

from racecheck.doctor import engines, kernel, places
from racecheck.doctor.observation import Observation, State

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def examine(workdir: Path | None) -> Iterator[Observation]:
    """Look at everything; yield what was found as it is found.

    Args:
        workdir: Folder for the boxes, or None for the default.
    """
    needed = [kernel.system(), kernel.tracing(), places.sandbox(workdir)]
    yield from needed
    works = not any(each.state is State.REFUSED for each in needed)
    if needed[1].state is not State.REFUSED:
        yield kernel.no_survivors()
    yield kernel.clock()
    yield kernel.addresses()
    yield kernel.confinement()
    if works:
        yield engines.process(workdir)
    else:
        found = "cannot run here, for the reason above"
        yield Observation("process engine", State.REFUSED, found, needed=True)
    yield engines.stress(workdir)
    yield engines.simulated()
