"""Guards that results are written as they come, and files are whole at any time."""

from __future__ import annotations

import fcntl
import json
import os
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

import pytest
from click.testing import CliRunner

from racecheck import api
from racecheck.cli import main
from racecheck.cli.json_file import document, document_text, text_of
from racecheck.model import ScenarioResult, Verdict
from racecheck.storage.whole import remove_unfinished, write_whole
from tests.report.races import long_race
from tests.unit.traces import result

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from click.testing import Result

NAMES = tuple(f"made/{letter}" for letter in "abcd")
SCENARIOS = "from racecheck.scenario import Scenario\n" + "".join(
    f"{name[-1]} = Scenario({name!r})\n{name[-1]}.writer(lambda: None, name='w')\n"
    for name in NAMES
)
FILES = "--json out.json --junit out.xml --markdown out.md --report pages"


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Work in a folder of one's own with four scenarios."""
    (tmp_path / "pyproject.toml").write_text('[tool.racecheck]\npaths = ["four.py"]')
    (tmp_path / "four.py").write_text(SCENARIOS)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    yield tmp_path
    sys.modules.pop("four", None)


def racy(name: str) -> ScenarioResult:
    found = long_race(20).finding
    return result(
        name,
        verdict=Verdict.VIOLATED,
        as_expected=False,
        findings=(found,),
        seconds=1.0,
    )


def run(
    monkeypatch: pytest.MonkeyPatch,
    flags: str,
    judged: list[ScenarioResult],
    look: Callable[[], None],
    end: BaseException | None = None,
) -> Result:
    """Run with results that are judged in an order, and look at the files each time."""

    def explore_all(
        *_: object, on_result: Callable[[ScenarioResult], None] | None
    ) -> Iterator[ScenarioResult]:
        look()
        for each in judged:
            if on_result is not None:
                on_result(each)
            look()
        if end is not None:
            raise end
        yield from sorted(judged, key=lambda each: each.name)

    monkeypatch.setattr(api, "explore_all", explore_all)
    return CliRunner().invoke(main, ["run", *flags.split()])


def names(document: dict[str, Any]) -> list[str]:
    return [each["name"] for each in document["scenarios"]]


@pytest.mark.parametrize("count", [0, 1, 3])
@pytest.mark.parametrize("interrupted", [False, True])
def test_a_document_of_pieces_is_that_of_the_whole(
    count: int, *, interrupted: bool
) -> None:
    results = [racy(f"odd \n [] {number}") for number in range(count)]
    made = document_text(
        7, [text_of(each) for each in results], interrupted=interrupted
    )

    whole = document(7, results, interrupted=interrupted)
    assert made == json.dumps(whole, indent=2) + "\n"


