"""Runs a program with one seed over and over, and tells whether it did the same."""

from __future__ import annotations

import dataclasses
from collections import Counter
from typing import TYPE_CHECKING

from racecheck.engine import Machine
from racecheck.explore.runner import Runner
from racecheck.scheduling import RandomWalkScheduler

if TYPE_CHECKING:
    from collections.abc import Iterable

    from racecheck.model import Trace, Verdict
    from racecheck.scenario import Scenario


@dataclasses.dataclass(frozen=True, slots=True)
class Repeated:
    """What came of the executions of one scenario.

    Attributes:
        traces: How often each sequence of steps came, by seed.
        verdicts: The verdicts that there were, with their reasons.
    """

    traces: dict[int, Counter[tuple[str, ...]]]
    verdicts: set[tuple[Verdict, str]]

    @property
    def same(self) -> int:
        """In how many executions the most frequent steps of their seed came."""
        return sum(max(each.values()) for each in self.traces.values())

    @property
    def orders(self) -> int:
        """How many different sequences of steps the seeds led to."""
        return len({each.most_common(1)[0][0] for each in self.traces.values()})


def repeat(scenario: Scenario, seeds: Iterable[int], times: int) -> Repeated:
    """Run executions with each seed, all in fresh processes on one machine.

    To be called in a process of its own, as it changes that.
    """
    found = Repeated({}, set())
    with Machine(max_cpu_s=scenario.max_cpu_s) as machine:
        runner = Runner(machine, scenario)
        for seed in seeds:
            traces = found.traces[seed] = Counter()
            for _ in range(times):
                scheduler = RandomWalkScheduler(seed)
                started = scheduler.start_execution()
                assert started is not None
                trace = runner.run(scheduler, started)
                assert trace is not None
                traces[tuple(lines(trace))] += 1
                found.verdicts.add((trace.verdict, trace.reason))
    return found


def lines(trace: Trace) -> list[str]:
    """Return the steps of an execution, with all that came of them."""
    return [
        f"{step.actor}:{step.task} {step.call} {step.args} {step.result} {step.outputs}"
        for step in trace.steps
    ]
