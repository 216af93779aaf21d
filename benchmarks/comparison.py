"""Measures both sides in turn and prints the tables; runs in the worker process."""

from __future__ import annotations

import os
import platform
from functools import partial
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

# Everything that a worker has loaded, so that its forks cost what a worker's cost.
import racecheck.explore.worker  # noqa: F401
from benchmarks.calls import CYCLE
from benchmarks.phases import Phases
from benchmarks.sides import WRITERS, Bare, Ours, Slim
from racecheck.engine import Machine

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

_GOAL = 1.5
_BARE, _OURS = "bare", "racecheck"
_SHORTEST = 5e-8
_SCALES = {"ms": 1e3, "us": 1e6}


class Sizes(NamedTuple):
    """How much is measured.

    Attributes:
        rounds: Rounds of each comparison.
        cycles: Cycles of calls of each actor whose steps are measured.
        executions: Executions of one batch.
    """

    rounds: int
    cycles: int
    executions: int


class _Beside(Machine):
    """A machine that knows of the bare process, and lets it go on."""

    def __init__(self, pid: int) -> None:
        super().__init__()
        self._pid = pid

    @property
    def processes(self) -> tuple[int, ...]:
        return (*super().processes, self._pid)


def compare(sizes: Sizes) -> None:
    """Measure all there is, and print it."""
    slim = Slim()
    with slim, _Beside(slim.pid) as machine:
        # Frozen as a worker's are, whatever comes later.
        short = Ours(machine, WRITERS, 1)
        bare = Bare(str(machine.sandbox.box))
        _print_head(sizes, slim)
        _print_rows(
            f"one execution: {WRITERS} writers of {CYCLE} calls",
            "ms",
            _alternate(
                {
                    "bare, from a bare process": partial(
                        slim.execution, sizes.executions
                    ),
                    _BARE: partial(bare.execution, sizes.executions),
                    _OURS: partial(short.execution, sizes.executions),
                    "racecheck, processes used again": partial(
                        short.execution, sizes.executions, reuse=True
                    ),
                },
                sizes.rounds,
            ),
        )
        for actors in (1, WRITERS):
            ours = Ours(machine, actors, sizes.cycles)
            step = partial(bare.step, actors, sizes.cycles)
            _print_rows(
                f"one step, {actors} actor{'s' * (actors > 1)}",
                "us",
                _alternate(
                    {
                        "bare, reading nothing": partial(step, reading=False),
                        _BARE: partial(step, reading=True),
                        _OURS: ours.step,
                    },
                    sizes.rounds,
                ),
            )
        with Phases() as phases:
            ours = Ours(machine, 1, 10 * sizes.cycles)
            whole = ours.step(begin=phases.reset)
        _print_phases("one step", phases, whole, 10 * CYCLE * sizes.cycles)
        count = sizes.executions * 2
        with Phases() as phases:
            ours = Ours(machine, WRITERS, 1)
            phases.reset()
            whole = ours.execution(count)
        _print_phases("one execution", phases, whole, count)


def _alternate(
    sides: Mapping[str, Callable[[], float]], rounds: int
) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {name: [] for name in sides}
    for number in range(rounds + 1):
        for name, measure in sides.items():
            seconds = measure()
            if number:
                # The round before has warmed both sides up.
                found[name].append(seconds)
    return found


def _print_head(sizes: Sizes, slim: Slim) -> None:
    (cpu,) = os.sched_getaffinity(0)
    print(
        f"Python {platform.python_version()}, Linux {platform.release()}, "
        f"{platform.machine()}, on CPU {cpu} of {os.cpu_count()}, "
        f"load {os.getloadavg()[0]:.1f}"
    )
    print(
        f"worker {memory(os.getpid())}; bare process {memory(slim.pid)}; "
        f"{sizes.rounds} rounds"
    )


def memory(pid: int) -> str:
    """Return how much memory a process has, all of it and what is its own."""
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        fields = dict(line.split(":", 1) for line in file)
    resident, own = (int(fields[name].split()[0]) for name in ("VmRSS", "RssAnon"))
    return f"{resident / 1024:.0f} MB ({own / 1024:.0f} MB its own)"


def _print_rows(title: str, unit: str, found: Mapping[str, Sequence[float]]) -> None:
    print(f"\n{title:<52}{unit:>8}{'min':>8}{'max':>8}    ratio to bare")
    scale = _SCALES[unit]
    base = found[_BARE]
    for name, times in found.items():
        ratios = [ours / theirs for ours, theirs in zip(times, base, strict=True)]
        middle = median(ratios)
        ratio = f"{middle:.2f} ({min(ratios):.2f} to {max(ratios):.2f})"
        if name == _BARE:
            ratio = "1"
        elif name == _OURS:
            ratio += f", goal {_GOAL} {'met' if middle <= _GOAL else 'not met'}"
        figures = "".join(
            f"{scale * value:>8.2f}"
            for value in (median(times), min(times), max(times))
        )
        print(f"  {name:<50}{figures}    {ratio}")


def _print_phases(title: str, phases: Phases, whole: float, count: int) -> None:
    """Print microseconds by phase, the longest first."""
    print(f"\nwhere {title} goes, with clocks that cost time themselves{'us':>9}")
    spent = phases.spent
    for phase, seconds in sorted(spent.items(), key=lambda item: -item[1]):
        if seconds / count >= _SHORTEST:
            print(f"  {phase:<50}{1e6 * seconds / count:>8.1f}")
    print(f"  {'all, with the clocks':<50}{1e6 * whole:>8.1f}")
    if phases.missing:
        print(f"  no longer there to be timed: {', '.join(phases.missing)}")
