"""Guards that an exploration needs no more memory the longer it goes on.

The long form is `benchmarks/memory.py`.
"""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING

import pytest

from benchmarks.memory import SCENARIOS, growth, measure
from racecheck.engine import Machine
from racecheck.explore.runner import Runner
from racecheck.scenario import Scenario, load, select
from racecheck.scheduling import RandomWalkScheduler
from tests.engine.lab import in_child

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.processes, pytest.mark.slow]

# What is kept of 2,000 executions if something is: their steps alone are 20 MB.
EXECUTIONS = 2000
BOUND = 0.15

LEAKING = """
from racecheck.invariants import invariant
from racecheck.scenario import Scenario

kept = []


@invariant
def keeps(view, history):
    # It is asked again whenever that may have changed.
    view.exists("file")
    kept.append(b"x" * 20_000)


leaking = Scenario("leaking", invariants=[keeps])


@leaking.writer(count=2)
def save(box):
    (box / "file").touch()
"""


def test_memory_stays_the_same_over_thousands_of_executions() -> None:
    (counter,) = select(load([SCENARIOS]), ["beside/counter"])

    samples = measure(counter, "random", EXECUTIONS)

    # The first tenth fills caches that are bounded.
    early = [each for each in samples if each.executions >= EXECUTIONS // 10]
    assert growth(early[:5], early[-5:]) < BOUND


def test_what_is_kept_of_each_execution_would_be_noticed(tmp_path: Path) -> None:
    file = tmp_path / "scenario_leaking.py"
    file.write_text(LEAKING)
    (leaking,) = load([file])

    samples = measure(leaking, "random", EXECUTIONS)

    assert growth(samples[:1], samples[-1:]) > BOUND


def test_an_execution_leaves_nothing_to_be_collected() -> None:
    made = Scenario("circles")

    @made.writer(count=2)
    def save(box: Path) -> None:
        (box / "file").write_bytes(b"data")
        (box / "file").replace(box / "other")

    def body() -> list[str]:
        with Machine() as machine:
            runner = Runner(machine, made)
            walk = RandomWalkScheduler(0)

            def run() -> None:
                for reuse in (True, True, False):
                    seed = walk.start_execution() or 0
                    assert runner.run(walk, seed, footprints=True, reuse=reuse)

            run()
            gc.collect()
            gc.disable()
            gc.set_debug(gc.DEBUG_SAVEALL)
            run()
            gc.collect()
            gc.set_debug(0)
            kinds = [type(each) for each in gc.garbage]
        return [str(kind) for kind in kinds if kind.__module__.startswith("racecheck")]

    assert in_child(body) == []