def test_each_result_is_in_all_files_once_it_is_judged(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[list[str]] = []

    def look() -> None:
        told = json.loads(Path("out.json").read_text())
        assert told["interrupted"] is True
        assert json.loads(Path("pages/suite.json").read_text()) == told
        cases = ET.parse("out.xml").iter("testcase")  # noqa: S314  our own
        assert [f"made/{each.get('name')}" for each in cases] == names(told)
        page, text = Path("pages/index.html").read_text(), Path("out.md").read_text()
        for name in NAMES:
            assert (name in names(told)) == (name in page) == (f"| {name} |" in text)
        seen.append(names(told))

    judged = [racy("made/c"), result("made/a"), result("made/d"), racy("made/b")]
    ended = run(monkeypatch, FILES, judged, look)

    assert ended.exit_code == 1
    assert seen == [
        [],
        ["made/c"],
        ["made/a", "made/c"],
        ["made/a", "made/c", "made/d"],
        ["made/a", "made/b", "made/c", "made/d"],
    ]
    told = json.loads(Path("out.json").read_text())
    assert told["interrupted"] is False
    assert names(told) == list(NAMES)
    assert ended.stderr == "report: pages/index.html\n"


def test_of_a_run_that_is_interrupted_all_is_kept_that_was_judged(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    judged = [result("made/d"), result("made/b")]
    ended = run(monkeypatch, FILES, judged, lambda: None, KeyboardInterrupt())

    assert ended.exit_code == 130
    told = json.loads(Path("out.json").read_text())
    assert (told["interrupted"], names(told)) == (True, ["made/b", "made/d"])


def test_what_comes_after_a_surprise_that_ends_the_run_is_not_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def explore_all(
        *_: object, on_result: Callable[[ScenarioResult], None] | None
    ) -> Iterator[ScenarioResult]:
        assert on_result is None
        yield racy("made/a")

    monkeypatch.setattr(api, "explore_all", explore_all)
    CliRunner().invoke(main, ["run", "-x", "--json", "out.json"])

    assert names(json.loads(Path("out.json").read_text())) == ["made/a"]


@pytest.mark.parametrize("flag", ["--json", "--junit", "--markdown", "--report"])
@pytest.mark.parametrize("target", ["/proc/nothing", "four.py/out"])
def test_what_cannot_be_written_is_told_before_anything_runs(
    flag: str, target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: list[None] = []

    ended = run(monkeypatch, f"{flag} {target}", [], lambda: looked.append(None))

    assert ended.exit_code in (2, 3)
    (line,) = ended.stderr.splitlines()
    assert target in line
    assert not looked


def test_a_damaged_trace_in_the_folder_is_told_before_anything_runs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    Path("pages").mkdir()
    Path("pages/old.trace").write_text("no trace")
    looked: list[None] = []

    ended = run(monkeypatch, "--report pages", [], lambda: looked.append(None))

    assert ended.exit_code == 2
    assert ended.stderr == "racecheck: 'pages/old.trace' is no trace file\n"
    assert not looked


def test_a_pipe_gets_one_document(monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo("pipe")
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append(Path("pipe").read_text()))
    reader.start()

    run(monkeypatch, "--json pipe", [result(name) for name in NAMES], lambda: None)
    reader.join()

    assert names(json.loads(read[0])) == list(NAMES)


def test_a_disk_that_is_full_for_a_while_loses_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    real, left = os.fsync, [0]

    def full(descriptor: int) -> None:
        if left[0]:
            raise OSError(28, "No space left on device")
        real(descriptor)

    def look() -> None:
        # After the first result, and until the third.
        told = names(json.loads(Path("out.json").read_text()))
        seen.append(told)
        left[0] = len(seen) in (2, 3)

    seen: list[list[str]] = []
    monkeypatch.setattr(os, "fsync", full)

    ended = run(monkeypatch, FILES, [racy(name) for name in NAMES], look)

    assert [len(each) for each in seen] == [0, 1, 1, 1, 4]
    assert ended.exit_code == 1
    assert len(list(Path("pages").glob("*.trace"))) == 1
    assert list(Path("pages").glob(".*")) == []


def test_what_a_killed_writer_left_is_removed_by_the_next_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    left = Path(".racecheck-0123456789abcdef.tmp")
    used = Path(".racecheck-fedcba9876543210.tmp")
    fresh = Path(".racecheck-0000000000000000.tmp")
    other = Path(".racecheck-mine.tmp")
    for path in (left, used, other):
        path.write_text("part of a")
    fresh.touch()
    with used.open() as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        run(monkeypatch, "--json out.json", [], lambda: None)

    assert not left.exists()
    assert used.exists()
    assert fresh.exists()
    assert other.exists()
    os.utime(fresh, (0, 0))
    remove_unfinished(Path())
    assert not fresh.exists()


def test_files_are_written_where_there_are_no_locks(
    monkeypatch: pytest.MonkeyPatch, place: Path
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(37, "No locks available")

    monkeypatch.setattr(fcntl, "flock", refuse)
    (place / ".racecheck-0123456789abcdef.tmp").write_text("part of a")

    write_whole(place / "file", b"text")
    remove_unfinished(place)

    assert (place / "file").read_bytes() == b"text"
    # Whether somebody is at it cannot be told.
    assert (place / ".racecheck-0123456789abcdef.tmp").exists()
