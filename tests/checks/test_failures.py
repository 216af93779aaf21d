"""Guards the store of failures: shared by processes, and found again in any folder.

That it is safe to share is shown by racecheck itself.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import racecheck
from racecheck.model import Coverage
from racecheck.storage import Failures

STORE = Path(".racecheck", "failures")


def of(folder: Path, name: str = "test_save", shape: str = "00") -> Failures:
    return Failures(folder / STORE, name, shape)


def test_what_is_kept_is_found_by_name_and_shape(tmp_path: Path) -> None:
    of(tmp_path).add("rc1-long")
    of(tmp_path).add("rc1-b")
    of(tmp_path).add("rc1-b")
    assert of(tmp_path).tokens() == ["rc1-b", "rc1-long"]
    assert of(tmp_path, name="test_load").tokens() == []
    assert of(tmp_path, shape="01").tokens() == []


def test_it_is_found_again_when_its_folder_has_moved(tmp_path: Path) -> None:
    of(tmp_path / "old").add("rc1-b")
    (tmp_path / "old").rename(tmp_path / "new")
    assert of(tmp_path / "new").tokens() == ["rc1-b"]


def test_what_is_discarded_is_gone(tmp_path: Path) -> None:
    of(tmp_path).add("rc1-b")
    of(tmp_path).discard("rc1-b")
    of(tmp_path).discard("rc1-never-there")
    assert of(tmp_path).tokens() == []


def test_it_is_kept_out_of_version_control(tmp_path: Path) -> None:
    of(tmp_path).add("rc1-b")
    assert (tmp_path / ".racecheck" / ".gitignore").read_text() == "*\n"


def test_a_store_that_cannot_be_written_keeps_nothing(tmp_path: Path) -> None:
    (tmp_path / ".racecheck").write_text("a file in the way")
    of(tmp_path).add("rc1-b")
    of(tmp_path).discard("rc1-b")
    assert of(tmp_path).tokens() == []


def test_it_does_not_grow_without_end(tmp_path: Path) -> None:
    for number in range(100):
        of(tmp_path).add(f"rc1-{number}")
    assert len(of(tmp_path).tokens()) == 20


@pytest.mark.processes
def test_processes_can_share_it() -> None:
    def add(box: Path, kept: str) -> None:
        Failures(box / "failures", "test_save", "00").add(kept)

    def discard(box: Path) -> None:
        Failures(box / "failures", "test_save", "00").discard("rc1-b")

    def read(box: Path) -> list[str]:
        return Failures(box / "failures", "test_save", "00").tokens()

    def only_whole_tokens(found: object) -> bool:
        return isinstance(found, list) and set(found) <= {"rc1-a", "rc1-b"}

    def add_all_the_same(found: object) -> bool:
        return isinstance(found, list) and "rc1-a" in found

    result = racecheck.check(
        [
            racecheck.writer(racecheck.operation(add, kept="rc1-a"), name="a"),
            racecheck.writer(racecheck.operation(add, kept="rc1-b"), name="b"),
            racecheck.evictor(discard),
            racecheck.reader(read),
            racecheck.reader(read, name="later", after="a"),
        ],
        invariants=[
            racecheck.served("read", only_whole_tokens),
            racecheck.served("later", add_all_the_same, name="kept"),
        ],
        budget=300,
    )
    assert result.coverage in (Coverage.COMPLETE, Coverage.CUT)
