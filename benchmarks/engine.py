"""What racecheck's steps and executions cost, beside the least that they could cost.

Run as `python benchmarks/engine.py [--rounds N] [--quick]`. Both sides make the same
calls and are measured in turn, in one process that is started as a worker is, on one
CPU. Ratios are taken within a round; the median of the rounds is shown with the least
and the greatest, since a machine is never quiet.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import sys

READY = "RACECHECK_BENCHMARK"
_ADDR_NO_RANDOMIZE = 0x0040000


def main() -> None:
    """Start again as a worker does, then measure."""
    parser = argparse.ArgumentParser(description="Measure steps and executions")
    parser.add_argument("--rounds", type=int, default=20, help="rounds of each ratio")
    parser.add_argument("--quick", action="store_true", help="a tenth of the work")
    parser.add_argument("--cpu", type=int, default=-1, help="CPU to run on")
    options = parser.parse_args()
    if READY not in os.environ:
        become_worker(__file__, options.cpu)
    sys.path[:] = os.environ.pop(READY).split(os.pathsep)
    # The path is known now.
    from benchmarks.comparison import Sizes, compare  # noqa: PLC0415

    if options.quick:
        compare(Sizes(max(3, options.rounds // 5), cycles=50, executions=10))
    else:
        compare(Sizes(options.rounds, cycles=100, executions=50))


def become_worker(file: str, cpu: int = -1) -> None:
    """Execute a script again with what workers have, see `racecheck/explore/boot.py`.

    Args:
        file: The script. It finds the path for its imports in the variable `READY`.
        cpu: CPU to run on, the last one by default.
    """
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0)) if cpu < 0 else cpu})
    libc = ctypes.CDLL(None)
    libc.personality(libc.personality(0xFFFFFFFF) | _ADDR_NO_RANDOMIZE)
    script = os.path.abspath(file)
    root = os.path.dirname(os.path.dirname(script))
    # The script's own folder gives way to the one above, of which it is a package.
    environment = {
        "PATH": os.defpath,
        "LANG": "C.UTF-8",
        "LC_ALL": "C.UTF-8",
        "TZ": "UTC",
        "PYTHONHASHSEED": "0",
        "PYTHONDONTWRITEBYTECODE": "1",
        READY: os.pathsep.join([root, *sys.path[1:]]),
    }
    argv = [sys.executable, "-P", "-s", script, *sys.argv[1:]]
    os.execve(sys.executable, argv, environment)  # noqa: S606  itself


if __name__ == "__main__":
    main()
