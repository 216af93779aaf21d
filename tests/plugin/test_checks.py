"""Guards checks in somebody's tests: what is printed, kept, and tried first again."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.plugin.project import Project

pytestmark = pytest.mark.processes

RACY = """
import racecheck

def save(box):
    temp = box / "answer.tmp"
    temp.write_text("42")
    temp.rename(box / "answer")

def test_two_saves():
    racecheck.check([save, save])
"""
REPAIRED = RACY.replace(
    'box / "answer.tmp"', "box / f'answer.{__import__(\"os\").getpid()}'"
)
LOST = "rename(answer.tmp, answer) = ENOENT"


def test_the_line_that_is_printed_replays_the_race(project: Project) -> None:
    project.write("tests/test_cache.py", RACY)
    found = project.pytest("-q")
    assert (found.status, found.counts) == (1, {"failed": 1})
    assert LOST in found.text
    (token,) = found.tokens
    line = f"pytest tests/test_cache.py::test_two_saves --racecheck-replay {token}"
    assert line in found.text
    # One execution would not find it by itself.
    _, *args = shlex.split(line)
    again = project.pytest(*args, "--racecheck-budget", "1")
    assert (again.status, again.tokens) == (1, [token])
    assert LOST in again.text
    twin = project.pytest(args[0], env={"RACECHECK_REPLAY": token})
    assert (twin.status, twin.tokens) == (1, [token])


def test_a_failure_comes_first_again_until_it_is_repaired(project: Project) -> None:
    project.write("old/test_cache.py", RACY)
    found = project.pytest("-q")
    assert project.kept() == found.tokens
    (project.folder / "old").rename(project.folder / "new")
    # Of the executions that are explored only the first is made, which passes.
    first = project.pytest("-q", "--racecheck-budget", "1")
    assert (first.status, first.tokens) == (1, found.tokens)
    project.write("new/test_cache.py", REPAIRED)
    repaired = project.pytest("-q")
    assert (repaired.status, project.kept()) == (0, [])
    project.write("new/test_cache.py", RACY)
    unknown = project.pytest("-q", "--racecheck-budget", "1")
    assert unknown.status == 0


def test_processes_of_xdist_share_what_is_kept(project: Project) -> None:
    names = [f"test_{number}" for number in range(4)]
    tests = "".join(
        f"\ndef {name}():\n    racecheck.check([save, save])\n" for name in names
    )
    project.write("test_cache.py", RACY + tests)
    found = project.pytest("-p", "xdist", "-n", "2", "-q")
    assert found.counts["failed"] == 5
    assert project.kept() == sorted(found.tokens)
    assert len(found.tokens) == 5
    again = project.pytest("-p", "xdist", "-n", "2", "-q", "--racecheck-budget", "1")
    assert sorted(again.tokens) == sorted(found.tokens)
    replayed = project.pytest(
        "-p", "xdist", "-n", "2", "-q", "--racecheck-replay", found.tokens[0]
    )
    assert replayed.counts == {"failed": 5}
    assert replayed.tokens == [found.tokens[0]]


def test_a_replay_of_nothing_is_no_pass(project: Project) -> None:
    project.write("test_cache.py", RACY)
    (token,) = project.pytest("-q").tokens
    project.write("test_other.py", REPAIRED.replace("two_saves", "other"))
    other = project.pytest("test_other.py", "--racecheck-replay", token)
    assert other.status == 1
    assert "of no check that this test made" in other.text
    project.write("test_other.py", "def test_without_checks(): pass\n")
    none = project.pytest("test_other.py", "--racecheck-replay", token)
    assert none.status == 5
    assert "of none of the checks and scenarios" in none.text


def test_a_mark_gives_checks_their_options(project: Project) -> None:
    marked = RACY.replace("def test", "@pytest.mark.racecheck({})\ndef test")
    marked = f"import pytest\n{marked}"
    project.write("test_cache.py", marked.format("budget=1, seed=3"))
    assert project.pytest("--strict-markers").counts == {"passed": 1}
    assert project.pytest("--racecheck-budget", "100").counts == {"failed": 1}
    project.write("test_cache.py", marked.format("bugdet=1"))
    wrong = project.pytest()
    assert "no option 'bugdet'" in wrong.text
    assert wrong.counts == {"failed": 1}


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("--racecheck-budget=soon", "a budget is a number of executions or a time"),
        ("--racecheck-seed=-1", "is a number from 0 on"),
        ("--racecheck-replay=rc1-abc", "token"),
    ],
)
def test_options_that_mean_nothing_are_refused_at_once(
    project: Project, option: str, message: str
) -> None:
    project.write("test_cache.py", RACY)
    ended = project.pytest(option)
    assert ended.status == 4
    assert message in ended.text
    assert "Traceback" not in ended.text


def test_what_actors_print_is_shown_with_the_race(project: Project) -> None:
    project.write("test_cache.py", RACY.replace("    temp.w", '    print("hi");temp.w'))
    for args in (["-q"], ["-s"]):
        found = project.pytest(*args)
        assert found.status == 1
        assert "save-1 printed" in found.text or "hi" in found.text


def test_the_debugger_has_the_race_at_hand(project: Project) -> None:
    project.write("test_cache.py", RACY)
    found = project.pytest("--pdb", stdin="p save.__name__\nq\n")
    assert "RaceFoundError" in found.text
    # It stands in the test and not inside of racecheck.
    assert "'save'" in found.text
    assert found.status == 2


def test_a_time_limit_ends_a_check(project: Project) -> None:
    # A walk at random never comes to an end by itself.
    slow = REPAIRED.replace("save])", 'save], scheduler="random")')
    project.write("test_cache.py", slow)
    for method in ("signal", "thread"):
        ended = project.pytest(
            *("-p", "pytest_timeout", "--timeout=2"),
            f"--timeout-method={method}",
            "--racecheck-budget=100000",
        )
        assert "Timeout" in ended.text
        assert ended.status == 1


def test_a_run_without_checks_imports_nothing_of_it(project: Project) -> None:
    project.write(
        "test_other.py",
        "import sys\n"
        "def test_it():\n"
        "    found = {n for n in sys.modules if n.split('.')[0] == 'racecheck'}\n"
        "    wanted = {'racecheck', 'racecheck.suite', 'racecheck.pytest_plugin'}\n"
        "    assert found == wanted\n"
        "    assert not {'hypothesis', 'msgspec', 'click'} & set(sys.modules)\n",
    )
    project.write("scenario.py", "raise SystemExit('nobody asked for it')\n")
    ended = project.pytest()
    assert ended.counts == {"passed": 1}, ended.text


def test_what_is_found_is_reported_where_it_is_asked_for(project: Project) -> None:
    project.write("test_cache.py", RACY)
    found = project.pytest("--racecheck-report")
    page = project.folder / "reports" / "test_two_saves.no_unexpected_errors.html"
    assert f"report: {page}" in found.text
    assert "answer.tmp" in page.read_text()
    assert page.with_suffix(".trace").exists()
    other = project.pytest("--racecheck-report=sub/folder")
    assert f"report: {project.folder}/sub/folder/{page.name}" in other.text


def test_coverage_knows_what_actors_run(project: Project) -> None:
    pytest.importorskip("coverage")
    project.write(
        "pyproject.toml",
        "[tool.coverage.run]\nbranch = true\nparallel = true\nsource = ['cache']\n"
        "patch = ['subprocess', '_exit']\n",
    )
    project.write(
        "cache.py",
        "import os\n"
        "def save(box, me):\n"
        "    temp = box / f'answer.{os.getpid()}'\n"
        "    temp.write_text('42')\n"
        "    temp.rename(box / 'answer')\n"
        "    if me.index > 7:\n"
        "        return 'never'\n"
        "    return 'saved'\n",
    )
    project.write(
        "test_cache.py",
        "import cache, racecheck\n"
        "def test_it():\n"
        "    result = racecheck.check([cache.save, cache.save])\n"
        "    assert result.coverage == 'complete'\n",
    )
    plugins = ("-m", "pytest", "-p", "racecheck.pytest_plugin")
    alone = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    ended = project.python("-m", "coverage", "run", *plugins, env=alone)
    assert ended.counts == {"passed": 1}, ended.text
    assert project.python("-m", "coverage", "combine", "-q").status == 0
    report = project.python("-m", "coverage", "report", "--show-missing")
    # All but the line that none of them comes to.
    (line,) = (line for line in report.text.splitlines() if "cache.py" in line)
    assert line.split()[-1] == "7", report.text
