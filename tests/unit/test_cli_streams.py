"""Guards what a command does with streams, pipes and places that are not as usual."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from racecheck.report.github import defused

ROOT = Path(__file__).parents[2]
SCENARIO = """
from racecheck.scenario import Scenario

one = Scenario("one")
one.writer(lambda box: (box / "file").touch(), name="save", count=2)
"""


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a folder of one's own with a scenario."""
    (tmp_path / "scenario.py").write_text(SCENARIO)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def shell(command: str) -> subprocess.CompletedProcess[str]:
    """Run a line of bash, where `racecheck` is the command."""
    line = command.replace("racecheck", f"{shlex.quote(sys.executable)} -m racecheck")
    return subprocess.run(
        ["bash", "-c", line],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("lost", ["2>/dev/full", "2> >(true)", "2>&-"])
def test_what_is_lost_on_standard_error_changes_no_status(lost: str) -> None:
    # It says there where boxes are made.
    assert shell(f"racecheck run --workdir . {lost}").returncode == 0
    assert shell(f"racecheck run nothing.py {lost}").returncode == 2


def test_a_pipe_gets_one_document(place: Path) -> None:
    done = shell("racecheck run --json >(cat > got); status=$?; sleep 1; exit $status")
    assert done.returncode == 0, done.stderr
    assert json.loads((place / "got").read_text())["interrupted"] is False


@pytest.mark.parametrize("end", ["| cat", "> got; cat got", ">> got; cat got"])
def test_standard_output_gets_one_document(end: str, place: Path) -> None:
    done = shell(f"set -o pipefail; racecheck run --json /dev/stdout {end}")

    assert done.returncode == 0, done.stderr
    before, brace, rest = done.stdout.partition("{")
    document, _, after = rest.partition("\n}\n")
    assert before.startswith("ok      one: passed")
    assert json.loads(f"{brace}{document}}}")["interrupted"] is False
    assert after == "1 scenario: 1 as expected\n"
    assert not [name for name in os.listdir(place) if "deleted" in name]


def test_a_link_to_a_file_has_the_file_replaced(place: Path) -> None:
    (place / "link").symlink_to("real")

    assert shell("racecheck run --json link").returncode == 0

    assert (place / "link").is_symlink()
    assert json.loads((place / "real").read_text())["schema"] == 1


@pytest.mark.parametrize(
    "command",
    [
        f"racecheck run --json {'x' * 300}",
        "ln -s loop loop; racecheck run --json loop",
        "mkdir gone; cd gone; rmdir ../gone; racecheck run --json out.json",
        "mkdir gone; cd gone; rmdir ../gone; racecheck run ../scenario.py",
        "mkdir gone; cd gone; rmdir ../gone; racecheck list",
    ],
)
def test_a_place_that_cannot_be_is_told_in_a_line(command: str) -> None:
    done = shell(command)

    assert done.returncode == 2
    told = [line for line in done.stderr.splitlines() if "shell-init" not in line]
    assert len(told) == 1, told
    assert told[0].startswith("racecheck: ")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\n    ::stop-commands::x\n", "a\n    |::stop-commands::x\n"),
        ("::error::x", "|::error::x"),
        ("said ##[stop-commands]x", "said ##|[stop-commands]x"),
        ("std::vector\n  a::b", "std::vector\n  a::b"),
    ],
)
def test_no_output_of_an_actor_is_a_command_of_github(text: str, shown: str) -> None:
    assert defused(text) == shown
