"""Swap many neighbouring steps of random programs and compare what comes of it.

Run from the checkout: `python -m benchmarks.commutation --seeds 1000`. It ends with
status 1 if two steps that were judged independent made a difference, and prints how
often a conflict made none, by what the steps conflicted on. Runs with other seeds are
independent of each other, so that several processes can share the work.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter

from racecheck.engine import Machine
from tests.footprint.commuting import Count, check
from tests.footprint.stage import Stage


def main() -> int:
    """Run, and print the figures."""
    parser = argparse.ArgumentParser(description="Swap steps of random programs.")
    parser.add_argument("--first", type=int, default=0, help="first seed")
    parser.add_argument("--seeds", type=int, default=1000, help="number of seeds")
    parser.add_argument("--pairs", type=int, default=8, help="without a conflict, each")
    parser.add_argument("--dependent", type=int, default=8, help="with one, each")
    options = parser.parse_args()
    count = Count()
    started = time.perf_counter()
    with Machine() as machine:
        stage = Stage(machine)
        for seed in range(options.first, options.first + options.seeds):
            check(stage, seed, count, pairs=options.pairs, dependent=options.dependent)
    show(count, time.perf_counter() - started)
    return 1 if count.wrong else 0


def show(count: Count, seconds: float) -> None:
    """Print what was found out."""
    print(f"{count.executions} executions in {seconds:.0f} s")
    print(f"{count.independent} pairs judged independent, {len(count.wrong)} wrongly")
    print(f"{count.dependent} pairs judged dependent, {count.commuting} needlessly")
    print("conflict on: pairs, needless")
    total = Counter(count.needed) + Counter(count.superfluous)
    for kinds, pairs in total.most_common():
        print(f"  {kinds}: {pairs}, {count.superfluous[kinds]}")
    for text in count.wrong[:3]:
        print(text)


if __name__ == "__main__":
    sys.exit(main())
