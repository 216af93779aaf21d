"""Run programs with threads and children a thousand times, and see what they do.

Run from the checkout: `python -m benchmarks.tasks [--times N] [NAME ...]`. For each
program it prints in how many of its executions the same steps came for the same seed,
and how many different orders the seeds led to. It ends with status 1 if one execution
went otherwise. The process is started as a worker is, and nothing is used again.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

_READY = "RACECHECK_BENCHMARK"
_SEEDS = 5


def main() -> int:
    """Start again as a worker does, then run the programs."""
    parser = argparse.ArgumentParser(description="Repeat programs with several tasks")
    parser.add_argument("--times", type=int, default=1000, help="executions of each")
    parser.add_argument("names", nargs="*", help="programs, all of them by default")
    options = parser.parse_args()
    if _READY not in os.environ:
        from benchmarks.engine import become_worker  # noqa: PLC0415  not found later

        become_worker(__file__)
    sys.path[:] = os.environ.pop(_READY).split(os.pathsep)
    # The path is known now.
    from tests.tasks.programs import COMPILED, PROGRAMS  # noqa: PLC0415

    names = options.names or [*PROGRAMS, *COMPILED]
    # One after the other, each in a process that has not run another.
    return min(1, sum(_run_apart(name, options.times) for name in names))


def _run_apart(name: str, times: int) -> bool:
    """Run one program in a fork of this process; say whether anything differed."""
    pid = os.fork()
    if pid == 0:
        try:
            os._exit(_run(name, times))
        finally:
            os._exit(2)
    return bool(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))


def _run(name: str, times: int) -> int:
    from tests.tasks.compiling import compiled  # noqa: PLC0415  the path is known now
    from tests.tasks.programs import scenario_of  # noqa: PLC0415
    from tests.tasks.repeating import repeat  # noqa: PLC0415

    os.setsid()
    with tempfile.TemporaryDirectory() as folder:

        def compile_c(name: str) -> Path:
            program = compiled(name, Path(folder))
            if program is None:
                sys.exit("no C compiler")
            return program

        scenario = scenario_of(name, compile_c)
        started = time.perf_counter()
        found = repeat(scenario, range(_SEEDS), max(1, times // _SEEDS))
    seconds = time.perf_counter() - started
    total = sum(sum(traces.values()) for traces in found.traces.values())
    verdicts = ", ".join(sorted({verdict for verdict, _ in found.verdicts}))
    sys.stdout.write(
        f"{name}: {found.same} of {total} the same, {found.orders} orders of {_SEEDS} "
        f"seeds, {verdicts}, {total / seconds:.0f}/s\n"
    )
    sys.stdout.flush()
    return int(found.same < total)


if __name__ == "__main__":
    sys.exit(main())
