"""Guards the ways to make sure of a link where each is alone: all of them work."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from scenarios.ensure_symlink import parts
from scenarios.ensure_symlink.links import ensure_filelock
from scenarios.ensure_symlink.pieces import WAYS, ensure_unclean

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

STATES = [
    parts.leave_nothing,
    parts.leave_stale_link,
    parts.leave_dangling_link,
    parts.leave_folder,
    parts.leave_full_folder,
]
# These rename a link to its place, which a folder does not let them.
NO_FOLDERS = {"atomic", "by_pid", "unclean"}


@pytest.fixture
def box(tmp_path: Path) -> Path:
    for release in (parts.OLD, parts.NEW):
        parts.make_release(tmp_path / release, release)
    return tmp_path


def names(box: Path) -> set[str]:
    return {path.name for path in box.iterdir() if path.suffix != ".lock"}


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("way", WAYS)
def test_the_link_leads_to_its_target_whatever_was_there(
    way: str, state: Callable[[Path], None], box: Path
) -> None:
    if way in NO_FOLDERS and "folder" in state.__name__:
        pytest.skip("it does not replace folders, as its scenario says")
    state(box)
    link = box / parts.LINK

    for _ in range(2):
        WAYS[way](link, box / parts.NEW)

        assert link.is_symlink()
        assert (link / parts.HEADER).read_text() == parts.NEW
        assert names(box) == {parts.OLD, parts.NEW, parts.LINK}
    assert (box / parts.OLD / parts.HEADER).read_text() == parts.OLD


@pytest.mark.parametrize("way", WAYS)
def test_folders_above_the_link_are_made(way: str, box: Path) -> None:
    link = box / "a" / "b" / parts.LINK

    WAYS[way](link, box / parts.NEW)

    assert (link / parts.HEADER).read_text() == parts.NEW


@pytest.mark.parametrize("way", sorted(NO_FOLDERS))
def test_a_folder_in_the_place_is_left_alone(way: str, box: Path) -> None:
    parts.leave_folder(box)

    with pytest.raises(IsADirectoryError):
        WAYS[way](box / parts.LINK, box / parts.NEW)

    assert (box / parts.LINK / parts.HEADER).read_text() == parts.OLD
    left = names(box) - {parts.OLD, parts.NEW, parts.LINK}
    assert bool(left) is (WAYS[way] is ensure_unclean)


def test_the_lock_file_stays_beside_the_link(box: Path) -> None:
    ensure_filelock(box / parts.LINK, box / parts.NEW)

    assert (box / f"{parts.LINK}.lock").exists()
