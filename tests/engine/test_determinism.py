"""Guards that executions are the same again, whatever surrounds them.

The benchmark does the work, on some of the shipped scenarios; by hand it goes through
all of them.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.processes, pytest.mark.slow]

ROOT = Path(__file__).parents[2]


def determinism(*words: str) -> str:
    """Run the benchmark, and return what it printed if nothing differed."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.determinism", *words],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode == 2:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_seeds_give_the_same_when_run_again_and_when_replayed() -> None:
    told = determinism("--replays", "0", "--seeds", "200", "--scenarios", "12")

    assert told.startswith("200 seeds of 12 scenarios (")
    assert ": 0 differ between run, rerun and replay; " in told


def test_replays_give_the_same_file_in_any_surroundings() -> None:
    told = determinism("--replays", "6", "--seeds", "0", "--seed", "3")

    assert told.startswith("6 replays of rc1-")
    assert ": 1 different traces, 0 not like the most; " in told
