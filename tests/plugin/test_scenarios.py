"""Guards scenarios as tests: which are collected, and what is told of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.plugin.project import Project

pytestmark = pytest.mark.processes

SCENARIO = """
from racecheck.scenario import Scenario

def shared(box):
    return box / "answer.tmp"

def own(box):
    return box / f"answer.{__import__('os').getpid()}"

answer = Scenario("answer")

@answer.writer(count=2)
def save(box, temp):
    temp(box).write_text("42")
    temp(box).rename(box / "answer")

answer.over(temp=[shared, own], expect={"shared": "no_unexpected_errors"})
"""
UNAWARE = SCENARIO.replace(', expect={"shared": "no_unexpected_errors"}', "")


def test_scenarios_are_collected_where_they_are_asked_for(project: Project) -> None:
    project.write("sub/scenario_answer.py", SCENARIO)
    project.write("test_one.py", "def test_one(): pass\n")
    assert project.pytest().counts == {"passed": 1}
    assert project.pytest("--racecheck").counts == {"passed": 3}
    assert project.pytest(env={"RACECHECK": "1"}).counts == {"passed": 3}
    named = project.pytest("sub/scenario_answer.py", "-v", "-rA")
    assert named.counts == {"passed": 2}
    assert "sub/scenario_answer.py::answer/own PASSED" in named.text
    own = project.pytest("sub/scenario_answer.py::answer/own")
    assert own.counts == {"passed": 1}
    marked = project.pytest("--racecheck", "-m", "racecheck")
    assert marked.counts["passed"] == 2


def test_configured_paths_are_collected_with_the_tests(project: Project) -> None:
    project.write(
        "pyproject.toml",
        "[tool.pytest.ini_options]\ntestpaths = ['tests']\n"
        "[tool.racecheck]\npaths = ['races']\n",
    )
    project.write("tests/test_one.py", "def test_one(): pass\n")
    project.write("races/scenario.py", SCENARIO)
    assert project.pytest().counts == {"passed": 1}
    assert project.pytest("--racecheck", "-p", "xdist", "-n", "2").counts == {
        "passed": 3
    }
    assert project.pytest("--racecheck", "tests").counts == {"passed": 1}


def test_a_surprise_is_shown_and_kept_and_replayed(project: Project) -> None:
    file = project.write("races/scenario.py", UNAWARE)
    found = project.pytest("--racecheck")
    assert found.counts == {"failed": 1, "passed": 1}
    assert "rename(answer.tmp, answer) = ENOENT" in found.text
    assert "Traceback" not in found.text
    (token,) = project.kept()
    line = f"pytest races/scenario.py::answer/shared --racecheck-replay {token}"
    assert line in found.text
    replayed = project.pytest("--racecheck", "--racecheck-replay", token)
    assert replayed.counts == {"failed": 1, "skipped": 1}
    again = project.pytest("--racecheck", "--racecheck-budget", "1")
    assert again.tokens == [token]
    # Found by its name, wherever the file is.
    file.parent.rename(project.folder / "moved")
    again = project.pytest("--racecheck", "--racecheck-budget", "1")
    assert again.tokens == [token]


def test_a_race_that_is_expected_and_missing_fails(project: Project) -> None:
    project.write("scenario.py", SCENARIO.replace('"shared":', '"own":'))
    ended = project.pytest("--racecheck")
    assert ended.counts == {"failed": 2}
    assert "expected no_unexpected_errors to be broken, but it holds" in ended.text


def test_a_file_that_is_to_be_skipped_is(project: Project) -> None:
    project.write(
        "scenario.py", "import pytest\npytest.importorskip('nothing_of_the_kind')\n"
    )
    ended = project.pytest("--racecheck")
    assert ended.counts == {"skipped": 1}


def test_a_file_that_cannot_be_imported_gives_a_line(project: Project) -> None:
    project.write("scenario.py", "import nothing_of_the_kind\n")
    ended = project.pytest("--racecheck")
    assert ended.status == 2
    assert "scenario.py:1: ModuleNotFoundError" in ended.text
    assert "Traceback" not in ended.text
