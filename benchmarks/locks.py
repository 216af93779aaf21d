"""How fast programs with lock files are explored, beside the time that they take.

Run as `python benchmarks/locks.py [--seconds N] [--quick] [--realtime]`. Both sides run
the same functions with the same times in them: who has the lock works for a second, who
waits for it gives up after sixty, a holder may be killed inside, or held up there for
65 seconds. One side is racecheck, by a random walk. The other lets real processes run
and sleep, each row once and all rows at the same time, as they do little but sleep.
Other work of the machine slows racecheck's side down and not the one that sleeps;
`--realtime` gives it, one row after the other, a processor that it need not share.

It ends with status 1 if a judged execution went wrong, if what is no lock was not
found out, if nobody gave up where somebody has to, or if the goal was missed.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import platform
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from racecheck.engine import Machine
from racecheck.explore.runner import Runner
from racecheck.model import Ending, Verdict
from racecheck.scenario import crash, stall
from racecheck.scheduling import PlannedFaultsScheduler, RandomWalkScheduler
from tests.engine.lab import in_child
from tests.locks import subjects

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tests.locks.subjects import Subject

_GOAL = 10.0
_HELD_UP_S = 65
_ALIVE, _KILLED, _STALLED = "alive", "killed", "stalled"
_HOLDERS = {
    _ALIVE: (),
    _KILLED: (crash("act-1", on="rmdir"),),
    _STALLED: (stall("act-1", _HELD_UP_S, on="pwrite64"),),
}
_CONTROL: dict[str, Subject] = {"no lock at all": subjects.hurried_poll}
_LOOK_EVERY_S = 0.005


class Row(NamedTuple):
    """What is measured: a lock, how many want it, and what becomes of its holder."""

    name: str
    subject: Subject
    callers: int
    holder: str


class Judged(NamedTuple):
    """What came of executions.

    Attributes:
        executions: How many were made.
        seconds: How long that took.
        gave_up: In how many of them somebody waited until his time was over.
        verdicts: How they were judged, each verdict once, with what was broken.
    """

    executions: int
    seconds: float
    gave_up: int
    verdicts: frozenset[str]


def main() -> int:
    """Measure both sides and print a row for each lock."""
    parser = argparse.ArgumentParser(description="Measure programs with lock files")
    parser.add_argument(
        "--seconds", type=float, default=3.0, help="of racecheck's for each row"
    )
    parser.add_argument(
        "--quick", action="store_true", help="leave out holders that are held up"
    )
    parser.add_argument(
        "--realtime", action="store_true", help="take a processor, if that is allowed"
    )
    options = parser.parse_args()
    rows = [
        Row(name, subject, callers, holder)
        for name, subject in subjects.SUBJECTS.items()
        for callers in (2, 3)
        for holder in _HOLDERS
        if not (options.quick and holder == _STALLED)
    ]
    print(
        f"Python {platform.python_version()}, Linux {platform.release()}, "
        f"{platform.machine()}, {os.cpu_count()} CPUs, load {os.getloadavg()[0]:.1f}"
    )
    real = free_running(rows)
    print(f"\n{'lock':<15}{'callers':>8}  {'holder':<8}", end="")
    print(f"{'real s':>8}{'executions/s':>14}{'ratio':>8}  {'gave up':>12}")
    wrong = []
    for row, seconds in zip(rows, real, strict=True):
        judged = explored(row, options.seconds, realtime=options.realtime)
        rate = judged.executions / judged.seconds
        ratio = rate * seconds
        print(
            f"{row.name:<15}{row.callers:>8}  {row.holder:<8}{seconds:>8.2f}"
            f"{rate:>14.1f}{ratio:>8.0f}  {judged.gave_up:>5} of {judged.executions}",
            flush=True,
        )
        wrong += [f"{_title(row)}: {why}" for why in _faults(row, judged, ratio)]
    ((name, subject),) = _CONTROL.items()
    control = explored(Row(name, subject, 2, _ALIVE), options.seconds, realtime=False)
    print(f"\n{name}: {', '.join(sorted(control.verdicts))}")
    if "violated exclusive" not in control.verdicts:
        wrong.append(f"{name} was not found out")
    print(*wrong, f"goal: {_GOAL:.0f} times as many executions/s", sep="\n", end=" ")
    print("not met" if wrong else "met in each row")
    return 1 if wrong else 0


def _title(row: Row) -> str:
    return f"{row.name}, {row.callers} callers, holder {row.holder}"


def _faults(row: Row, judged: Judged, ratio: float) -> Iterator[str]:
    """Say what is not as it has to be."""
    if judged.verdicts != {str(Verdict.PASSED)}:
        yield f"judged {', '.join(sorted(judged.verdicts))}"
    if ratio < _GOAL:
        yield f"only {ratio:.1f} times as fast"
    # A lock of the kernel goes with its holder, and `lockf` has no time limit.
    patient = row.name == "lockf"
    left = row.name == "poll" and row.holder == _KILLED
    if (left or (row.holder == _STALLED and not patient)) and not judged.gave_up:
        yield "nobody ever gave up"


# --- racecheck's side -----------------------------------------------------------------


def explored(row: Row, seconds: float, *, realtime: bool) -> Judged:
    """Run executions for some time, each judged."""
    return in_child(lambda: _explored(row, seconds, realtime=realtime))


def _explored(row: Row, seconds: float, *, realtime: bool) -> Judged:
    made = subjects.locked(
        row.subject, *_HOLDERS[row.holder], count=row.callers, max_steps=20_000
    )
    # As a worker is: on two processors each stop takes several times as long.
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    if realtime:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    executions = gave_up = 0
    verdicts = set()
    with Machine(max_cpu_s=made.max_cpu_s) as machine:
        runner = Runner(machine, made)
        start = time.perf_counter()
        while (spent := time.perf_counter() - start) < seconds or executions < 3:
            planned = PlannedFaultsScheduler(
                RandomWalkScheduler(executions), made.faults
            )
            seed = planned.start_execution()
            assert seed is not None
            trace = runner.run(planned, seed, reuse=True)
            assert trace is not None
            executions += 1
            gave_up += any(each.ending is Ending.RAISED for each in trace.operations)
            broken = ", ".join(each.invariant for each in trace.violations)
            verdicts.add(f"{trace.verdict} {broken}".strip())
    return Judged(executions, spent, gave_up, frozenset(verdicts))


# --- the other side -------------------------------------------------------------------


class Free:
    """One execution of processes that run as they like, and sleep as long as they say.

    Attributes:
        seconds: How long it took, once it is over.
    """

    def __init__(self, row: Row, folder: Path) -> None:
        self.seconds = 0.0
        self._holder = row.holder
        self._box = folder
        self._resume_at = 0.0
        (folder / "count").write_text("0")
        self._start = time.perf_counter()
        self._pids = {
            self._fork(row.subject, name): name
            for name in (f"act-{number + 1}" for number in range(row.callers))
        }
        self._stopped = 0

    def is_over(self) -> bool:
        """Do what is to be done at this moment, and say whether nobody is left."""
        for pid in list(self._pids):
            if os.waitpid(pid, os.WNOHANG)[0]:
                del self._pids[pid]
        if self._holder != _ALIVE and not self._stopped:
            self._stop_holder()
        if self._resume_at and time.perf_counter() >= self._resume_at:
            self._resume_at = 0.0
            os.kill(self._stopped, signal.SIGCONT)
        if not self._pids and not self.seconds:
            self.seconds = time.perf_counter() - self._start
        return not self._pids

    def _fork(self, subject: Subject, name: str) -> int:
        pid = os.fork()
        if pid == 0:
            try:
                with contextlib.suppress(*subjects.GAVE_UP):
                    subjects.take_turn(subject, self._box, name)
            finally:
                os._exit(0)
        return pid

    def _stop_holder(self) -> None:
        inside = {path.name.removeprefix("inside-") for path in self._box.iterdir()}
        for pid, name in self._pids.items():
            if name in inside:
                self._stopped = pid
                if self._holder == _KILLED:
                    os.kill(pid, signal.SIGKILL)
                else:
                    os.kill(pid, signal.SIGSTOP)
                    self._resume_at = time.perf_counter() + _HELD_UP_S
                return


def free_running(rows: Sequence[Row]) -> list[float]:
    """Return how long one execution of each row takes, all at the same time."""
    folder = Path(tempfile.mkdtemp(prefix="racecheck-locks-"))
    try:
        running = []
        for number, row in enumerate(rows):
            box = folder / str(number)
            box.mkdir()
            running.append(Free(row, box))
        while [each for each in running if not each.is_over()]:
            time.sleep(_LOOK_EVERY_S)
        return [each.seconds for each in running]
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    sys.exit(main())
