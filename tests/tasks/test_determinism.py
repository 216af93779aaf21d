"""Guards that programs with several tasks do the same for the same seed, every time.

`RACECHECK_TIMES` sets how many executions each of them makes in all.
`benchmarks/tasks.py` makes a thousand of each.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from tests.engine.lab import in_child
from tests.tasks.programs import COMPILED, PROGRAMS, scenario_of
from tests.tasks.repeating import repeat

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = [pytest.mark.processes, pytest.mark.slow]

TIMES = int(os.environ.get("RACECHECK_TIMES", "50"))
SEEDS = 5


@pytest.mark.parametrize(
    "name",
    [*PROGRAMS, *(pytest.param(n, marks=pytest.mark.compiler) for n in COMPILED)],
)
def test_one_seed_gives_one_sequence_of_steps_and_others_give_others(
    name: str, compile_c: Callable[[str], Path]
) -> None:
    scenario = scenario_of(name, compile_c)

    found = in_child(lambda: repeat(scenario, range(SEEDS), max(2, TIMES // SEEDS)))

    assert {verdict for verdict, _ in found.verdicts} == {"passed"}, found.verdicts
    parted = {seed: len(traces) for seed, traces in found.traces.items()}
    assert parted == dict.fromkeys(range(SEEDS), 1)
    # Each program has dozens of orders, so that two seeds seldom lead to the same.
    assert found.orders > 1
