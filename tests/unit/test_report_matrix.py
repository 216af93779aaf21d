"""Guards the table of variants against scenarios, on a terminal and as a page."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from racecheck.cli.matrix_file import check_matrix, update_matrix
from racecheck.errors import RacecheckError, UsageError
from racecheck.model import Coverage, Verdict
from racecheck.report import Matrix
from tests.unit.traces import finding, result

if TYPE_CHECKING:
    from pathlib import Path

    from racecheck.model import ScenarioResult


def passed(name: str, executions: int = 6) -> ScenarioResult:
    return result(name, coverage=Coverage.COMPLETE, executions=executions)


def broken(name: str, *invariants: str) -> ScenarioResult:
    return result(
        name,
        verdict=Verdict.VIOLATED,
        coverage=Coverage.CUT,
        executions=2,
        findings=tuple(map(finding, invariants)),
    )


RESULTS = [
    broken("links/absent/faulty", "no_lost_writes", "never_missing"),
    passed("links/absent/fixed"),
    passed("links/stale/fixed", 10),
    result("links/stale/other", as_expected=False, executions=1000),
    passed("alone"),
    passed("names/alone"),
]


def test_a_terminal_sees_variants_down_and_what_happens_across() -> None:
    matrix = Matrix.from_results(RESULTS, short=True)

    assert matrix.is_table()
    assert matrix.text(100) == (
        "links   absent      stale\n"
        "faulty  violated 2\n"
        "fixed   passed 6    passed 10\n"
        "other               passed! ~1000\n"
        "\n"
        "~: not every order; !: not as expected"
    )


def test_columns_without_room_come_further_down() -> None:
    text = Matrix.from_results(RESULTS, short=True).text(30)

    assert max(map(len, text.splitlines()[:-1])) <= 30
    first, second, _ = text.split("\n\n")
    assert first.split("\n")[0].split() == ["links", "absent"]
    assert second.split("\n")[0].split() == ["links", "stale"]
    # A variant that has nothing there has no line there.
    assert "faulty" not in second
    assert "other" not in first


@pytest.mark.parametrize(
    "names",
    [
        ["alone", "names/alone"],
        ["links/absent/faulty", "links/absent/fixed"],
        ["links/absent/fixed", "links/stale/fixed"],
    ],
)
def test_a_list_is_no_table(names: list[str]) -> None:
    assert not Matrix.from_results(map(passed, names)).is_table()


def test_a_page_says_all_but_the_time_and_can_be_read_again() -> None:
    matrix = Matrix.from_results(RESULTS)
    page = matrix.markdown()

    assert page.splitlines()[:7] == [
        "## links",
        "",
        "| | absent | stale |",
        "| --- | --- | --- |",
        "| faulty | violated never_missing, no_lost_writes (cut, 2) |  |",
        "| fixed | passed (complete, 6) | passed (complete, 10) |",
        "| other |  | passed (sampled, 1000) |",
    ]
    assert Matrix.from_markdown(page).names() == matrix.names()
    assert Matrix.from_markdown(page).markdown() == page


def test_an_answer_of_another_engine_says_so() -> None:
    stressed = result("links/absent/faulty", engine="stress", executions=10)

    cells = Matrix.from_results([stressed]).names()

    assert cells == {"links/absent/faulty": "passed (sampled, 10, stress)"}


def test_a_part_of_the_scenarios_changes_its_cells_only(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# Title\n\nWords | with a line.\n\n## links\n")
    update_matrix(page, RESULTS, all_of=True)
    before = page.read_text()

    update_matrix(page, [passed("links/absent/fixed", 8)], all_of=False)

    assert before.startswith("# Title\n\nWords | with a line.\n\n## links\n\n| |")
    assert page.read_text() == before.replace("(complete, 6)", "(complete, 8)")


def test_columns_and_rows_stay_where_they_are(tmp_path: Path) -> None:
    names = ("b/second/one", "b/first/two", "b/third/one", "b/second/three")
    page = tmp_path / "matrix.md"
    update_matrix(page, [passed(name) for name in names], all_of=True)
    before = page.read_text()
    update_matrix(page, [passed("b/first/two")], all_of=False)
    assert page.read_text() == before
    update_matrix(page, [passed("b/third/one", 7)], all_of=False)
    changed = zip(before.splitlines(), page.read_text().splitlines(), strict=True)
    assert sum(old != new for old, new in changed) == 1


def test_all_scenarios_leave_nothing_of_what_was_there(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    update_matrix(page, RESULTS, all_of=True)

    update_matrix(page, [passed("other/a/b")], all_of=True)

    assert page.read_text() == (
        "# Results\n\n## other\n\n"
        "| | a |\n| --- | --- |\n| b | passed (complete, 6) |\n"
    )


def test_a_page_that_a_run_has_made_may_be_brought_up_to_date(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# Title\n\nWords, and a | line.\n")
    update_matrix(page, RESULTS, all_of=False)

    check_matrix(page)
    check_matrix(tmp_path / "new.md")


@pytest.mark.parametrize(
    ("added", "lost"),
    [
        ("## Usage\n\nSome words.\n", "## Usage"),
        ("Some words.\n", "Some words."),
        ("## odd\n\n| | a |\n| --- | --- |\n| b | c | d |\n", "| b | c | d |"),
        ("## Two words\n", "## Two words"),
    ],
)
def test_a_page_that_would_lose_something_is_refused(
    added: str, lost: str, tmp_path: Path
) -> None:
    page = tmp_path / "page.md"
    update_matrix(page, RESULTS, all_of=False)
    page.write_text(text := f"{page.read_text()}\n{added}")

    with pytest.raises(UsageError, match=re.escape(repr(lost))):
        check_matrix(page)

    assert page.read_text() == text


def test_a_page_that_cannot_be_written_is_told_in_a_line(tmp_path: Path) -> None:
    with pytest.raises(RacecheckError, match="cannot bring"):
        update_matrix(tmp_path, RESULTS, all_of=True)
