"""Count the executions that cover scenarios of the usual size, and take their time.

Run from the checkout: `python -m benchmarks.complete --jobs 2`. It ends with status 1
if one is not covered completely. The tests have those that take a few seconds.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from racecheck.api import Options, explore, explore_all
from racecheck.model import Coverage
from racecheck.scenario import Budget, load, select
from scenarios.head_image.writers import write_pid
from tests.scenarios.test_complete_and_small import CASES, cold_serves

if TYPE_CHECKING:
    from racecheck.model import ScenarioResult

ROOT = Path(__file__).parents[1]
BUILDERS = "overlay/builders_of_two_files"


def main() -> int:
    """Run, and print a row a scenario."""
    parser = argparse.ArgumentParser(description="Cover scenarios completely.")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=600, help="for each")
    options = parser.parse_args()
    asked = Options(jobs=options.jobs, budget=Budget(seconds=options.seconds))
    results = []
    for case in CASES:
        result = explore(cold_serves(case, write_pid), asked)
        show(f"cold serves: {case.name}", result)
        results.append(result)
    for count in ("two", "three"):
        found = select(load([ROOT / "scenarios"]), [f"{BUILDERS}/{count}/fixed"])
        (result,) = explore_all(found, asked)
        show(f"builders of an overlay: {count}", result)
        results.append(result)
    load_now = ", ".join(f"{each:.1f}" for each in os.getloadavg())
    print(f"load {load_now}, {len(os.sched_getaffinity(0))} processors")
    return 0 if all(each.coverage is Coverage.COMPLETE for each in results) else 1


def show(name: str, result: ScenarioResult) -> None:
    """Print one row."""
    of_search, sampled, given_up = (
        result.bounds[each] for each in ("exhaustive", "sampled", "given_up")
    )
    print(
        f"{name:54} {result.verdict}, {result.coverage}: {of_search} executions,"
        f" {given_up} given up, {sampled} samples; {result.seconds:.1f} s",
        flush=True,
    )


if __name__ == "__main__":
    sys.exit(main())
