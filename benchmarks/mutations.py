"""Put every mutant of the shipped subjects to the scenarios, and tell which survive.

    python benchmarks/mutations.py [--named] [--jobs N] [--only TEXT]

It takes some minutes. The status is 1 if a mutant survives of which nobody has said
why, or if one is found out that was said to be harmless.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.scenarios.mutants import Mutant, found_by
from tests.scenarios.mutations import generated, named


def main() -> int:
    """Put the chosen mutants to their scenarios.

    Returns:
        The exit status.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--named", action="store_true", help="only those with a name")
    parser.add_argument("--only", default="", help="only those with this in the name")
    parser.add_argument("--jobs", type=int, default=1, help="mutants at the same time")
    options = parser.parse_args()
    mutants = [*named(), *(() if options.named else generated())]
    mutants = [mutant for mutant in mutants if options.only in mutant.name]
    wrong = 0
    with ThreadPoolExecutor(options.jobs) as pool:
        for mutant, found in zip(mutants, pool.map(put, mutants), strict=True):
            wrong += bool(found) == bool(mutant.harmless)
            word = "found out" if found else "SURVIVES "
            why = found or mutant.harmless or "and nobody has said why"
            print(f"{word} {mutant.module}: {mutant.name}\n          {why}", flush=True)
    print(f"{len(mutants)} mutants, {wrong} not as said")
    return 1 if wrong else 0


def put(mutant: Mutant) -> str:
    """Return what finds a mutant out."""
    with tempfile.TemporaryDirectory() as folder:
        return found_by(mutant, Path(folder))


if __name__ == "__main__":
    sys.exit(main())
