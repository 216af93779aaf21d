"""Guards that nothing is left of runs that are ended, in each way that there is.

The benchmark does the work, a few times; it is given hundreds by hand.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.processes, pytest.mark.slow]

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("way", ["jobs", "pytest", "xdist"])
def test_nothing_is_left_of_runs_that_are_ended(way: str) -> None:
    counts = ("--kills", "4", "--interrupts", "2", "--seed", "7")
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.killed", way, *counts],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode == 2:
        pytest.skip(done.stderr.strip())

    assert done.returncode == 0, done.stdout + done.stderr
    told = [line.split()[:3] for line in done.stdout.splitlines()]
    assert told == [[way, "SIGKILL", "4"], [way, "Ctrl-C", "2"], [way, "SIGINT", "2"]]
    assert done.stdout.count("left behind: 0") == 3
