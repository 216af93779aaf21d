"""Guards the two other engines as the command line has them, ptrace or no ptrace."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from tests.engine.circumstances import heeding_signals, refuse

pytestmark = pytest.mark.processes

ROOT = Path(__file__).parents[2]
SOURCE = """
import os
from racecheck.invariants import no_lost_writes
from racecheck.scenario import Scenario, simulated


def publish(name, engine, temp, **options):
    made = Scenario(
        name, invariants=[no_lost_writes()], engine=engine, budget=20, **options
    )

    @made.writer(count=2)
    def save(box):
        name = box / temp(os.getpid())
        name.write_text("42")
        name.rename(box / "answer")

    return made


own = publish("own", "process", lambda pid: f"answer.{pid}")
loose = publish("loose", "stress", lambda pid: f"answer.{pid}")
there = publish(
    "there",
    simulated("windows"),
    lambda pid: f"answer.{pid}",
    expect={"no_lost_writes", "no_unexpected_errors"},
)
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "scenarios.py"
    path.write_text(SOURCE)
    return path


def racecheck(
    *args: str | Path, ptrace: bool = True
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "racecheck", *map(str, args)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=None if ptrace else refuse("ptrace"),
    )


def test_neither_needs_ptrace(file: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.json"

    done = racecheck("run", file, "loose", "there", "--json", out, ptrace=False)
    refused = racecheck("run", file, "own", ptrace=False)

    assert done.returncode == 0, done.stdout + done.stderr
    assert refused.returncode == 4
    loose, there = json.loads(out.read_text())["scenarios"]
    assert (loose["engine"], loose["verdict"]) == ("stress", "passed")
    assert (there["engine"], there["verdict"]) == ("simulated", "violated")
    assert there["assumptions"][0].startswith("this is a simulation of windows")
    assert there["bounds"]["platform"] == "windows"
    assert "(simulated windows, " in done.stdout


def test_a_token_of_a_simulation_is_replayed_as_one(file: Path) -> None:
    found = racecheck("run", file, "there")
    token = re.search(r"rc1-\S+", found.stdout)
    assert token is not None, found.stdout

    again = racecheck("replay", token[0], file)

    assert again.returncode == 1, again.stderr
    assert "rename(answer.1002, answer) = EEXIST" in again.stdout or (
        "rename(answer.1001, answer) = EEXIST" in again.stdout
    )
    assert "all calls, arguments and results are as recorded" in again.stdout


def test_an_ordinary_scenario_can_be_simulated_and_replayed(file: Path) -> None:
    file.write_text(
        SOURCE.replace(
            '"own", "process", lambda pid: f"answer.{pid}"',
            '"own", "process", lambda pid: "answer.tmp"',
        )
    )
    found = racecheck("run", file, "own", "--engine", "simulated")
    token = re.search(r"rc1-\S+", found.stdout)
    assert token is not None, found.stdout

    again = racecheck("replay", token[0], file)

    assert found.returncode == 1
    assert again.returncode == 1, again.stderr
    assert "all calls, arguments and results are as recorded" in again.stdout


def test_a_scenario_about_windows_has_no_verdict_elsewhere(file: Path) -> None:
    done = racecheck("run", file, "there", "--engine", "process")

    assert done.returncode == 3
    assert "about a simulated windows, which the process engine is not" in done.stdout


ENDLESS = """
from racecheck.scenario import Scenario

endless = Scenario("endless", engine="simulated", budget=1_000_000)


@endless.writer(count=2, repeat=50)
def save(box, me):
    (box / me.name).write_text("42")
    (box / me.name).read_text()
    (box / "started").touch()
"""


def test_an_interrupted_simulation_leaves_no_process(file: Path) -> None:
    file.write_text(ENDLESS)
    argv = [sys.executable, "-m", "racecheck", "run", str(file), "--scheduler", "pct"]
    with heeding_signals():
        running = subprocess.Popen(argv, cwd=ROOT)
    try:
        until = time.monotonic() + 60
        descendants: list[psutil.Process] = []
        # Actors are threads, so that with one of those it is under way.
        while not any(each.num_threads() > 1 for each in descendants):
            assert running.poll() is None
            assert time.monotonic() < until
            descendants = psutil.Process(running.pid).children(recursive=True)
        running.send_signal(signal.SIGINT)
        assert running.wait(60) == 130
    finally:
        running.kill()
        running.wait()

    _, left = psutil.wait_procs(descendants, timeout=30)
    assert left == []
