"""Guards that a run keeps what it has judged, however hard it is ended."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import psutil
import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = [pytest.mark.processes, pytest.mark.slow]

ROOT = Path(__file__).parents[2]
DEADLINE_S = 200.0
COUNT = 10
BROKEN = ("no_lost_writes", "no_unexpected_errors")

SCENARIOS = f"""
from pathlib import Path

from racecheck.invariants import no_lost_writes
from racecheck.scenario import Me, Scenario

def declare(number, repeat):
    made = Scenario(f"kept/{{number}}", invariants=[no_lost_writes()])

    @made.writer(count=2, repeat=repeat)
    def save(box: Path, me: Me) -> None:
        temp = box / ("temp" if number == 0 else f"temp.{{me.name}}")
        temp.write_text("text")
        temp.rename(box / "file")

    return made

for number in range({COUNT}):
    globals()[f"scenario_{{number}}"] = declare(number, 1)
# Nobody sees the end of this one.
endless = declare("endless", 100)
"""


@pytest.fixture
def run(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Path]:
    """The folder of a run that has judged all but the last of its scenarios."""
    (tmp_path / "scenario.py").write_text(SCENARIOS)
    (tmp_path / "work").mkdir()
    files = "--json out.json --junit out.xml --markdown out.md --report pages"
    words = f"{files} --budget 1000000 --jobs {request.param} --workdir work"
    # Several judge at the same time, and the endless one has the first turn.
    order = ["kept/endless", "kept/*"] if request.param > 1 else ["kept/?", "kept/*"]
    said = tmp_path / "said"
    with said.open("wb") as file:
        process = subprocess.Popen(
            [sys.executable, "-m", "racecheck", "run", *order, *words.split()],
            cwd=tmp_path,
            env={
                **os.environ,
                "PYTHONPATH": str(ROOT),
                "RACECHECK_PATHS": "scenario.py",
            },
            stdout=subprocess.DEVNULL,
            stderr=file,
        )
    try:
        until = time.monotonic() + DEADLINE_S
        # Which of them is judged last is not said, and its page follows the JSON.
        while len(kept(tmp_path)) < COUNT or len(pages_of_first(tmp_path)) < len(
            BROKEN
        ):
            assert process.poll() is None, said.read_text()
            assert time.monotonic() < until, kept(tmp_path)
            time.sleep(0.01)
        workers = psutil.Process(process.pid).children(recursive=True)
        process.kill()
        process.wait()
        yield tmp_path
        psutil.wait_procs(workers, DEADLINE_S)
    finally:
        process.kill()
        process.wait()


def kept(folder: Path) -> list[str]:
    """Return the scenarios in the JSON, which can be read at any time."""
    file = folder / "out.json"
    if not file.exists():
        return []
    return [each["name"] for each in json.loads(file.read_text())["scenarios"]]


def pages_of_first(folder: Path) -> list[Path]:
    """Return the traces of the scenario that breaks something."""
    return list((folder / "pages").glob("kept.0.*.trace"))


@pytest.mark.parametrize("run", [1, 2], ids="jobs-{}".format, indirect=True)
def test_what_was_judged_is_kept_when_the_run_is_killed(run: Path) -> None:
    expected = [f"kept/{number}" for number in range(COUNT)]

    told = json.loads((run / "out.json").read_text())
    assert told["interrupted"] is True
    assert kept(run) == expected
    verdicts = [each["verdict"] for each in told["scenarios"]]
    assert verdicts == ["violated"] + ["passed"] * (COUNT - 1)
    # The other files are written after it, so that they may lack the last one.
    cases = ET.parse(run / "out.xml").iter("testcase")  # noqa: S314  our own
    texts = [each.get("name") for each in cases]
    assert len(texts) >= COUNT - 1
    assert (run / "out.md").read_text().count("| kept/") >= COUNT - 1
    names = {path.name for path in pages_of_first(run)}
    assert names == {f"kept.0.{each}.trace" for each in BROKEN}
    page = (run / "pages" / "index.html").read_text()
    assert len(set(re.findall(r"kept/\d", page))) >= COUNT - 2
