"""Check the search on as many made-up programs as wanted.

Run from the checkout: `python -m benchmarks.models --programs 100000`. Beside the
search stands what textbook sleep sets miss of the same programs, to show that they are
such that something can be missed. It ends with status 1 if the search has missed
anything, or has run anything twice.
"""

from __future__ import annotations

import argparse
import random
import sys
import time

from racecheck.scheduling import DPORScheduler
from tests.orders.models import (
    TooManyError,
    every_order,
    make_model,
    searched,
    wrong_with,
)


class Textbook(DPORScheduler):
    """The search without races of calls that sleep."""

    def _virtual_races(self, *_: object) -> None:
        """Do nothing."""


def main() -> int:
    """Run, and print what was found."""
    parser = argparse.ArgumentParser(description="Check the search on models.")
    parser.add_argument("--programs", type=int, default=10_000)
    parser.add_argument("--first", type=int, default=0, help="seed of the first")
    parser.add_argument("--orders", type=int, default=2000, help="at most, for each")
    parser.add_argument("--seconds", type=float, help="for all of them")
    options = parser.parse_args()
    started = time.monotonic()
    compared = orders = left_out = wrong = missed = 0
    blocked = {DPORScheduler: 0, Textbook: 0}
    for seed in range(options.first, options.first + options.programs):
        if options.seconds and time.monotonic() - started > options.seconds:
            break
        model = make_model(random.Random(seed))
        try:
            every = every_order(model, most=options.orders)
        except TooManyError:
            left_out += 1
            continue
        compared += 1
        orders += len(every)
        for kind in blocked:
            scheduler = kind()
            found = searched(model, scheduler, carry_on=seed % 2 == 0)
            text = wrong_with(every, found)
            blocked[kind] += scheduler.blocked
            if text and kind is Textbook:
                missed += 1
            elif text:
                wrong += 1
                print(f"seed {seed}: {text}", flush=True)
    rows = (
        ("programs", compared),
        ("left out, with more orders", left_out),
        ("inequivalent orders", orders),
        ("executions given up", blocked[DPORScheduler]),
        ("... by textbook sleep sets", blocked[Textbook]),
        ("wrong with textbook sleep sets", missed),
        ("wrong", wrong),
        ("seconds", f"{time.monotonic() - started:.0f}"),
    )
    for name, value in rows:
        print(f"{name:34} {value}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
