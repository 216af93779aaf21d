"""What the commands write of real races: pages, their list, and tests."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from racecheck.storage import read_trace
from tests.engine.lab import in_child

pytestmark = [pytest.mark.processes, pytest.mark.slow]

ROOT = Path(__file__).parents[2]
FAULTY = """
import os

from racecheck.invariants import no_lost_writes
from racecheck.scenario import Scenario

answer = Scenario("answer/two", invariants=[no_lost_writes()])


def temp(box):
    return box / "answer.tmp"


@answer.writer(count=2)
def save(box):
    temp(box).write_text("42\\n")
    temp(box).rename(box / "answer")
"""
FIXED = FAULTY.replace('"answer.tmp"', 'f"answer.{os.getpid()}"')


def racecheck(
    folder: Path, *arguments: str, **variables: str
) -> subprocess.CompletedProcess[str]:
    """Run the command in a folder."""
    return subprocess.run(
        [sys.executable, "-m", "racecheck", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), **variables},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which a run has found a race and has written all it can."""
    folder = tmp_path_factory.mktemp("run")
    (folder / "scenario_answer.py").write_text(FAULTY)
    done = racecheck(
        folder,
        *("run", "scenario_answer.py", "--junit", "junit.xml", "--json", "json.json"),
        *("--markdown", "run.md", "--github", "--report", "out"),
    )
    (folder / "stdout").write_text(done.stdout)
    assert (done.returncode, done.stderr) == (1, "report: out/index.html\n")
    return folder


def test_a_run_writes_a_page_a_race_and_one_that_lists_all(run: Path) -> None:
    names = {path.name for path in (run / "out").iterdir()}

    assert names == {
        "index.html",
        "suite.json",
        *(
            f"answer.two.{invariant}.{ending}"
            for invariant in ("no_lost_writes", "no_unexpected_errors")
            for ending in ("html", "trace")
        ),
    }
    index = (run / "out" / "index.html").read_text()
    assert 'href="answer.two.no_lost_writes.html"' in index
    suite = json.loads((run / "out" / "suite.json").read_text())
    assert suite == json.loads((run / "json.json").read_text())


def test_a_trace_file_holds_what_its_page_shows(run: Path) -> None:
    race = read_trace(run / "out" / "answer.two.no_lost_writes.trace")

    trace = race.finding.trace
    assert trace.detail is not None
    assert len(trace.detail.moments) == len(trace.steps)
    assert trace.detail.sources["scenario_answer.py"][17].strip() == (
        'temp(box).rename(box / "answer")'
    )
    shares = race.finding.curve
    assert shares[0].step == 0
    # From its last step on the violation is certain.
    assert shares[-1].failing == shares[-1].total == 10
    assert race.about["file system"] != "unknown"
    assert str(run) not in repr(race)


def test_pages_can_be_made_anew_from_the_files_alone(run: Path, tmp_path: Path) -> None:
    done = racecheck(run, "report", "out", "-o", str(tmp_path / "again"))

    assert done.returncode == 0
    assert done.stdout.splitlines()[0].endswith("index.html")
    for page in (tmp_path / "again").iterdir():
        assert page.read_bytes() == (run / "out" / page.name).read_bytes()


def test_a_page_that_is_made_again_beside_its_list_is_the_same(run: Path) -> None:
    page = run / "out" / "answer.two.no_lost_writes.html"
    before = page.read_bytes()

    done = racecheck(run, "report", str(page.with_suffix(".trace")))

    assert done.returncode == 0
    assert page.read_bytes() == before
    assert b'href="index.html"' in before


