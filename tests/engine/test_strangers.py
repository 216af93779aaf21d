"""Guards that nobody outside puts anything into the box in a run that passes."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from racecheck.api import Options, explore
from racecheck.footprint import Names
from racecheck.model import Verdict
from racecheck.scenario import Budget, Scenario

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.processes

MEDDLING = """
import pathlib, sys
while True:
    for box in pathlib.Path(sys.argv[1]).glob("*/sandbox/box"):
        try:
            (box / "planted").mkdir()
        except OSError:
            pass
"""


@pytest.fixture
def meddler(tmp_path: Path) -> Iterator[None]:
    """Have a process that looks for boxes and puts a folder into each."""
    running = subprocess.Popen([sys.executable, "-c", MEDDLING, tmp_path])
    yield
    running.kill()
    running.wait()


def declared() -> Scenario:
    made = Scenario("strangers")

    @made.writer(count=2)
    def write(box: Path, *, me: str) -> None:
        (box / "folder").mkdir(exist_ok=True)
        (box / f"temp.{me}").write_text("text")
        (box / f"temp.{me}").rename(box / "folder" / "file")

    return made


@pytest.mark.usefixtures("meddler")
def test_what_a_process_outside_makes_in_the_box_is_named(tmp_path: Path) -> None:
    options = Options(workdir=tmp_path, budget=Budget(executions=100))
    result = explore(declared(), options)

    assert result.verdict is Verdict.UNKNOWN
    assert "planted was made by no step of an actor" in result.reason


def test_what_actors_make_is_theirs(tmp_path: Path) -> None:
    assert explore(declared(), Options(workdir=tmp_path)).verdict is Verdict.PASSED


def test_numbers_of_a_listing_need_not_be_those_of_stat(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "file").touch()
    names = Names()
    names.scan(str(tmp_path), str)
    (tmp_path / "folder" / "other").touch()

    def lstat(path: str) -> os.stat_result:
        # As on an overlay, where folders can have another device than files.
        fields = list(real(path))
        fields[2] += 1
        return os.stat_result(fields)

    real = os.lstat
    monkeypatch.setattr(os, "lstat", lstat)

    assert list(names.strangers(str(tmp_path))) == [f"{tmp_path}/folder/other"]
