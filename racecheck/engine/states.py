"""What the kernel says of processes and threads in `/proc`, beside their signals."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from racecheck.engine.task import Actor, Process, Task


def title(actor: Actor, process: Process) -> str:
    """Return what messages call a process, with the name of its program."""
    lane = next(task.lane for task in actor.tasks if task.process is process)
    try:
        with open(f"/proc/{process.pid}/comm", encoding="utf-8") as file:
            return f"{lane} ({file.read().strip()})"
    except (OSError, UnicodeDecodeError):
        return lane


def is_running(task: Task) -> bool:
    """Say whether a thread that was let go to its end has not come there yet."""
    return _state(f"{task.process.pid}/task/{task.tid}") not in (b"", b"Z", b"X")


def is_zombie(pid: int) -> bool:
    """Say whether a process has ended and its parent has not asked for that."""
    return _state(str(pid)) == b"Z"


def _state(path: str) -> bytes:
    """Return the letter of a state, or nothing if nobody is there."""
    try:
        with open(f"/proc/{path}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()[0]
    except OSError:
        return b""
