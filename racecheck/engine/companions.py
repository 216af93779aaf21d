"""Processes that a scenario has started and left running beside its actors.

Nothing stops them at their calls, and what they do to the box comes at any time. So a
scenario is not run whose file or setup leaves such a process, and where an invariant
does there is no pass.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import time
from typing import TYPE_CHECKING, Final

from racecheck.errors import ScenarioError

if TYPE_CHECKING:
    from collections.abc import Collection

_PR_SET_CHILD_SUBREAPER: Final = 36
_PATIENCE_S: Final = 0.5
_NEXT_LOOK_S: Final = 0.01


def adopt() -> None:
    """Have processes that are left alone by their parents become this one's."""
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def refuse(what: str, known: Collection[int] = ()) -> None:
    """End all that this process has started.

    Args:
        what: What has started them.
        known: Ids of racecheck's own processes, which go on.

    Raises:
        ScenarioError: There was something.
    """
    if names := _end(known):
        raise ScenarioError(
            f"{what} left a process running, which nothing controls: {', '.join(names)}"
        )


def end_left() -> list[str]:
    """End all that is left once racecheck has no process of its own any more.

    Returns:
        The names of what was ended; what ends by itself in a moment is no matter.
    """
    until = time.monotonic() + _PATIENCE_S
    while _has_children() and time.monotonic() < until:
        time.sleep(_NEXT_LOOK_S)
    return _end(())


def _end(known: Collection[int]) -> list[str]:
    """End all that this process has started, and return the names of that."""
    if not _has_children():
        return []
    # Loaded only where needed: actors are forks of this process.
    import psutil  # noqa: PLC0415  as said above

    found = [each for each in psutil.Process().children() if each.pid not in known]
    names = sorted({each.name() for each in found})
    for process in [other for each in found for other in each.children(recursive=True)]:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()
    for process in found:
        process.kill()
        process.wait()
    return names


def _has_children() -> bool:
    """Say whether any child runs; those that have ended are put away."""
    with contextlib.suppress(ChildProcessError):
        while True:
            ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            if ended is None:
                return True
            os.waitpid(ended.si_pid, 0)
    return False
