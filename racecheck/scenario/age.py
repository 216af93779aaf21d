"""How old files are when an execution begins."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from racecheck.errors import ScenarioError
from racecheck.model.epoch import EPOCH
from racecheck.scenario.arguments import is_whole

if TYPE_CHECKING:
    from pathlib import Path


def make_old(path: Path, seconds: int) -> None:
    """Let a file be so old when an execution begins; to be called by `setup`.

    Files that `setup` leaves are new at the start otherwise, all of one time.

    Args:
        path: The file, or a link, which is not followed.
        seconds: Its age by the clock of the actors, in whole seconds.

    Raises:
        ScenarioError: That is no age.
    """
    if not is_whole(seconds, 1) or seconds > EPOCH:
        raise ScenarioError(f"an age is 1 to {EPOCH} whole seconds, not {seconds!r}")
    made = EPOCH - seconds
    os.utime(path, (made, made), follow_symlinks=False)
