"""Guards that scenarios of the usual size are covered, and in how few executions.

The bounds are numbers of inequivalent orders with some room. A relation that takes more
steps for dependent than are goes beyond them long before anybody notices the time.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

from racecheck.api import Options, explore, explore_all
from racecheck.invariants import no_lost_writes, temp_files_bounded, whole_images
from racecheck.model import Coverage, Verdict
from racecheck.scenario import Budget, Scenario, crashes, load, select
from scenarios.head_image.image import validate
from scenarios.head_image.serves import IMAGE, SECTIONS
from scenarios.head_image.serves import load as warm_serve
from scenarios.head_image.writers import Writer, write_pid, write_shared

if TYPE_CHECKING:
    from racecheck.model import ScenarioResult

pytestmark = [pytest.mark.processes, pytest.mark.slow]

ROOT = Path(__file__).parents[2]


class Case(NamedTuple):
    """A number of cold serves of one head image.

    Attributes:
        name: What is special.
        writers: How many write it.
        readers: How many read it.
        most: Executions that have to be enough.
        temps: Whether temp files are counted.
        crash: Whether one writer may be killed, anywhere.
    """

    name: str
    writers: int
    readers: int
    most: int
    temps: bool = False
    crash: bool = False


CASES = (
    Case("two writers and a reader", 2, 1, 12),
    Case("three writers and a reader", 3, 1, 60),
    Case("two, and temp files are counted", 2, 1, 12, temps=True),
    Case("three, and temp files are counted", 3, 1, 200, temps=True),
    Case("two writers, one of which may be killed", 2, 0, 40, temps=True, crash=True),
)


def cold_serves(case: Case, write: Writer) -> Scenario:
    """Return cold serves that write the image in one way."""
    scenario = Scenario(
        "cold_serves",
        invariants=[
            whole_images(IMAGE, validate),
            no_lost_writes(),
            *([temp_files_bounded(f"{IMAGE}.tmp*")] if case.temps else []),
        ],
        faults=[crashes(1)] if case.crash else [],
    )

    def serve(box: Path) -> bool:
        return write(box / IMAGE, SECTIONS)

    scenario.writer(serve, count=case.writers, succeeds=bool)
    if case.readers:
        scenario.reader(warm_serve, count=case.readers)
    return scenario


def explored(case: Case, write: Writer) -> ScenarioResult:
    """Explore them."""
    options = Options(budget=Budget(executions=1000), shrink=False)
    return explore(cold_serves(case, write), options)


def test_without_sleep_sets_the_same_is_proven_in_more_executions() -> None:
    results = [
        explore(cold_serves(CASES[0], write_pid), Options(scheduler=scheduler))
        for scheduler in ("dpor", "dpor-awake")
    ]

    asleep, awake = results
    assert {result.coverage for result in results} == {Coverage.COMPLETE}
    assert {result.verdict for result in results} == {Verdict.PASSED}
    assert awake.bounds["given_up"] == 0
    assert awake.executions > asleep.executions


def id_of(case: Case) -> str:
    return case.name.replace(" ", "-")


@pytest.mark.parametrize("case", CASES, ids=id_of)
def test_temp_names_of_ones_own_are_proven_in_few_executions(case: Case) -> None:
    result = explored(case, write_pid)

    assert result.verdict is Verdict.PASSED, result.reason
    assert result.coverage is Coverage.COMPLETE
    assert 1 < result.executions <= case.most
    assert result.bounds["sampled"] == 0


@pytest.mark.parametrize("case", CASES, ids=id_of)
def test_a_temp_name_in_common_is_found_out_in_as_few(case: Case) -> None:
    result = explored(case, write_shared)

    assert result.verdict is Verdict.VIOLATED
    assert max(finding.execution for finding in result.findings) <= case.most


def test_two_builders_of_an_overlay_are_proven_in_few_executions() -> None:
    (found,) = select(
        load([ROOT / "scenarios"]), ["overlay/builders_of_two_files/two/fixed"]
    )

    (result,) = explore_all([found], Options())

    assert result.verdict is Verdict.PASSED, result.reason
    assert result.coverage is Coverage.COMPLETE
    assert 1 < result.executions <= 60


def test_two_builders_as_they_were_reported_overwrite_the_model_itself() -> None:
    (found,) = select(
        load([ROOT / "scenarios"]), ["overlay/builders_of_two_files/two/faulty"]
    )

    (result,) = explore_all([found], Options(shrink=False))

    assert result.as_expected
    assert "source_untouched" in {finding.invariant for finding in result.findings}
