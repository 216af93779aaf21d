"""Hold the search for an order against trying every order, on random histories.

python benchmarks/linearizability.py [HISTORIES [CALLS]]
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from pathlib import Path
from random import Random

sys.path.insert(0, str(Path(__file__).parents[1]))

from racecheck.invariants.models import Model
from racecheck.invariants.ordering import Limit, linear_order, serial_order
from tests.sequential.histories import (
    MODELS,
    history,
    linear_by_force,
    serial_by_force,
)


def main(count: int, most: int) -> None:
    """Compare histories of so many calls at the most; print how long each took."""
    answers: Counter[str] = Counter()
    spent: Counter[str] = Counter()
    for seed in range(count):
        random = Random(seed)
        name = random.choice(sorted(MODELS))
        model = Model(MODELS[name][0])
        calls = sorted(history(random, name, most), key=lambda call: call.start)
        for kind, search, force in (
            ("linearizable", linear_order, linear_by_force),
            ("serializable", serial_order, serial_by_force),
        ):
            begun = time.process_time()
            found = search(calls, model, Limit(1_000_000, 600)).explains
            searched = time.process_time()
            expected = force(calls, model)
            spent[f"{kind}, search"] += searched - begun  # type: ignore[assignment]  # seconds
            spent[f"{kind}, force"] += time.process_time() - searched  # type: ignore[assignment]  # seconds
            assert found == expected, f"seed {seed}: {kind} is {expected}: {calls}"
            answers[f"{kind}: {'yes' if found else 'no'}"] += 1
        if (seed + 1) % 1000 == 0:
            print(f"{seed + 1} agree so far", flush=True)
    print(f"{count} histories, all answers agree")
    for text, number in sorted(answers.items()):
        print(f"{text:<24}{number:>8}")
    for text, seconds in sorted(spent.items()):
        print(f"{text:<24}{seconds:>8.1f} s")


if __name__ == "__main__":
    numbers = [int(each) for each in sys.argv[1:]]
    main(*(numbers + [10_000, 5][len(numbers) :]))
