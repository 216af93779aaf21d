"""Guards that Hypothesis finds nothing flaky; `benchmarks/flaky.py` looks longer."""

from __future__ import annotations

from pathlib import Path

import pytest

from racecheck.scenario import load, select
from tests.property.shipped import outcome

ROOT = Path(__file__).parents[2]


@pytest.mark.processes
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("names/lost_update/unlocked", "a race"),
        ("names/lost_update/locked", "holds"),
        ("names/fixed_temp/fixed", "a race"),
    ],
)
def test_shipped_scenarios_are_not_flaky(name: str, expected: str) -> None:
    (found,) = select(load([ROOT / "scenarios"]), [name])
    outcomes = {outcome(found.scenario, seed, budget=20, examples=2) for seed in (0, 1)}
    assert outcomes == {expected}
