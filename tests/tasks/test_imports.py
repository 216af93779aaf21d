"""Guards that threads which an import or `setup` has started are noticed and named.

Both happen in processes of racecheck's own: the one that imports the file to find its
scenarios has the threads as well.
"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.processes

MODULE = """
import threading
import time
from racecheck.scenario import Scenario

def start(name):
    thread = threading.Thread(target=time.sleep, args=[600], name=name, daemon=True)
    thread.start()

{start}
uses = []
scenario = Scenario("scenario")

@scenario.setup
def setup(box):
    {setup}

@scenario.writer(count=2)
def save(box):
    uses.append(1)
    (box / "uses").write_text(str(len(uses)))
"""


def explored(
    folder: Path, *options: str, start: str = "", setup: str = "pass"
) -> dict[str, Any]:
    file, out = folder / "threads_of_import.py", folder / "out.json"
    file.write_text(MODULE.format(start=start, setup=setup))
    command = [sys.executable, "-m", "racecheck", "run", str(file)]
    subprocess.run(
        [*command, "--json", str(out), "--budget", "12", *options], check=True
    )
    (scenario,) = json.loads(out.read_text())["scenarios"]
    assert isinstance(scenario, dict)
    assert scenario["verdict"] == "passed", scenario["reason"]
    return scenario


def named(scenario: dict[str, Any]) -> list[str]:
    return [each for each in scenario["assumptions"] if "threads that import" in each]


def test_threads_that_an_import_starts_are_named(tmp_path: Path) -> None:
    (assumption,) = named(explored(tmp_path, start='start("spinner")'))

    assert assumption.endswith("started: spinner")


def test_threads_that_setup_starts_are_named(tmp_path: Path) -> None:
    (assumption,) = named(explored(tmp_path, setup='start("one"); start("other")'))

    assert assumption.endswith("started: one, other")


def test_where_there_are_none_nothing_is_said(tmp_path: Path) -> None:
    assert named(explored(tmp_path)) == []
