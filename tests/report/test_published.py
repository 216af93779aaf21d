"""The page of released packages says what the table of the benchmark asks for."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from racecheck.report.diagnosis.kinds import Known

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "benchmarks" / "published"
PAGE = (ROOT / "docs" / "published.md").read_text("utf-8")
TABLE: list[dict[str, Any]] = tomllib.loads((FOLDER / "table.toml").read_text("utf-8"))[
    "package"
]
NAMES = [each["name"] for each in TABLE]


def rows() -> list[list[str]]:
    """Return the cells of the page's table, a list for each release."""
    lines = [line for line in PAGE.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


@pytest.mark.parametrize("package", TABLE, ids=NAMES)
def test_a_package_has_its_scenario_and_a_cause_that_is_known(
    package: dict[str, Any],
) -> None:
    file = package.get("file", f"scenario_{package['name']}.py")

    assert (FOLDER / file).is_file()
    assert package["cause"] in {kind.pattern for kind in Known}


def test_every_scenario_is_of_a_package() -> None:
    files = {each.get("file", f"scenario_{each['name']}.py") for each in TABLE}

    assert files == {path.name for path in FOLDER.glob("scenario_*.py")}


@pytest.mark.parametrize(("index", "package"), list(enumerate(TABLE)), ids=NAMES)
def test_the_page_has_both_releases_with_report_and_cause(
    index: int, package: dict[str, Any]
) -> None:
    faulty, fixed = rows()[2 * index : 2 * index + 2]

    assert faulty[0].split(",")[0] == package["name"]
    assert faulty[1] == package["faulty"]
    assert package["report"] in faulty[2]
    assert faulty[3] in package["breaks"]
    assert f"recipes.md#{package['cause']}" in faulty[4]
    assert [fixed[0], *fixed[1:2], *fixed[3:5]] == ["", package["fixed"], "", ""]


def test_the_page_has_no_other_rows() -> None:
    assert len(rows()) == 2 * len(TABLE)
