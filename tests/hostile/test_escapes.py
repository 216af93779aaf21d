"""Guards that hostile actors change nothing outside the sandbox, and are told of."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from racecheck.model import Verdict
from racecheck.scenario import Scenario
from tests.engine.lab import run
from tests.hostile.canary import digest, hatch
from tests.hostile.escapes import ESCAPES

pytestmark = pytest.mark.processes

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("name", ESCAPES)
def test_nothing_outside_is_changed_and_the_escape_is_named(
    name: str, tmp_path: Path
) -> None:
    canary = hatch(tmp_path / "canary")
    before = digest(canary)
    made = Scenario("escape")
    escape = ESCAPES[name]

    @made.actor
    def one(box: Path) -> None:
        escape(box, canary)

    # On one file system, so that nothing else keeps names from leaving.
    seen = run(made, workdir=tmp_path)

    assert digest(canary) == before
    assert seen.trace.verdict is Verdict.UNKNOWN, seen.trace
    assert seen.trace.reason.startswith("uncontrolled: ")
    assert "escape: " in seen.trace.reason
    assert "outside the sandbox by one" in seen.trace.reason


# --- in a run -------------------------------------------------------------------------

HOSTILE = '''
"""Scenarios of hostile actors beside one that means no harm."""

import os
from pathlib import Path

from racecheck.scenario import Scenario

from tests.hostile.escapes import ESCAPES

CANARY = Path({canary!r})


def escaping(name):
    made = Scenario(f"hostile/{{name}}", budget=5)

    @made.writer
    def one(box):
        (box / "file").touch()
        ESCAPES[name](box, CANARY)

    @made.writer
    def two(box):
        (box / "file").touch()

    return made


vars().update({{name: escaping(name) for name in {names!r}}})
harmless = Scenario("harmless")


@harmless.writer(count=2)
def write(box):
    (box / "file").touch()
'''


def racecheck(
    file: Path, workdir: Path, *args: str, pass_fds: tuple[int, ...] = ()
) -> dict[str, dict[str, object]]:
    """Run the scenarios of a file as the command does; return results by name."""
    answer = workdir.parent / "answer.json"
    done = subprocess.run(
        [
            *(sys.executable, "-m", "racecheck", "run", str(file)),
            *("--workdir", str(workdir), "--json", str(answer), *args),
        ],
        env={
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(ROOT),
            "SECRET": "of the harness",
            "LD_LIBRARY_PATH": "/nowhere",
        },
        pass_fds=pass_fds,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Traceback" not in done.stderr
    assert os.listdir(workdir) == []
    found = json.loads(answer.read_text())
    return {each["name"]: each for each in found["scenarios"]}


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_a_run_goes_on_after_hostile_actors(tmp_path: Path) -> None:
    canary = hatch(tmp_path / "canary")
    before = digest(canary)
    file = tmp_path / "scenario_hostile.py"
    file.write_text(HOSTILE.format(canary=str(canary), names=list(ESCAPES)))
    workdir = tmp_path / "workdir"
    workdir.mkdir()

    found = racecheck(file, workdir, "--jobs", "2")

    assert digest(canary) == before
    assert found.pop("harmless")["verdict"] == "passed"
    assert len(found) == len(ESCAPES)
    for name, each in found.items():
        assert each["verdict"] == "unknown", name
        assert "outside the sandbox by one" in str(each["reason"]), name


INHERITING = '''
"""Actors that look at what they have from whoever started the run."""

import os

from racecheck.scenario import Scenario, command

DECLARED = {{
    "PATH", "LANG", "LC_ALL", "TZ", "PYTHONHASHSEED", "PYTHONDONTWRITEBYTECODE",
    "HOME", "TMPDIR", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME",
    "XDG_STATE_HOME", "XDG_RUNTIME_DIR",
}}
inherited = Scenario("inherited")


@inherited.writer(count=2)
def look(box):
    (box / "file").touch()
    assert set(os.environ) == DECLARED, set(os.environ) ^ DECLARED
    for number in range(3, 1000):
        try:
            os.write(number, b"changed")
        except OSError:
            continue
        raise AssertionError(number)


SCRIPT = """
touch file
test -z "$SECRET$LD_LIBRARY_PATH" || exit 1
for fd in /proc/$$/fd/*; do
    case $(readlink $fd) in {canary}*|socket:*|pipe:*) exit 2;; esac
done
"""
inherited.writer(command(["sh", "-c", SCRIPT]), name="shell")
'''


def test_actors_inherit_only_what_is_declared(tmp_path: Path) -> None:
    canary = hatch(tmp_path / "canary")
    before = digest(canary)
    file = tmp_path / "scenario_inherited.py"
    file.write_text(INHERITING.format(canary=canary))
    workdir = tmp_path / "workdir"
    workdir.mkdir()
    descriptor = os.open(canary / "file", os.O_WRONLY | os.O_APPEND)

    found = racecheck(file, workdir, "--budget", "3", pass_fds=(descriptor,))

    os.close(descriptor)
    assert digest(canary) == before
    assert found["inherited"]["verdict"] == "passed", found
