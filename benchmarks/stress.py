"""The loops of the reports, as often as the reports ran them, on tmpfs and on disk.

Run as `python benchmarks/stress.py [--disk DIR] [--only GLOB]`. A faulty writer of
head images has to fail in each of 3 executions, the other faulty subjects in some of 8,
and a repaired one in none of 10. Figures are counts of failed operations, an execution
a column; the seed repeats the delays and not the figures.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from fnmatch import fnmatch
from pathlib import Path

from racecheck.api import Options, explore_all
from racecheck.model import Verdict
from racecheck.report import counts_lines
from racecheck.scenario import Budget, load, select

ROOT = Path(__file__).parents[1]
LOOPS = {
    "head_image/two_loops": (3, 3),
    "head_image/three_loops": (3, 3),
    "ensure_symlink/many_workers": (1, 8),
    "overlay/cold_cache": (1, 8),
}
"""In how many executions a faulty subject has to fail, of how many."""

DISK = Path("/var/tmp")  # noqa: S108  what is made in it has a name of its own
FIXED_RUNS = 10


def main() -> int:
    """Run all loops; 1 if one of them did not do what it has to."""
    parser = argparse.ArgumentParser(description="Run the loops of the reports")
    parser.add_argument("--disk", type=Path, default=DISK, help="folder on a disk")
    parser.add_argument("--only", default="*", help="a glob of scenario names")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    loaded = load([ROOT / "scenarios"])
    wrong = 0
    with tempfile.TemporaryDirectory(dir=options.disk) as disk:
        for kind, workdir in (("tmpfs", None), ("disk", Path(disk))):
            for loop in LOOPS:
                known = [each for each in loaded if each.name.startswith(f"{loop}/")]
                if not known:
                    continue
                for each in select(known, [loop]):
                    if fnmatch(each.name, options.only):
                        wrong += run(each.name, kind, workdir, options.seed)
    return bool(wrong)


def run(name: str, kind: str, workdir: Path | None, seed: int) -> bool:
    """Run one scenario and print what came of it; True if it is not as it has to be."""
    (each,) = select(load([ROOT / "scenarios"]), [name])
    faulty = bool(each.scenario.expect)
    least, faulty_runs = LOOPS[name.rpartition("/")[0]]
    runs = faulty_runs if faulty else FIXED_RUNS
    asked = Options(
        engine="stress", budget=Budget(executions=runs), workdir=workdir, seed=seed
    )
    began = time.monotonic()
    (result,) = explore_all([each], asked)
    took = time.monotonic() - began
    failed = [
        any(counts.failed[number] for counts in result.counts)
        for number in range(result.executions)
    ]
    bad = sum(failed)
    print(
        f"{name} on {kind}: failed in {bad} of {runs} ({result.verdict}, {took:.0f} s)"
    )
    if result.reason:
        print(f"    {result.reason}")
    for line in counts_lines(result):
        print(f"    {line}")
    sys.stdout.flush()
    if faulty:
        return bad < least
    return bool(bad) or result.verdict is not Verdict.PASSED


if __name__ == "__main__":
    sys.exit(main())
