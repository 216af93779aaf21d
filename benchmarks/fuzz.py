"""Gives racecheck what is no input or means nothing, ten thousand times.

    python benchmarks/fuzz.py [COUNT]

The tests do the same with a few hundred; see tests/fuzz.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
KINDS = 7


def main(count: int) -> int:
    """Run the tests with `count` inputs in all, and return their status."""
    each = -(-count // KINDS)
    print(f"{each} inputs of each of {KINDS} kinds", flush=True)
    command = [sys.executable, "-m", "pytest", "-q", "--timeout=0", "tests/fuzz"]
    environment = {**os.environ, "RACECHECK_EXAMPLES": str(each)}
    return subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if sys.argv[1:] else 10_000))
