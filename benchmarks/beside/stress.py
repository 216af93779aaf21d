"""What people do without any tool: fork, meet at a barrier, go, and look what came."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from benchmarks.beside import subjects

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_MEMORY = "/dev/shm"  # noqa: S108  where racecheck's boxes are


class Stressed(NamedTuple):
    """How many executions, in how many seconds, and whether the race was met."""

    executions: int
    seconds: float
    found: bool


def window(seconds: float) -> Stressed:
    """Let publisher and reader go until a blob is missed or the time is over."""
    return _loop(
        subjects.prepare_index,
        [subjects.publish, subjects.load],
        seconds,
    )


def counter(seconds: float) -> Stressed:
    """Let two raise the counter in a file until the time is over."""
    return _loop(subjects.prepare, [subjects.increment] * 2, seconds)


def _loop(
    prepare: Callable[[Path], None],
    bodies: Sequence[Callable[[Path], bool | None]],
    seconds: float,
) -> Stressed:
    start = time.perf_counter()
    executions = 0
    while (spent := time.perf_counter() - start) < seconds:
        box = Path(tempfile.mkdtemp(prefix="stress-", dir=_MEMORY))
        prepare(box)
        fine = _run(box, bodies)
        shutil.rmtree(box)
        executions += 1
        if not fine:
            return Stressed(executions, time.perf_counter() - start, found=True)
    return Stressed(executions, spent, found=False)


def _run(box: Path, bodies: Sequence[Callable[[Path], bool | None]]) -> bool:
    """Run each body in a fork; all begin when the last is ready."""
    ready, go = os.pipe(), os.pipe()
    pids = []
    for body in bodies:
        pid = os.fork()
        if pid == 0:
            status = 1
            try:
                os.write(ready[1], b".")
                os.read(go[0], 1)
                status = 2 if body(box) is False else 0
            finally:
                os._exit(status)
        pids.append(pid)
    waiting = len(pids)
    while waiting:
        waiting -= len(os.read(ready[0], waiting))
    os.write(go[1], b"." * len(pids))
    statuses = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in pids]
    for descriptor in (*ready, *go):
        os.close(descriptor)
    assert 1 not in statuses, "a process raised"
    return not any(statuses)