def test_one_trace_file_gives_one_page(run: Path, tmp_path: Path) -> None:
    trace = "out/answer.two.no_lost_writes.trace"
    page = tmp_path / "page.html"

    done = racecheck(run, "report", trace, "-o", str(page))

    assert (done.returncode, done.stdout) == (0, f"{page}\n")
    assert "answer/two" in page.read_text()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("missing.trace",), "does not exist"),
        (("scenario_answer.py",), "is no trace file"),
        ((".",), "holds no trace files"),
        (("out/answer.two.no_lost_writes.trace", "-o", "no/page.html"), "cannot write"),
    ],
)
def test_bad_input_gets_one_line(
    run: Path, arguments: tuple[str, ...], said: str
) -> None:
    done = racecheck(run, "report", *arguments)

    assert done.returncode in {2, 3}
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_a_run_tells_build_servers(run: Path) -> None:
    root = ET.parse(run / "junit.xml").getroot()  # noqa: S314  our own
    assert root.attrib["failures"] == "1"
    lines = (run / "stdout").read_text().splitlines()
    (lost,) = (line for line in lines if "title=answer/two%3A no_lost" in line)
    assert lost.startswith("::error file=scenario_answer.py,line=17,")
    assert "| **violated" in (run / "run.md").read_text()
    # And people, with the code, at the terminal.
    assert any(line.startswith("why: ") for line in lines)
    assert any("scenario_answer.py:17 in save" in line for line in lines)


def test_github_is_told_where_its_variable_is_set(run: Path) -> None:
    quiet = racecheck(run, "run", "scenario_answer.py", "--quick", GITHUB_ACTIONS="")
    told = racecheck(run, "run", "scenario_answer.py", "--quick", GITHUB_ACTIONS="true")

    assert "::error" not in quiet.stdout
    assert "::error file=scenario_answer.py,line=17," in told.stdout


def test_an_exported_test_fails_until_the_race_is_gone(
    run: Path, tmp_path: Path
) -> None:
    token = read_trace(run / "out" / "answer.two.no_lost_writes.trace").finding.token
    scenarios = tmp_path / "scenario_answer.py"
    scenarios.write_text(FAULTY)
    test = tmp_path / "tests" / "test_race.py"
    test.parent.mkdir()
    made = racecheck(tmp_path, "export", token, "scenario_answer.py", "-o", str(test))
    assert (made.returncode, made.stderr) == (0, "")
    assert "Path(__file__).parent / '../scenario_answer.py'" in test.read_text()

    def outcome() -> tuple[int, str]:
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(test)],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            check=False,
        )
        return done.returncode, done.stdout

    status, text = outcome()
    assert status == 1
    assert "RaceFoundError" in text
    assert "no_lost_writes, no_unexpected_errors broken in" in text
    assert "why: " in text
    scenarios.write_text(FIXED)
    assert outcome()[0] == 0


def test_an_exported_test_of_a_shipped_scenario_fails_though_it_is_expected(
    tmp_path: Path,
) -> None:
    # The scenario says that it loses updates, which is no excuse for its subject.
    name = "names/lost_update/unlocked"

    def token() -> str:
        done = racecheck(ROOT, "run", name, "--json", str(tmp_path / "found.json"))
        assert done.returncode == 0
        found = json.loads((tmp_path / "found.json").read_text())
        return str(found["scenarios"][0]["violations"][0]["token"])

    found = in_child(token)
    test = tmp_path / "test_update.py"
    made = racecheck(ROOT, "export", found, "-o", str(test))
    assert made.returncode == 0

    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(test)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 1
    assert "every_increment_counts broken in" in done.stdout


def test_a_replay_writes_a_page_and_a_trace_file(run: Path, tmp_path: Path) -> None:
    race = read_trace(run / "out" / "answer.two.no_lost_writes.trace")
    page, trace = tmp_path / "page.html", tmp_path / "one.trace"

    done = racecheck(
        run,
        *("replay", race.finding.token, "scenario_answer.py"),
        *("--report", str(page), "--trace", str(trace)),
    )

    assert done.returncode == 1
    assert "why: " in done.stdout
    assert race.finding.token in page.read_text()
    again = read_trace(trace).finding.trace
    assert again.detail == race.finding.trace.detail


def test_a_token_of_something_else_is_refused(run: Path) -> None:
    done = racecheck(run, "export", "rc1-nothing", "scenario_answer.py")

    assert done.returncode == 2
    assert done.stderr.startswith("racecheck: ")
    assert done.stderr.count("\n") == 1


def test_two_explorations_with_one_seed_give_equal_files(
    run: Path, tmp_path: Path
) -> None:
    done = racecheck(run, "run", "scenario_answer.py", "--report", str(tmp_path))

    assert done.returncode == 1
    for name in ("no_lost_writes.trace", "no_lost_writes.html", "index.html"):
        path = name if name == "index.html" else f"answer.two.{name}"
        assert (tmp_path / path).read_bytes() == (run / "out" / path).read_bytes()
