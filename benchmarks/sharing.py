"""Measure how much sooner an exploration ends that several processes share.

Run from the checkout: `python -m benchmarks.sharing --jobs 2`. Each round explores the
same scenario alone and shared, one after the other, and gives one ratio. After these it
is explored as many times at once as there are jobs, alone on a processor each: a
machine whose processors are slower together than by themselves, as those that are
halves of one core, or that others use, makes sharing look worse than it is, and this
tells by how much. Last stands how much time of processors all who shared took
together, as a multiple of what one took alone.

It ends with status 1 if a result depends on who has made it.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import resource
import statistics
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from racecheck.api import Options, explore_all
from racecheck.scenario import Budget, load, select

if TYPE_CHECKING:
    from racecheck.model import ScenarioResult

ROOT = Path(__file__).parents[1]
SEARCH = "overlay/builders_of_two_files/two/fixed"
LONG = "overlay/builders_of_two_files/three/fixed"
SAMPLED = "head_image/three_cold_serves/pid"
_GOAL_OF_EACH = 0.9
"""Times sooner, for each process that takes part."""
CASES = (
    ("search", SEARCH, "dpor"),
    ("long", LONG, "dpor"),
    ("pct", SAMPLED, "pct"),
    ("pos", SAMPLED, "pos"),
    ("mixed", SAMPLED, "mixed"),
)


def main() -> int:
    """Run, and print a row a case."""
    parser = argparse.ArgumentParser(description="Share explorations.")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--executions", type=int, default=300, help="samples a round")
    parser.add_argument("--cases", nargs="*", default=[case for case, _, _ in CASES])
    options = parser.parse_args()
    print(
        f"{'':10}{'alone':>9}{'shared':>9}{'at once':>9}   times sooner than alone:"
        " median, least, greatest; than at once; processor time"
    )
    wrong = 0
    for case, name, scheduler in CASES:
        if case not in options.cases:
            continue
        alone, shared, at_once, work = [], [], [], []
        for _ in range(options.rounds):
            before = spent()
            first = explored(name, scheduler, 1, options.executions)
            between = spent()
            second = explored(name, scheduler, options.jobs, options.executions)
            work.append((spent() - between) / (between - before))
            alone.append(first.seconds)
            shared.append(second.seconds)
            at_once.append(beside(name, scheduler, options.jobs, options.executions))
            wrong += without_time(first) != without_time(second)
        times = [
            f"{statistics.median(each):>7.2f} s" for each in (alone, shared, at_once)
        ]
        shown = [compared(each, shared) for each in (alone, at_once)]
        more = f"{statistics.median(work):.2f} times that of one"
        print(f"{case:10}{''.join(times)}   {'; '.join(shown)}; {more}", flush=True)
        goal = _GOAL_OF_EACH * options.jobs
        met = statistics.median(ratios(alone, shared)) >= goal
        print(f"          goal: {goal:.1f} times sooner: {'met' if met else 'NOT MET'}")
    load_now = ", ".join(f"{each:.1f}" for each in os.getloadavg())
    print(f"load {load_now}, {len(os.sched_getaffinity(0))} processors")
    print(f"results that depend on the number of jobs: {wrong}")
    return 1 if wrong else 0


def compared(times: list[float], shared: list[float]) -> str:
    """Return how much sooner what is shared ends, round by round."""
    each_round = ratios(times, shared)
    found = statistics.median(each_round), min(each_round), max(each_round)
    return ", ".join(f"{each:.2f}" for each in found)


def ratios(times: list[float], shared: list[float]) -> list[float]:
    """Return how many times sooner what is shared ends in each round."""
    return [one / other for one, other in zip(times, shared, strict=True)]


def beside(name: str, scheduler: str, count: int, executions: int) -> float:
    """Return the seconds of an exploration with others on the other processors."""
    cpus = sorted(os.sched_getaffinity(0))
    tasks = [
        (cpus[number % len(cpus)], name, scheduler, executions)
        for number in range(count)
    ]
    with multiprocessing.Pool(count) as pool:
        return statistics.mean(pool.starmap(explored_on, tasks, chunksize=1))


def explored_on(cpu: int, name: str, scheduler: str, executions: int) -> float:
    """Return the seconds of an exploration on a processor."""
    os.sched_setaffinity(0, {cpu})
    return explored(name, scheduler, 1, executions).seconds


def spent() -> float:
    """Return the seconds of processors that workers have taken so far."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def explored(name: str, scheduler: str, jobs: int, executions: int) -> ScenarioResult:
    """Explore a shipped scenario."""
    options = Options(
        jobs=jobs, scheduler=scheduler, budget=Budget(executions=executions)
    )
    found = select(load([ROOT / "scenarios"]), [name])
    (result,) = explore_all(found, options)
    return result


def without_time(result: ScenarioResult) -> ScenarioResult:
    """Return what must not depend on who has made it."""
    return msgspec.structs.replace(result, seconds=0.0)


if __name__ == "__main__":
    sys.exit(main())
