"""One side of `determinism`: runs seeds of shipped scenarios and prints digests.

    python -m benchmarks.executions run|rerun SEEDS SCENARIOS SEED

It is started as a worker is, and has a fork for each scenario, as a worker has. A line
an execution: scenario, verdict, seed, digest; after `rerun` also that of a replay. A
digest is of the trace, with what was recorded beside it, and of the box that is left.
"""

from __future__ import annotations

import os
import sys
import traceback
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from racecheck.explore.runner import Runner
    from racecheck.model import Scheduler, Trace
    from racecheck.scenario import Scenario

_READY = "RACECHECK_BENCHMARK"


def main(what: str, seeds: int, count: int, seed: int) -> int:
    """Start again as a worker does, then run."""
    if _READY not in os.environ:
        from benchmarks.alone import have_own_shared_memory  # noqa: PLC0415  not later
        from benchmarks.engine import become_worker  # noqa: PLC0415

        if not have_own_shared_memory():
            return 2
        # The two sides are on different processors, if there are two.
        usable = sorted(os.sched_getaffinity(0))
        become_worker(__file__, usable[0 if what == "run" else -1])
    sys.path[:] = os.environ.pop(_READY).split(os.pathsep)
    os.umask(0o022)
    import racecheck.explore.worker  # noqa: F401, PLC0415  as a worker has it

    for scenario, numbers in shares(seeds, count, seed):
        pid = os.fork()
        if pid == 0:
            try:
                for line in executions(scenario, numbers, replayed=what == "rerun"):
                    sys.stdout.write(f"{line}\n")
                sys.stdout.flush()
                os._exit(0)
            except BaseException:  # noqa: BLE001  told, and the process ends
                traceback.print_exc()
            finally:
                os._exit(1)
        if os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]):
            return 1
    return 0


def shares(seeds: int, count: int, seed: int) -> Iterator[tuple[Scenario, list[int]]]:
    """Yield scenarios with the seeds that each has to be run with."""
    import random  # noqa: PLC0415  the path is known now
    from pathlib import Path  # noqa: PLC0415

    from racecheck.scenario import load  # noqa: PLC0415

    found = load([Path(__file__).parents[1] / "scenarios"])
    # Under stress no order is repeated.
    chosen = [each.scenario for each in found if each.scenario.engine != "stress"]
    random.Random(seed).shuffle(chosen)
    chosen = chosen[: count or None]
    for place, scenario in enumerate(chosen):
        yield scenario, list(range(place, seeds, len(chosen)))


def executions(
    scenario: Scenario, seeds: Sequence[int], *, replayed: bool
) -> Iterator[str]:
    """Yield a line for each seed of a scenario."""
    from racecheck.explore.worker import replay  # noqa: PLC0415  the path is known now
    from racecheck.storage import Token, encode  # noqa: PLC0415

    with running(scenario) as (runner, box):
        for seed in seeds:
            trace = run(runner, seed)
            digests = [digest(trace, box)]
            if replayed:
                again = replay(runner, encode(Token.of(trace)))
                digests.append(digest(again.trace, box))
            yield "\t".join([scenario.name, trace.verdict, str(seed), *digests])


@contextmanager
def running(scenario: Scenario) -> Iterator[tuple[Runner, Path | None]]:
    """Give what runs a scenario, with the box that it leaves on the disk."""
    from racecheck.engine import Machine  # noqa: PLC0415  the path is known now
    from racecheck.explore.runner import Runner  # noqa: PLC0415

    if scenario.engine == "simulated":
        from racecheck.explore.simulated import SimulatedRunner  # noqa: PLC0415
        from racecheck.simulated import Stage  # noqa: PLC0415

        with Stage(scenario.simulation) as stage:
            yield SimulatedRunner(stage, scenario), None
        return
    with Machine(max_cpu_s=scenario.max_cpu_s) as machine:
        yield Runner(machine, scenario), machine.sandbox.box


def run(runner: Runner, seed: int) -> Trace:
    """Run the execution of a seed, under one of the schedulers."""
    scheduler = scheduler_of(runner.scenario, seed)
    started = scheduler.start_execution()
    assert started is not None
    trace = runner.run(scheduler, started, footprints=True, outputs=True, record=True)
    assert trace is not None
    return trace


def scheduler_of(scenario: Scenario, seed: int) -> Scheduler:
    """Return what decides in the execution of a seed: a walk, PCT and POS in turn."""
    from racecheck.scheduling import (  # noqa: PLC0415  the path is known now
        PCTScheduler,
        PlannedFaultsScheduler,
        POSScheduler,
        RandomWalkScheduler,
    )
    from racecheck.scheduling.random_faults import (  # noqa: PLC0415
        RandomFaultsScheduler,
    )

    kind = (RandomWalkScheduler, PCTScheduler, POSScheduler)[seed % 3]
    return PlannedFaultsScheduler(RandomFaultsScheduler(kind(seed)), scenario.faults)


def digest(trace: Trace, box: Path | None) -> str:
    """Return a digest of an execution and of what it has left."""
    from hashlib import blake2b  # noqa: PLC0415  the path is known now

    from racecheck.storage.canonical import canonical_bytes  # noqa: PLC0415

    made = blake2b(canonical_bytes(trace), digest_size=8)
    for line in tree(box) if box is not None else ():
        made.update(line)
    return made.hexdigest()


def tree(box: Path) -> Iterator[bytes]:
    """Yield all that is below a folder: path, kind and mode, target or content."""
    for folder, folders, files in os.walk(box):
        folders.sort()
        for name in sorted([*folders, *files]):
            path = os.path.join(folder, name)
            mode = os.lstat(path).st_mode
            yield f"{os.path.relpath(path, box)} {mode:o} ".encode(errors="replace")
            if os.path.islink(path):
                yield os.fsencode(os.readlink(path))
            elif os.path.isfile(path):
                with open(path, "rb") as file:
                    yield file.read()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], *map(int, sys.argv[2:])))
