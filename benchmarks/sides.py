"""The two sides: racecheck's executions and the bare loop's, of the same calls."""

from __future__ import annotations

import gc
import os
import shutil
import sys
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Self

from benchmarks import bare
from benchmarks.calls import CYCLE, cycles

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path
    from types import TracebackType

    from racecheck.engine import Machine
    from racecheck.model import Decision, Scheduler, SchedulingPoint, Step, Trace

WRITERS = 2

# Two actors take turns at random on both sides.
_ORDER = (0, 1, 1, 0, 0, 0, 1, 0, 1, 1, 1, 0, 0, 1)
_INITIAL = {f"shard-{number}": bytes(1024) for number in range(4)}


class Bare:
    """The bare loop, in this process."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._filter = bare.Filter()

    def step(self, actors: int, repeat: int, *, reading: bool) -> float:
        """Return the seconds of one step of long-running actors."""
        done = self._run(actors, repeat, reading=reading)
        return (done.last - done.first) / done.timed

    def execution(self, count: int) -> float:
        """Return the seconds of one execution of short actors, of so many."""
        start = perf_counter()
        for _ in range(count):
            self._run(WRITERS, 1, reading=True)
        return (perf_counter() - start) / count

    def _run(self, actors: int, repeat: int, *, reading: bool) -> bare.Stepped:
        children = [
            bare.start(
                partial(cycles, self._folder, f"actor-{number}", repeat),
                self._filter,
                reading=reading,
            )
            for number in range(actors)
        ]
        done = bare.step_through(children, _ORDER, reading=reading)
        assert done.steps == actors * repeat * CYCLE
        return done


class Slim:
    """The bare loop in a process that has loaded nothing but it."""

    def __init__(self) -> None:
        # The other process has none of this in it.
        from racecheck.engine.claim import claim  # noqa: PLC0415
        from racecheck.engine.sandbox import default_workdir  # noqa: PLC0415

        # A later run removes it if this one is killed.
        self._folder, self._lock = claim(default_workdir())
        box = self._folder / "box"
        box.mkdir()
        self._to, self._from = os.pipe(), os.pipe()
        self.pid = os.posix_spawn(
            sys.executable,
            [sys.executable, "-P", "-s", "-c", _SERVE, str(box), *sys.path],
            os.environ,
            file_actions=[
                (os.POSIX_SPAWN_DUP2, self._to[0], 0),
                (os.POSIX_SPAWN_DUP2, self._from[1], 1),
                (os.POSIX_SPAWN_CLOSE, self._to[1]),
            ],
        )
        os.close(self._to[0])
        os.close(self._from[1])
        # Once it has answered it has loaded what it needs.
        self.execution(1)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        os.close(self._to[1])
        os.close(self._from[0])
        os.waitpid(self.pid, 0)
        shutil.rmtree(self._folder)
        os.close(self._lock)

    def execution(self, count: int) -> float:
        """Return what `Bare.execution` does there."""
        os.write(self._to[1], b"%d\n" % count)
        return float(os.read(self._from[0], 64))


_SERVE = (
    "import sys; sys.path[:] = sys.argv[2:]; "
    "import benchmarks.sides as s; s.serve(sys.argv[1])"
)


def serve(folder: str) -> None:
    """Be the other process of `Slim`, until its input ends.

    Args:
        folder: Where its actors work.
    """
    side = Bare(folder)
    gc.collect()
    gc.freeze()
    for line in sys.stdin:
        os.write(1, f"{side.execution(int(line))}\n".encode())


class _Clocked:
    """A random walk that notes when it was asked for each step.

    Attributes:
        stamps: The times of this execution.
        begin: Called when the first step is about to be chosen, if set.
    """

    def __init__(self, inner: Scheduler) -> None:
        self.stamps: list[float] = []
        self.begin: Callable[[], None] | None = None
        self._inner = inner

    def start_execution(self) -> int | None:
        self.stamps.clear()
        return self._inner.start_execution()

    def choose(
        self, enabled: Sequence[SchedulingPoint], current: str | None
    ) -> Decision | None:
        if self.begin is not None and not self.stamps:
            self.begin()
        self.stamps.append(perf_counter())
        return self._inner.choose(enabled, current)

    def record(self, step: Step) -> None:
        self._inner.record(step)

    def finish_execution(self, steps: Sequence[Step]) -> None:
        self._inner.finish_execution(steps)


class Ours:
    """Racecheck's executions of one scenario, in this process."""

    def __init__(self, machine: Machine, actors: int, repeat: int) -> None:
        """Set the scenario up.

        Args:
            machine: Where it runs.
            actors: How many.
            repeat: Cycles of calls of each.
        """
        # Not loaded above, since the other process has to do without.
        from racecheck.explore.runner import Runner  # noqa: PLC0415
        from racecheck.invariants import (  # noqa: PLC0415
            no_unexpected_errors,
            progress,
        )
        from racecheck.scenario import Scenario  # noqa: PLC0415
        from racecheck.scheduling import RandomWalkScheduler  # noqa: PLC0415

        scenario = Scenario(
            "benchmark",
            invariants=[no_unexpected_errors(), progress()],
            setup=_fill,
            max_steps=1_000_000,
        )
        for number in range(actors):
            scenario.writer(name=f"writer-{number}")(_writer(f"actor-{number}", repeat))
        self._actors = actors
        self._calls = actors * repeat * CYCLE
        self._runner = Runner(machine, scenario)
        self._scheduler = _Clocked(RandomWalkScheduler(1))

    def step(self, begin: Callable[[], None] | None = None) -> float:
        """Return the seconds of one step, of one execution.

        Args:
            begin: Called when the first step is about to be chosen.
        """
        self._scheduler.begin = begin
        steps = self._run()
        stamps = self._scheduler.stamps
        # The first return is the first step that is no call.
        count = next(step.index for step in steps if step.call == "return")
        return (stamps[count] - stamps[0]) / count

    def execution(self, count: int, *, reuse: bool = False) -> float:
        """Return the seconds of one execution, of so many."""
        start = perf_counter()
        for _ in range(count):
            self._run(reuse=reuse)
        return (perf_counter() - start) / count

    def same_both_ways(self) -> bool:
        """Run one execution in used processes and again in fresh ones; compare them."""
        from racecheck.explore.findings import repeat  # noqa: PLC0415  as above

        return not repeat(self._runner, self._trace(reuse=True))[1]

    def _run(self, *, reuse: bool = False) -> Sequence[Step]:
        return self._trace(reuse=reuse).steps

    def _trace(self, *, reuse: bool) -> Trace:
        seed = self._scheduler.start_execution()
        assert seed is not None
        trace = self._runner.run(self._scheduler, seed, reuse=reuse)
        assert trace is not None
        assert trace.verdict == "passed", trace.reason
        # Each actor takes two more: its return and its exit.
        assert len(trace.steps) == self._calls + 2 * self._actors
        return trace


def _fill(box: Path) -> None:
    for name, data in _INITIAL.items():
        (box / name).write_bytes(data)


def _writer(name: str, repeat: int) -> Callable[[Path], None]:
    def write(box: Path) -> None:
        cycles(str(box), name, repeat)

    return write
