"""Compare the search with all orders of many small random programs.

Run from the checkout: `python -m benchmarks.brute_force --programs 1000`. It ends with
status 1 if the search missed an order or anything that came of one, took one twice, or
if footprints were wrong. Runs with other seeds are independent of each other, so that
several processes can share the work.
"""

from __future__ import annotations

import argparse
import os
import sys
import time

from racecheck.engine import Machine
from tests.footprint.stage import Stage
from tests.orders.comparing import Count, compare

_TELL_EVERY_S = 60


def main() -> int:
    """Run, and print the figures."""
    parser = argparse.ArgumentParser(description="Run all orders of random programs.")
    parser.add_argument("--first", type=int, default=0, help="first seed")
    parser.add_argument("--programs", type=int, default=1000, help="number of seeds")
    parser.add_argument("--seconds", type=float, help="end after this time")
    parser.add_argument("--cpu", type=int, default=-1, help="CPU to run on")
    options = parser.parse_args()
    if options.cpu >= 0:
        os.sched_setaffinity(0, {options.cpu})
    count = Count()
    started = told = time.perf_counter()
    with Machine() as machine:
        stage = Stage(machine)
        for seed in range(options.first, options.first + options.programs):
            wrong = len(count.wrong)
            compare(stage, seed, count)
            print(
                *count.wrong[wrong:],
                sep="\n",
                end="\n" if len(count.wrong) > wrong else "",
                flush=True,
            )
            now = time.perf_counter()
            if options.seconds and now - started > options.seconds:
                break
            if now - told > _TELL_EVERY_S:
                told = now
                print(f"{seed}: {len(count.wrong)} wrong", file=sys.stderr, flush=True)
    show(count, time.perf_counter() - started)
    return 1 if count.wrong else 0


def show(count: Count, seconds: float) -> None:
    """Print what was found out."""
    actors = ", ".join(f"{n} with {k}" for k, n in sorted(count.actors.items()))
    rows = (
        ("programs", f"{count.programs}, by actors: {actors}"),
        *((f"left out: {why}", n) for why, n in count.left_out.items()),
        ("of which more than one thing came", count.racy),
        ("in which somebody can wait for ever", count.waiting),
        ("orders", count.orders),
        ("inequivalent orders", count.sorts),
        ("outcomes", count.outcomes),
        ("executions of the search", count.executions),
        ("... given up as repetitions", count.blocked),
        ("executions without sleep sets", count.without),
        ("programs with something wrong", len(count.wrong)),
        ("seconds", f"{seconds:.0f}"),
    )
    for name, value in rows:
        print(f"{name:36} {value}")


if __name__ == "__main__":
    sys.exit(main())
