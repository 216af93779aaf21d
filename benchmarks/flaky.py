"""Put every shipped scenario under Hypothesis, and look for what it calls flaky.

    python benchmarks/flaky.py [--seeds 20] [--budget 10] [--examples 3] [GLOB]...

Each scenario becomes a property in which more of each actor may take part than it says.
With each seed the property either holds or is falsified by a race; anything else, such
as `Flaky` or a failed health check, ends the benchmark with status 1.
"""

from __future__ import annotations

import argparse
import copy
import dataclasses
import sys
import time
from collections import Counter
from pathlib import Path

import hypothesis
from hypothesis import Phase, given, seed, settings
from hypothesis import strategies as st

import racecheck
from racecheck.scenario import Scenario, load, select

ROOT = Path(__file__).parents[1]
# Explaining runs an example some dozen times more, which is nothing else.
PHASES = (Phase.generate, Phase.target, Phase.shrink)


@st.composite
def enlarged(draw: st.DrawFn, scenario: Scenario) -> Scenario:
    """Draw a scenario with as many of each actor as there are, or one more."""
    made = copy.copy(scenario)
    made.expect = frozenset()
    made._declarations = [  # noqa: SLF001  it is a copy
        # One more of a single one would have another name, which others may use.
        dataclasses.replace(each, count=each.count + draw(st.integers(0, 1)))
        if each.count > 1
        else each
        for each in scenario._declarations  # noqa: SLF001  as above
    ]
    return made


def outcome(scenario: Scenario, number: int, budget: int, examples: int) -> str:
    """Return what a property comes to with a seed."""

    @seed(number)
    @settings(
        deadline=None,
        database=None,
        max_examples=examples,
        phases=PHASES,
        report_multiple_bugs=False,
    )
    @given(enlarged(scenario))
    def holds(drawn: Scenario) -> None:
        racecheck.check(drawn, budget=budget)

    try:
        holds()
    except racecheck.RaceFoundError:
        return "a race"
    except racecheck.NoVerdictError as error:
        return f"no verdict: {str(error).partition(': ')[2]}"
    except hypothesis.errors.HypothesisException as error:
        return f"HYPOTHESIS: {type(error).__name__}: {error}"
    return "holds"


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
    return int(any(text.startswith("HYPOTHESIS") for text in total))


if __name__ == "__main__":
    sys.exit(main())
