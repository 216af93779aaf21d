"""Racecheck beside its neighbours, on the same subjects or on the neighbours' own.

Run as `python benchmarks/neighbours.py [--seeds N] [--quick] [--realtime]`. The
neighbours are frontrun and ckpt-chaos, in an environment that is made for them at the
first run (`--venv`), and a loop that forks, waits at a barrier and hopes. All is run in
turn, several times; shown are medians, with the least and the greatest. It ends with
status 1 where a goal is not met, and says which.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
from pathlib import Path
from statistics import mean, median
from typing import TYPE_CHECKING, NamedTuple

from benchmarks.beside import ours, stress
from benchmarks.beside.theirs import Environment

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from benchmarks.beside.ours import Explored
    from benchmarks.beside.stress import Stressed
    from benchmarks.beside.theirs import Told

_VENV = Path(__file__).parents[1] / ".venv-neighbours"
_MOST_DPOR = 10
_MOST_PCT = 2.0
_MOST_SHRINKING = 200
_PROCESS, _THREAD, _CRASHES = 20.0, 3.0, 30.0


class Sizes(NamedTuple):
    """How much is measured.

    Attributes:
        seeds: Seeds of each search.
        rounds: Times that each rate is taken.
        executions: Executions of racecheck's in one of them, and of quick neighbours.
        attempts: Executions at which a neighbour's search for the race ends.
        stress_s: Seconds of the loop that hopes.
    """

    seeds: int
    rounds: int
    executions: int
    attempts: int
    stress_s: float


class Goals:
    """The goals that were asked for, and those that were not met."""

    def __init__(self) -> None:
        self.missed: list[str] = []

    def check(self, text: str, *, met: bool) -> None:
        """Print whether a goal is met."""
        print(f"  goal: {text}: {'met' if met else 'NOT MET'}")
        if not met:
            self.missed.append(text)


def main() -> int:
    """Measure all of it, and say which goals are met."""
    parser = argparse.ArgumentParser(description="Measure racecheck's neighbours")
    parser.add_argument("--seeds", type=int, default=20, help="seeds of each search")
    parser.add_argument("--quick", action="store_true", help="a fifth of the work")
    parser.add_argument("--venv", type=Path, default=_VENV, help="their environment")
    parser.add_argument(
        "--realtime", action="store_true", help="take the processors, if allowed"
    )
    options = parser.parse_args()
    theirs = Environment(options.venv)
    sizes = Sizes(options.seeds, 5, 1000, 2000, 10)
    if options.quick:
        sizes = Sizes(max(3, options.seeds // 5), 3, 200, 300, 2)
    if options.realtime:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    print(
        f"Python {platform.python_version()}, Linux {platform.release()}, "
        f"{platform.machine()}, {os.cpu_count()} CPUs, load {os.getloadavg()[0]:.1f}"
    )
    goals = Goals()
    compare_window(theirs, sizes, goals)
    compare_rates(theirs, sizes, goals)
    compare_crashes(theirs, sizes, goals)
    measure_shrinking(sizes, goals)
    print(f"\n{len(goals.missed)} not met", *goals.missed, sep="\n  ")
    return 1 if goals.missed else 0


def compare_window(theirs: Environment, sizes: Sizes, goals: Goals) -> None:
    """Look for the race in the skewed window."""
    print("\nthe skewed window: executions until the race is found, by seed")
    dpor = [ours.window("dpor", seed).findings[0].execution for seed in range(3)]
    _row("racecheck, dpor", dpor)
    found = [ours.window("pct", seed) for seed in range(sizes.seeds)]
    pct = [each.findings[0].execution for each in found]
    _row("racecheck, pct", pct)
    length = round(max(each.steps / each.executions for each in found))
    for mode, task in (
        ("default", "window"),
        ("random", "window"),
        ("process", "window between processes"),
    ):
        seeds = range(min(3, sizes.seeds)) if mode == "random" else range(1)
        told = [theirs.frontrun(mode, task, sizes.attempts, seed) for seed in seeds]
        _found(f"frontrun, {mode}", told)
    _found("fork and barrier", [stress.window(sizes.stress_s) for _ in range(3)])
    goals.check(
        f"dpor in {_MOST_DPOR} executions or fewer", met=max(dpor) <= _MOST_DPOR
    )
    # It has depth 2: the reader is to be the one that runs first, and is to be stopped
    # at one of its calls. So the chance is at least 1 / (2 actors * the steps of an
    # execution), see `PCTScheduler`.
    theory = 2 * length
    goals.check(
        f"pct in {mean(pct):.0f} on average, {_MOST_PCT:.0f} times {theory} or fewer",
        met=mean(pct) <= _MOST_PCT * theory,
    )


def compare_rates(theirs: Environment, sizes: Sizes, goals: Goals) -> None:
    """Count executions a second, start and end of each exploration included."""
    print("\nexecutions/s")
    # What a neighbour can do with a file it does with the same one. In their default
    # modes they make one execution of it, so they are given what they are made for too.
    kinds: dict[str, Callable[[], Explored | Told | Stressed]] = {
        "racecheck, random walk, counter in a file": lambda: ours.counter(
            "random", sizes.executions
        ),
        "racecheck, dpor, three of them": lambda: ours.counter("dpor", 10_000, 3),
        "frontrun, random, counter in a file": lambda: theirs.frontrun(
            "random", "file", sizes.executions // 2
        ),
        "frontrun, default, counter in a file": lambda: theirs.frontrun(
            "default", "file", sizes.executions
        ),
        "frontrun, default, counter in memory": lambda: theirs.frontrun(
            "default", "memory", sizes.executions // 2
        ),
        "frontrun, process, counter in SQLite": lambda: theirs.frontrun(
            "process", "database", max(2, sizes.executions // 200)
        ),
        "... with its workers used again": lambda: theirs.frontrun(
            "process-reused", "database", sizes.executions // 20
        ),
        "fork and barrier, counter in a file": lambda: stress.counter(1),
    }
    rates: dict[str, list[float]] = {name: [] for name in kinds}
    for _ in range(sizes.rounds):
        for name, measure in kinds.items():
            done = measure()
            rates[name].append(done.executions / done.seconds)
    for name, found in rates.items():
        _row(name, found)
    first = next(iter(rates))
    for mode, program, least in (
        ("process", "SQLite", _PROCESS),
        ("default", "a file", _THREAD),
        ("default", "memory", _THREAD),
        ("random", "a file", _THREAD),
    ):
        other = rates[f"frontrun, {mode}, counter in {program}"]
        ratio = median(a / b for a, b in zip(rates[first], other, strict=True))
        goals.check(
            f"{ratio:.1f} times frontrun's {mode} mode with a counter in {program}, "
            f"{least:.0f} or more",
            met=ratio >= least,
        )


def compare_crashes(theirs: Environment, sizes: Sizes, goals: Goals) -> None:
    """Kill a job at all its points, and let it go on."""
    print("\ncrash points/s")
    rounds = [(ours.crash_points(), theirs.ckpt_chaos()) for _ in range(sizes.rounds)]
    _row("racecheck, dpor", [a.executions / a.seconds for a, _ in rounds])
    _row("ckpt-chaos", [b.executions / b.seconds for _, b in rounds])
    points = f"{rounds[0][0].executions} and {rounds[0][1].executions}"
    print(f"  points: {points}")
    ratio = median(
        a.executions / a.seconds / (b.executions / b.seconds) for a, b in rounds
    )
    goals.check(
        f"{ratio:.1f} times ckpt-chaos, {_CRASHES:.0f} or more", met=ratio >= _CRASHES
    )


def measure_shrinking(sizes: Sizes, goals: Goals) -> None:
    """Make executions of 60 steps or more simpler."""
    print("\nshrinking a race of the overlay, found by a random walk")
    shrunk = [ours.shrinking(seed) for seed in range(max(3, sizes.seeds // 4))]
    for index, what in enumerate(("steps", "context switches")):
        _row(f"{what} before", [each.before[index] for each in shrunk])
        _row(f"{what} after", [each.after[index] for each in shrunk])
    took = [each.executions for each in shrunk]
    _row("executions", took)
    goals.check(
        f"fewer than {_MOST_SHRINKING} executions", met=max(took) < _MOST_SHRINKING
    )


def _row(name: str, found: Sequence[float]) -> None:
    figures = "".join(
        f"{value:>10.1f}" for value in (median(found), min(found), max(found))
    )
    print(f"  {name:<42}{figures}", flush=True)


def _found(name: str, told: Sequence[Told | Stressed]) -> None:
    for executions, seconds, found in told:
        word = "found after" if found else "not found in"
        print(
            f"  {name:<42}{word} {executions} executions, {seconds:.1f} s", flush=True
        )


if __name__ == "__main__":
    sys.exit(main())
