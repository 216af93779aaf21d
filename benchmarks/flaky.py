"""Put every shipped scenario under Hypothesis, and look for what it calls flaky.

    python benchmarks/flaky.py [--seeds 20] [--budget 10] [--examples 3] [GLOB]...

Each scenario becomes a property in which more of each actor may take part than it says.
With each seed the property either holds or is falsified by a race; anything else, such
as `Flaky` or a failed health check, ends the benchmark with status 1.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from racecheck.scenario import load, select  # noqa: E402  the path is known now
from tests.property.shipped import BLAMED, outcome  # noqa: E402  as above


def main() -> int:
    """Go through all scenarios, and print a line for each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("globs", nargs="*")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--budget", type=int, default=10)
    parser.add_argument("--examples", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    options = parser.parse_args()
    begun = time.monotonic()
    total: Counter[str] = Counter()
    scenarios = select(load([ROOT / "scenarios"]), options.globs)
    for loaded in scenarios:
        if loaded.scenario.engine == "stress":
            continue  # What the machine picks is another thing each time.
        if time.monotonic() - begun > options.seconds:
            print("stopped: time is up")
            break
        found = Counter(
            outcome(loaded.scenario, number, options.budget, options.examples)
            for number in range(options.seeds)
        )
        total += found
        total["scenarios"] += 1
        shown = ", ".join(f"{text} {count}" for text, count in sorted(found.items()))
        print(f"{loaded.name}: {shown}", flush=True)
    print(f"{time.monotonic() - begun:.0f} s: {dict(total)}")
    return int(any(text.startswith(BLAMED) for text in total))


if __name__ == "__main__":
    sys.exit(main())
