"""What is told in text: to terminals, build servers, GitHub, and in issues."""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import msgspec
import pytest

from racecheck.model import Coverage, ScenarioResult, Verdict
from racecheck.report import explain
from racecheck.report.github import annotate
from racecheck.report.junit import junit
from racecheck.report.markdown import summarize, summarize_run
from racecheck.report.story import tell
from tests.report.races import ODD_NAMES, TOKEN, long_race, odd_race

if TYPE_CHECKING:
    from racecheck.model import Race


def result(race: Race, *, expected: tuple[str, ...] = ()) -> ScenarioResult:
    """Return what an exploration says that has found a race."""
    return ScenarioResult(
        name=race.finding.trace.scenario,
        engine="process",
        verdict=Verdict.VIOLATED,
        reason="",
        expected=expected,
        as_expected=bool(expected),
        coverage=Coverage.CUT,
        assumptions=(),
        bounds={},
        scheduler="dpor",
        seed=0,
        executions=9,
        steps=99,
        seconds=1.5,
        findings=(race.finding,),
    )


def told(race: Race) -> str:
    finding = race.finding
    return explain(finding.trace, finding.invariant, finding.message, width=100)


def test_the_pair_is_told_with_its_lines_of_code() -> None:
    race = long_race(30)
    finding = race.finding
    story = tell(finding.trace, finding.invariant, finding.message)
    assert story.first is not None
    assert story.second is not None
    assert story.first.lane != story.second.lane

    text = told(race)

    assert text.startswith("why: ")
    for act in (story.first, story.second):
        assert f"step {act.index}, {act.lane}: {act.call}" in text
    assert text.count("made_up/writers.py:7 in publish") >= 2
    assert "line_7('</script>')" in text
    assert max(map(len, text.splitlines())) <= 100


def test_what_is_told_of_odd_names_can_be_printed() -> None:
    text = told(odd_race())

    assert all(line.isprintable() for line in text.splitlines())


def test_a_violation_that_takes_nobody_else_says_so() -> None:
    race = long_race(1)

    assert "Step 0 of save-1:1 breaks it by itself" in " ".join(told(race).split())


def test_junit_tells_surprises_as_failures_and_nothing_else() -> None:
    race = odd_race()
    surprise = result(race)
    expected = result(race, expected=("whole_images",))
    unknown = msgspec.structs.replace(surprise, verdict=Verdict.UNKNOWN, findings=())

    root = ET.fromstring(junit([surprise, expected, unknown]))  # noqa: S314  our own

    assert root.attrib["tests"] == "3"
    assert (root.attrib["failures"], root.attrib["errors"]) == ("1", "1")
    first, second, third = root.iter("testcase")
    failure = first.find("failure")
    assert failure is not None
    assert failure.text is not None
    assert TOKEN in failure.text
    assert "why: " in failure.text
    assert (first.attrib["classname"], first.attrib["name"]) == (
        "made_up.long",
        "shared",
    )
    assert second.find("failure") is None
    assert third.find("error") is not None
    tokens = [
        each.attrib["value"]
        for each in second.iter("property")
        if each.attrib["name"] == "token"
    ]
    assert tokens == [TOKEN]


@pytest.mark.parametrize("text", ["\x00\x1b[31m", "\ud800", "]]>", "\ufffe"])
def test_junit_can_hold_any_text(text: str) -> None:
    odd = msgspec.structs.replace(result(long_race(9)), reason=text, name=f"a/{text}")

    root = ET.fromstring(junit([odd]))  # noqa: S314  our own

    assert len(list(root.iter("testcase"))) == 1


def test_github_is_told_the_line_of_the_second_step() -> None:
    (line,) = annotate(result(odd_race()))

    assert line.startswith(
        "::error file=made_up/writers.py,line=7,title=made_up/long/shared%3A whole_"
    )
    assert "\n" not in line
    assert "%0A" in line
    assert f"racecheck replay {TOKEN}" in line


def test_github_is_told_nothing_of_what_is_expected() -> None:
    assert list(annotate(result(long_race(9), expected=("whole_images",)))) == []


def test_github_is_told_of_what_has_no_verdict_and_of_what_was_not_found() -> None:
    none = msgspec.structs.replace(
        result(long_race(9)), verdict=Verdict.UNKNOWN, findings=(), reason="50% done"
    )
    missing = msgspec.structs.replace(
        none, verdict=Verdict.PASSED, expected=("whole_images",), reason=""
    )

    (warned,) = annotate(none)
    (wrong,) = annotate(missing)

    assert warned.startswith("::warning title=made_up/long/shared::")
    assert "50%25 done" in warned
    assert wrong.startswith("::error title=made_up/long/shared::")
    assert "but expected whole_images" in wrong


def test_markdown_holds_all_and_nothing_that_means_something_to_it() -> None:
    text = summarize(odd_race())

    assert f"racecheck replay {TOKEN}" in text
    assert "made\\_up/long/shared" in text
    outside = [part for index, part in enumerate(text.split("```")) if index % 2 == 0]
    assert all("<script>" not in part for part in outside)
    assert ODD_NAMES[1] not in text.split("```")[0]


def test_a_run_in_markdown_shows_surprises_in_full_and_the_rest_in_a_table() -> None:
    race = long_race(20)
    expected = msgspec.structs.replace(race, expected=("whole_images",))
    surprise = msgspec.structs.replace(race, expected=())

    calm = summarize_run([result(race, expected=("whole_images",))], [expected])
    loud = summarize_run([result(race)], [surprise])

    assert "| made\\_up/long/shared | violated whole\\_images | cut | 9 |" in calm
    assert TOKEN not in calm
    assert "| **violated whole\\_images** |" in loud
    assert TOKEN in loud
