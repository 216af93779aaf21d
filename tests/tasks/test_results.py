"""Guards that programs with several tasks come to the same end as without racecheck."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
from typing import TYPE_CHECKING

import pytest

from racecheck.model import Verdict
from racecheck.scenario import Scenario
from racecheck.scheduling import RandomWalkScheduler
from tests.engine.lab import run, run_all
from tests.tasks.programs import COMPILED, PROGRAMS, scenario_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from multiprocessing.context import ForkContext, ForkServerContext, SpawnContext
    from pathlib import Path

pytestmark = pytest.mark.processes

SEEDS = 4


def settled(files: dict[str, str]) -> dict[str, list[str]]:
    """Return what does not depend on the order of tasks: the words of each file.

    Process ids do not count, which are real where racecheck has no hand in it, whether
    they stand by themselves or in a row. What the programs count is below a hundred.
    """
    return {
        name: sorted(word for word in text.split() if not has_process_id(word))
        for name, text in files.items()
    }


def has_process_id(word: str) -> bool:
    return len(word) >= len("1001") or (word.isdigit() and int(word) >= 100)


def really(name: str, box: Path, compile_c: Callable[[str], Path]) -> dict[str, str]:
    """Run a program without racecheck, and return the files that it leaves."""
    if name in PROGRAMS:
        # By an exec, since the test's process may have threads.
        process = multiprocessing.get_context("spawn").Process(
            target=PROGRAMS[name], args=[box]
        )
        process.start()
        process.join()
        assert process.exitcode == 0
    else:
        subprocess.run([compile_c(name), box], check=True)
    return {path.name: path.read_text() for path in box.iterdir()}


@pytest.mark.parametrize(
    "name",
    [*PROGRAMS, *(pytest.param(n, marks=pytest.mark.compiler) for n in COMPILED)],
)
def test_a_program_leaves_what_it_leaves_without_racecheck(
    name: str, compile_c: Callable[[str], Path], tmp_path: Path
) -> None:
    expected = settled(really(name, tmp_path, compile_c))
    scenario = scenario_of(name, compile_c)

    for seen in run_all(scenario, [RandomWalkScheduler(seed) for seed in range(SEEDS)]):
        assert seen.trace.verdict is Verdict.PASSED, seen.trace.reason
        assert settled(seen.files) == expected


@pytest.mark.parametrize(
    ("context", "verdict", "reason"),
    [
        (multiprocessing.get_context("fork"), Verdict.PASSED, ""),
        (multiprocessing.get_context("spawn"), Verdict.PASSED, ""),
        (
            multiprocessing.get_context("forkserver"),
            Verdict.UNKNOWN,
            "bind of a socket to a path",
        ),
    ],
    ids=["fork", "spawn", "forkserver"],
)
def test_each_way_to_start_a_child_is_under_control_or_named(
    context: ForkContext | SpawnContext | ForkServerContext,
    verdict: Verdict,
    reason: str,
) -> None:
    made = Scenario("starting")

    @made.actor
    def act(box: Path) -> None:
        child = context.Process(target=os.mkdir, args=[box / "made"])
        child.start()
        child.join()

    seen = run(made)

    assert seen.trace.verdict is verdict, seen.trace.reason
    assert reason in seen.trace.reason
    assert verdict is Verdict.UNKNOWN or (seen.operation("act").succeeded)


def test_tasks_have_ids_of_their_own_in_the_order_of_their_births(
    compile_c: Callable[[str], Path],
) -> None:
    (seen,) = run_all(scenario_of("fork", compile_c), [RandomWalkScheduler(0)])

    assert seen.files["log"].splitlines() == ["2001 0", "3001 1", "4001 0"]
    assert (seen.files["0"], seen.files["1"]) == ("2001", "3001")
