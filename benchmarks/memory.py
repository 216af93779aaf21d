"""Whether an exploration needs more memory the longer it goes on.

Run as `python benchmarks/memory.py [--executions N] [random|dpor]`. It explores two
scenarios in which nothing breaks, one by a random walk and one by the exhaustive
search, which is nowhere near its end by then, and looks at the memory of this process
and of its worker on the way. It ends with status 1 if either has grown by more than a
few per cent since the first tenth was done.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

import psutil

from racecheck.api import Options, explore_all
from racecheck.model import Verdict
from racecheck.scenario import Budget, load, select

if TYPE_CHECKING:
    from racecheck.model import Progress
    from racecheck.scenario import Loaded

_MOST_GROWTH = 0.05
_MOST_SAMPLES = 500
SCENARIOS = Path(__file__).parent / "beside" / "scenario_counters.py"
_KINDS = {"random": "beside/counter", "dpor": "beside/orders"}


class Sample(NamedTuple):
    """How much memory there was in use, in MB, after so many executions."""

    executions: int
    harness: float
    worker: float


def main() -> int:
    """Measure both kinds, and say whether they are flat."""
    parser = argparse.ArgumentParser(description="Measure memory over executions")
    parser.add_argument("--executions", type=int, default=100_000)
    parser.add_argument("kinds", nargs="*", default=list(_KINDS), metavar="random|dpor")
    options = parser.parse_args()
    flat = True
    for scheduler in options.kinds:
        (scenario,) = select(load([SCENARIOS]), [_KINDS[scheduler]])
        samples = measure(scenario, scheduler, options.executions)
        flat = show(scheduler, samples) and flat
    return 0 if flat else 1


def measure(scenario: Loaded, scheduler: str, executions: int) -> list[Sample]:
    """Explore a scenario, and return samples taken on the way.

    Raises:
        AssertionError: It did not go as it has to.
    """
    samples: list[Sample] = []
    apart = max(1, executions // _MOST_SAMPLES)
    harness = psutil.Process()

    def on_progress(progress: Progress) -> None:
        # What is kept here counts as well, so it is not to grow with the time it takes.
        if samples and progress.executions - samples[-1].executions < apart:
            return
        try:
            # A worker forks the process that explores. Its children are what actors are
            # forked from, and not looked at.
            workers = harness.children()
            exploring = [child for each in workers for child in each.children()]
            worker = sum(each.memory_info().rss for each in (*workers, *exploring))
        except psutil.NoSuchProcess:
            return
        own = harness.memory_info().rss
        samples.append(Sample(progress.executions, own / 2**20, worker / 2**20))

    options = Options(scheduler=scheduler, budget=Budget(executions=executions))
    started = time.perf_counter()
    (result,) = explore_all([scenario], options, on_progress)
    assert result.verdict is Verdict.PASSED, result.reason
    made = result.executions + int(result.bounds.get("given_up", 0))
    assert made >= executions, f"the search ended after {made}"
    print(f"{scheduler}: {made} executions in {time.perf_counter() - started:.0f} s")
    return samples


def show(scheduler: str, samples: list[Sample]) -> bool:
    """Print how memory went, a tenth a line, and say whether it stayed as it was."""
    last = samples[-1].executions
    tenths: dict[int, list[Sample]] = {}
    for each in samples:
        tenths.setdefault(min(9, 10 * each.executions // (last + 1)), []).append(each)
    print(f"{'executions':>12}{'harness, MB':>13}{'worker, MB':>12}")
    for inside in tenths.values():
        harness, worker = medians(inside)
        print(f"{inside[-1].executions:>12}{harness:>13.1f}{worker:>12.1f}")
    grown = growth(tenths[min(tenths)], tenths[max(tenths)])
    word = "flat" if grown <= _MOST_GROWTH else "NOT FLAT"
    print(f"{scheduler}: {word}, {100 * grown:+.1f} % since the first tenth\n")
    return grown <= _MOST_GROWTH


def growth(early: list[Sample], late: list[Sample]) -> float:
    """Return by what share the one of the two that grew more has grown."""
    return max(
        after / before - 1
        for before, after in zip(medians(early), medians(late), strict=True)
    )


def medians(samples: list[Sample]) -> tuple[float, float]:
    """Return the median memory of harness and worker."""
    return (
        median(each.harness for each in samples),
        median(each.worker for each in samples),
    )


if __name__ == "__main__":
    sys.exit(main())
