"""The reports that are kept are those that their trace files give."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from racecheck.report.folder import render_folder
from racecheck.storage import read_trace

if TYPE_CHECKING:
    from racecheck.model import Race

EXAMPLES = Path(__file__).parents[2] / "reports" / "examples"
TRACES = sorted(EXAMPLES.glob("*.trace"))
MOST_BYTES = 300_000
SHORT = 30


@pytest.fixture(scope="module")
def races() -> dict[str, Race]:
    """The races of the examples, by the name of their files."""
    return {path.stem: read_trace(path) for path in TRACES}


def test_each_page_is_the_one_that_its_trace_file_gives(tmp_path: Path) -> None:
    # After a change of how pages look, `make examples` makes them anew.
    made = {page.name: page.read_bytes() for page in render_folder(EXAMPLES, tmp_path)}
    kept = {page.name: page.read_bytes() for page in EXAMPLES.glob("*.html")}

    assert made.keys() == kept.keys()
    assert [name for name in made if made[name] != kept[name]] == []


def test_there_is_one_of_each_family(races: dict[str, Race]) -> None:
    systems = {race.finding.trace.scenario.split("/")[0] for race in races.values()}

    assert systems >= {"head_image", "overlay", "ensure_symlink", "names"}


@pytest.mark.parametrize("path", TRACES, ids=lambda path: path.stem)
def test_pages_of_short_executions_are_small(path: Path) -> None:
    race = read_trace(path)
    size = path.with_suffix(".html").stat().st_size

    assert size <= MOST_BYTES * max(1, len(race.finding.trace.steps) / SHORT)


@pytest.mark.parametrize("path", TRACES, ids=lambda path: path.stem)
def test_each_was_confirmed_and_has_the_code_of_its_steps(path: Path) -> None:
    finding = read_trace(path).finding

    assert finding.confirmed
    detail = finding.trace.detail
    assert detail is not None
    calls = [
        step
        for step in finding.trace.steps
        if step.call not in {"return", "exit_group"}
    ]
    assert all(detail.moments[step.index].stack >= 0 for step in calls)
    assert any(not frame.library for frame in detail.frames)
    assert not any(frame.file.startswith("/") for frame in detail.frames)
