"""Processes that importing or setting up a scenario has started and left running.

They are no actors: nothing stops them at their calls, and what they do to the box comes
at any time. So a scenario with such a process is not run.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
from typing import TYPE_CHECKING, Final

from racecheck.errors import ScenarioError

if TYPE_CHECKING:
    from collections.abc import Collection

_PR_SET_CHILD_SUBREAPER: Final = 36


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
    if not _has_children():
        return
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
    if names:
        raise ScenarioError(
            f"{what} left a process running, which nothing controls: {', '.join(names)}"
        )


def _has_children() -> bool:
    """Say whether any child runs; those that have ended are put away."""
    with contextlib.suppress(ChildProcessError):
        while True:
            ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            if ended is None:
                return True
            os.waitpid(ended.si_pid, 0)
    return False
