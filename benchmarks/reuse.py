"""Compare executions in used processes with executions in fresh ones, in one run.

Run from the checkout: `python -m benchmarks.reuse [--rounds N] [--traces N]`. Both are
of two writers that make six calls each, measured in turn on one CPU in a process that
is started as a worker is. A ratio is taken within each round, and the median shown.
Then the same schedules are run both ways; it ends with status 1 if two of them differ.
"""

from __future__ import annotations

import argparse
import os
import sys
from statistics import median

_READY = "RACECHECK_BENCHMARK"
_FRESH, _USED = 20, 200


def main() -> int:
    """Start again as a worker does, then measure and compare."""
    parser = argparse.ArgumentParser(description="Compare used processes with fresh")
    parser.add_argument("--rounds", type=int, default=20, help="rounds of both")
    parser.add_argument("--traces", type=int, default=500, help="schedules run twice")
    options = parser.parse_args()
    if _READY not in os.environ:
        from benchmarks.engine import become_worker  # noqa: PLC0415  not found later

        become_worker(__file__)
    sys.path[:] = os.environ.pop(_READY).split(os.pathsep)
    # The path is known now. All that a worker has loaded makes forks cost what they do.
    import racecheck.explore.worker  # noqa: F401, PLC0415
    from benchmarks.sides import WRITERS, Ours  # noqa: PLC0415
    from racecheck.engine import Machine  # noqa: PLC0415

    with Machine() as machine:
        ours = Ours(machine, WRITERS, 1)
        fresh, used = [], []
        for number in range(options.rounds + 1):
            times = ours.execution(_FRESH), ours.execution(_USED, reuse=True)
            if number:
                # The round before has warmed both up.
                fresh.append(times[0])
                used.append(times[1])
        ratios = [slow / fast for slow, fast in zip(fresh, used, strict=True)]
        _print("fresh processes", fresh)
        _print("used processes", used)
        sys.stdout.write(
            f"ratio: {median(ratios):.1f} ({min(ratios):.1f} to {max(ratios):.1f}), "
            f"load {os.getloadavg()[0]:.1f}\n"
        )
        sys.stdout.flush()
        different = sum(not ours.same_both_ways() for _ in range(options.traces))
    sys.stdout.write(f"{options.traces - different} of {options.traces} traces equal\n")
    return int(different > 0)


def _print(what: str, times: list[float]) -> None:
    sys.stdout.write(
        f"{what}: {1 / median(times):.0f} executions/s, at best {1 / min(times):.0f}\n"
    )


if __name__ == "__main__":
    sys.exit(main())
