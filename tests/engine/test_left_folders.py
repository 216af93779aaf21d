"""Guards which folders of earlier runs are removed, and that no other ever is."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from racecheck.engine import claim, sandbox
from tests.engine.circumstances import NOBODY, become_nobody
from tests.engine.lab import in_child

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.processes


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder that another user can reach and work in, if there can be one."""
    folder = Path(tempfile.mkdtemp(dir="/tmp"))
    if os.getuid() == 0:
        os.chown(folder, NOBODY, NOBODY)
    yield folder
    shutil.rmtree(folder)


@pytest.mark.parametrize("by", ["itself", "the next run"])
@pytest.mark.parametrize("mode", [0o000, 0o200, 0o400, 0o500])
def test_a_user_without_privilege_removes_what_is_closed_to_him(
    mode: int, by: str, place: Path
) -> None:
    def body() -> list[str]:
        if os.getuid() == 0:
            become_nobody()
        made = sandbox.Sandbox(place)
        (made.box / "a" / "b" / "c").mkdir(parents=True)
        (made.box / "a" / "b" / "file").touch()
        for folder in (made.box / "a" / "b", made.box / "a", made.box):
            folder.chmod(mode)
        if by == "itself":
            made.remove()
        else:
            os.close(made._lock)
            claim.remove_left_over(place)
        return os.listdir(place)

    assert in_child(body) == []


def test_a_box_that_was_closed_is_made_anew_by_a_user_without_privilege(
    place: Path,
) -> None:
    def body() -> list[str]:
        if os.getuid() == 0:
            become_nobody()
        with sandbox.Sandbox(place) as made:
            folder = made.box / "a"
            (folder / "b" / "c").mkdir(parents=True)
            (folder / "b" / "file").write_text("text")
            made.keep_as_initial()
            made.restore()
            folder.chmod(0o400)
            made.marked = True
            made.restore()
            return [(folder / "b" / "file").read_text(), oct(folder.stat().st_mode)]

    assert in_child(body) == ["text", "0o40755"]


def test_a_link_to_a_folder_is_no_folder_of_a_run(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    (victim / "sandbox" / "deep").mkdir(parents=True)
    (victim / "lock").touch()
    work = tmp_path / "work"
    work.mkdir()
    (work / "racecheck-0007").symlink_to(victim)

    claim.remove_left_over(work)

    assert sorted(os.listdir(victim)) == ["lock", "sandbox"]
    assert (work / "racecheck-0007").is_symlink()


@pytest.mark.parametrize("name", ["lock", "lock.new"])
def test_a_lock_that_is_a_link_is_none(name: str, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.touch()
    folder = tmp_path / "racecheck-0007"
    folder.mkdir(mode=0o700)
    (folder / name).symlink_to(other)

    claim.remove_left_over(tmp_path)

    assert (folder / name).is_symlink()


@pytest.mark.parametrize(
    "entries",
    [
        [],
        ["results.txt"],
        ["lock", "results.txt"],
        ["lock", "sandbox"],
        ["lock", "others/"],
        ["lock/"],
    ],
)
def test_a_folder_that_somebody_has_made_stays(
    entries: list[str], tmp_path: Path
) -> None:
    folder = tmp_path / "racecheck-2024"
    folder.mkdir()
    folder.chmod(0o755)
    for entry in entries:
        if entry.endswith("/"):
            (folder / entry).mkdir()
        else:
            (folder / entry).touch()

    claim.remove_left_over(tmp_path)

    assert sorted(os.listdir(folder)) == sorted(each.rstrip("/") for each in entries)


def test_a_lock_with_something_in_it_is_of_somebody_else(tmp_path: Path) -> None:
    folder = tmp_path / "racecheck-2024"
    folder.mkdir(mode=0o700)
    (folder / "lock").write_text("1234")

    claim.remove_left_over(tmp_path)

    assert (folder / "lock").read_text() == "1234"


def test_a_run_takes_the_next_name_where_somebody_has_the_first(tmp_path: Path) -> None:
    (tmp_path / "racecheck-0000").mkdir()
    (tmp_path / "racecheck-0000").chmod(0o755)

    with sandbox.Sandbox(tmp_path) as made:
        assert made.folder.name == "racecheck-0001"

    assert os.listdir(tmp_path) == ["racecheck-0000"]
