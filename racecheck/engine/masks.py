"""What signals a task would take, as the kernel says in `/proc`."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from racecheck.engine.task import Task

_QUIET: Final = sum(
    1 << number - 1
    for number in (signal.SIGCHLD, signal.SIGURG, signal.SIGWINCH, signal.SIGCONT)
)
"""Signals that do nothing where nobody handles them, as a mask."""


def takes(task: Task, number: int) -> bool:
    """Say whether a signal ends a wait: it has a handler, or ends the process."""
    return bool(_ending(_masks(task)) >> number - 1 & 1)


def is_pending(task: Task, blocked: int) -> bool:
    """Say whether a stopped task has a signal to handle, if it blocks only some.

    Args:
        task: The task.
        blocked: The signals that it blocks then, as a mask.
    """
    masks = _masks(task)
    return bool(
        (masks["SigPnd"] | masks["ShdPnd"]) & _ending(masks | {"SigBlk": blocked})
    )


def is_readable(task: Task, wanted: int) -> bool:
    """Say whether one of some signals is pending, for who reads them as data."""
    masks = _masks(task)
    return bool((masks["SigPnd"] | masks["ShdPnd"]) & wanted)


def is_signalled(task: Task) -> bool:
    """Say whether a stopped task has a signal to handle before it could wait."""
    masks = _masks(task)
    pending = masks["SigPnd"] | (masks["ShdPnd"] if task.is_first else 0)
    return bool(pending & _ending(masks))


def _ending(masks: dict[str, int]) -> int:
    """Return the signals that end a wait, as a mask."""
    ignored = masks["SigIgn"] | (_QUIET & ~masks["SigCgt"])
    return ~(masks["SigBlk"] | ignored)


def _masks(task: Task) -> dict[str, int]:
    """Return the signal masks of a task by the names that proc(5) gives them."""
    path = f"/proc/{task.process.pid}/task/{task.tid}/status"
    with open(path, encoding="ascii") as file:
        fields = [line.split() for line in file if line.startswith(("Sig", "ShdPnd"))]
    return {name[:-1]: int(value, 16) for name, value in fields if name != "SigQ:"}
