"""Guards that nobody outside puts anything into the box in a run that passes."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from racecheck.footprint import Names
from racecheck.model import Verdict
from racecheck.scenario import Scenario
from tests.engine.lab import Script, run, run_all

if TYPE_CHECKING:
    from collections.abc import Sequence

    from racecheck.model import Decision, SchedulingPoint

pytestmark = pytest.mark.processes


class Meddling(Script):
    """Does between two steps what a process outside could do at that moment."""

    def __init__(self, path: str) -> None:
        super().__init__()
        self._path = path
        self._steps = 0

    def choose(
        self, enabled: Sequence[SchedulingPoint], current: str | None
    ) -> Decision:
        """Put a file into the sandbox before the tenth step."""
        self._steps += 1
        if self._steps == 10:
            sandbox = Path(os.environ["HOME"]).parent
            (sandbox / self._path).touch()
        return super().choose(enabled, current)


def declared() -> Scenario:
    made = Scenario("strangers")

    @made.writer(count=2)
    def write(box: Path, *, me: str) -> None:
        (box / "folder").mkdir(exist_ok=True)
        (box / f"temp.{me}").write_text("text")
        (box / f"temp.{me}").rename(box / "folder" / "file")
        (box / "folder").chmod(0o700)

    return made


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        ("box/planted", "planted was made by no step of an actor"),
        ("box/folder/planted", "folder/planted was made by no step of an actor"),
        ("home/planted", "~/planted was made by no step of an actor"),
    ],
)
def test_what_somebody_outside_makes_in_the_box_is_named(path: str, shown: str) -> None:
    (seen,) = run_all(declared(), [Meddling(path)])

    assert seen.trace.verdict is Verdict.UNKNOWN
    assert shown in seen.trace.reason


def test_what_actors_make_is_theirs() -> None:
    assert run(declared()).trace.verdict is Verdict.PASSED


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
