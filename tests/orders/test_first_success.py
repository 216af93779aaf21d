"""Guards the orders of what is judged once somebody has succeeded.

Whoever succeeds second could have been the first, and then more would have been judged.
So these orders differ, though the second success changes nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from racecheck.api import Options, explore
from racecheck.invariants import whole_images
from racecheck.model import Coverage, Verdict
from racecheck.scenario import Budget, Scenario

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from racecheck.model import ScenarioResult

pytestmark = pytest.mark.processes


def whole(data: bytes) -> bool:
    return data == b"whole"


def found(
    *writers: Callable[[Path], object], scheduler: str = "dpor", broken: bool = False
) -> ScenarioResult:
    """Explore writers of an image that has to be whole once one has succeeded."""
    scenario = Scenario(
        "first_success",
        invariants=[whole_images("image", whole, after="writer")],
        expect={"whole_images"} if broken else (),
    )
    for writer in writers:
        scenario.writer(writer)
    options = Options(scheduler=scheduler, budget=Budget(executions=400), shrink=False)
    return explore(scenario, options)


def mend(box: Path) -> None:
    (box / "image").write_bytes(b"torn")
    (box / "image").write_bytes(b"whole")


def look(box: Path) -> bool:
    return (box / "image").exists()


def replace_one(box: Path) -> None:
    (box / "one").write_bytes(b"whole")
    (box / "one").replace(box / "image")


def replace_two(box: Path) -> None:
    (box / "two").write_bytes(b"whole")
    (box / "two").replace(box / "image")


@pytest.mark.parametrize("writers", [(mend, look), (look, mend)])
def test_what_is_mended_before_the_first_success_is_judged_if_another_succeeds_first(
    writers: tuple[Callable[[Path], object], ...],
) -> None:
    result = found(*writers, broken=True)

    assert result.verdict is Verdict.VIOLATED
    assert [finding.invariant for finding in result.findings] == ["whole_images"]


def test_ends_of_processes_that_have_returned_make_no_orders() -> None:
    results = [
        found(replace_one, replace_two, scheduler=name) for name in ("dpor", "pos")
    ]

    complete, sampled = results
    assert complete.verdict is Verdict.PASSED
    assert complete.coverage is Coverage.COMPLETE
    # Who replaces it first, and whether that one has returned when the other does.
    assert complete.executions == 4
    assert sampled.verdict is Verdict.PASSED
