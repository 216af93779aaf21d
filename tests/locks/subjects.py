"""Lock files as programs use them: two libraries, one call, and two loops by hand."""

from __future__ import annotations

import fcntl
import os
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

import filelock
import portalocker

from racecheck.invariants import invariant
from racecheck.scenario import Scenario

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator
    from contextlib import AbstractContextManager
    from pathlib import Path

    from racecheck.model import FaultBound, History, PlannedFault, View
    from racecheck.scenario import Me

    Subject = Callable[[Path], AbstractContextManager[object]]

PATIENCE_S = 60.0

GAVE_UP = (TimeoutError, portalocker.exceptions.LockException)
"""What those raise that have waited for too long."""


def file_lock(path: Path) -> AbstractContextManager[object]:
    """An flock, polled for."""
    return filelock.FileLock(path, timeout=PATIENCE_S)


def soft_file_lock(path: Path) -> AbstractContextManager[object]:
    """A file that says whose it is, polled for."""
    return filelock.SoftFileLock(path, timeout=PATIENCE_S)


def port_lock(path: Path) -> AbstractContextManager[object]:
    """An flock, polled for."""
    return portalocker.Lock(path, timeout=PATIENCE_S)


@contextmanager
def lockf(path: Path) -> Iterator[None]:
    """A lock of the process, waited for without a limit."""
    with path.open("a") as file:
        fcntl.lockf(file, fcntl.LOCK_EX)
        yield


@contextmanager
def poll(
    path: Path, pause_s: float = 0.05, patience_s: float = PATIENCE_S
) -> Iterator[None]:
    """A file that is there while somebody has the lock, polled for."""
    start = time.monotonic()
    while not _made(path):
        if time.monotonic() - start > patience_s:
            raise TimeoutError(f"{path.name} is taken")
        time.sleep(pause_s)
    try:
        yield
    finally:
        path.unlink()


def _made(path: Path) -> bool:
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
    except FileExistsError:
        return False
    return True


@contextmanager
def endless_poll(path: Path) -> Iterator[None]:
    """The same without a limit."""
    with poll(path, patience_s=float("inf")):
        yield


@contextmanager
def hurried_poll(path: Path) -> Iterator[None]:
    """Look whether the file is there, and make it then: two steps, and no lock."""
    start = time.monotonic()
    while path.exists():
        if time.monotonic() - start > PATIENCE_S:
            raise TimeoutError(f"{path.name} is taken")
        time.sleep(0.05)
    path.touch()
    try:
        yield
    finally:
        path.unlink(missing_ok=True)


SUBJECTS: dict[str, Subject] = {
    "FileLock": file_lock,
    "SoftFileLock": soft_file_lock,
    "portalocker": port_lock,
    "lockf": lockf,
    "poll": poll,
}


def work(box: Path, name: str, seconds: float) -> None:
    """Add one to the count, slowly, which only one at a time may do."""
    marker = box / f"inside-{name}"
    marker.mkdir()
    descriptor = os.open(box / "count", os.O_RDWR)
    number = int(os.read(descriptor, 20))
    time.sleep(seconds)
    os.pwrite(descriptor, str(number + 1).encode(), 0)
    os.close(descriptor)
    marker.rmdir()


def take_turn(subject: Subject, box: Path, name: str) -> float:
    """Work for a second under a lock; return how long it took to get it."""
    start = time.monotonic()
    with subject(box / "lock"):
        waited = time.monotonic() - start
        work(box, name, 1)
    return waited


@invariant
def exclusive(view: View, history: History) -> str | None:
    """No two are inside at a time, those apart that were killed there."""
    crashed = {end.actor for end in history.ends if end.crashed}
    names = [path.removeprefix("inside-") for path in view.glob("inside-*")]
    inside = sorted(name for name in names if name not in crashed)
    return f"{' and '.join(inside)} are inside" if len(inside) > 1 else None


def locked(
    subject: Subject,
    *faults: PlannedFault | FaultBound,
    count: int = 2,
    max_steps: int = 10_000,
    expect: Collection[str] = (),
) -> Scenario:
    """Return actors who take a lock in turn, and work for a second inside."""
    made = Scenario(
        "locks/subjects",
        invariants=[exclusive],
        faults=faults,
        max_steps=max_steps,
        expect=expect,
    )

    @made.setup
    def setup(box: Path) -> None:
        (box / "count").write_text("0")

    @made.actor(count=count, raises=GAVE_UP)
    def act(box: Path, me: Me) -> float:
        return take_turn(subject, box, me.name)

    return made
