"""Guards that the box is at the start of each execution what `setup` left.

Most of it stays between two executions, so that all the ways in which it can come to be
something else are tried here, one after the other and several at once.
"""

from __future__ import annotations

import contextlib
import os
import random
import stat
from typing import TYPE_CHECKING, NamedTuple

import pytest

from racecheck.engine.initial import FRESH
from racecheck.engine.sandbox import Sandbox
from racecheck.footprint import Names

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

OLD = (1_000_000_000_000_000_000, 1_000_000_001_000_000_000)


class Change(NamedTuple):
    """Something that an actor can do, and the names of what it touches by that."""

    make: Callable[[Path], object]
    touched: tuple[str, ...]


CHANGES = {
    "nothing": Change(lambda _: None, ()),
    "a new file": Change(lambda box: (box / "new").touch(), (".",)),
    "a new folder": Change(
        lambda box: (box / "new" / "more").mkdir(parents=True), (".",)
    ),
    "a file is written": Change(
        lambda box: (box / "file").write_text("FILE"), ("file",)
    ),
    "a file is removed": Change(lambda box: (box / "file").unlink(), (".", "file")),
    "a file is replaced": Change(
        lambda box: replace(box / "file", b"file"), (".", "file")
    ),
    "a file moves away": Change(
        lambda box: (box / "file").rename(box / "moved"), (".", "file")
    ),
    "a folder takes the place of a file": Change(
        lambda box: folder_for_file(box / "file"), (".", "file")
    ),
    "a mode is changed": Change(lambda box: (box / "file").chmod(0o400), ("file",)),
    "times are changed": Change(lambda box: os.utime(box / "file", (5, 5)), ("file",)),
    "a link is given": Change(
        lambda box: os.link(box / "file", box / "second"), (".", "file")
    ),
    "a symbolic link leads elsewhere": Change(
        lambda box: relink(box / "link"), (".", "link")
    ),
    "a file below a folder is written": Change(
        lambda box: (box / "folder" / "deep" / "inner").write_text("INNER"),
        ("folder/deep/inner",),
    ),
    "a file below a folder is new": Change(
        lambda box: (box / "folder" / "deep" / "new").touch(), ("folder/deep",)
    ),
    "a folder is closed": Change(lambda box: (box / "folder").chmod(0), ("folder",)),
    "a folder moves": Change(
        lambda box: (box / "folder").rename(box / "elsewhere"), (".", "folder")
    ),
    "the box is closed": Change(lambda box: box.chmod(0o500), (".",)),
    "the home is used": Change(
        lambda box: (box.parent / "home" / ".cache").mkdir(), ("~",)
    ),
    "the home is gone": Change(
        lambda box: (box.parent / "home").rename(box / "home"), ("~", ".", "$SANDBOX")
    ),
    "something lies beside the box": Change(
        lambda box: (box.parent / "beside").touch(), ("$SANDBOX",)
    ),
}


def replace(path: Path, data: bytes) -> None:
    temp = path.with_suffix(".tmp")
    temp.write_bytes(data)
    temp.rename(path)


def folder_for_file(path: Path) -> None:
    path.unlink()
    (path / "below").mkdir(parents=True)


def relink(path: Path) -> None:
    path.unlink()
    path.symlink_to("folder")


def fill(box: Path) -> None:
    (box / "file").write_text("file")
    (box / "other").write_text("other")
    (box / "link").symlink_to("file")
    (box / "folder" / "deep").mkdir(parents=True)
    (box / "folder" / "deep" / "inner").write_text("inner")
    (box / "folder" / "deep").chmod(0o750)
    os.utime(box / "other", ns=OLD)


@pytest.fixture
def sandbox(tmp_path: Path) -> Iterator[Sandbox]:
    with Sandbox(tmp_path) as made:
        fill(made.box)
        made.keep_as_initial()
        made.restore()
        yield made


@pytest.fixture
def made_anew(sandbox: Sandbox) -> Iterator[Callable[[], set[str]]]:
    """Tells which things in the box are no longer those that were there at first."""
    paths = [sandbox.box, *sandbox.box.rglob("*")]
    with contextlib.ExitStack() as kept:
        before = {}
        for path in paths:
            # Numbers of inodes that are in use are given to no other.
            descriptor = os.open(path, os.O_PATH | os.O_NOFOLLOW)
            kept.callback(os.close, descriptor)
            before[path] = os.fstat(descriptor)

        def look() -> set[str]:
            return {
                str(path.relative_to(sandbox.box))
                for path, status in before.items()
                if not os.path.samestat(status, path.lstat())
            }

        yield look


def look(sandbox: Sandbox) -> dict[str, tuple[object, ...]]:
    """Return all that the sandbox holds, and the names of its inodes."""
    names = Names()
    names.load(sandbox.inodes())
    found: dict[str, tuple[object, ...]] = {}
    for folder, folders, files in os.walk(sandbox.root):
        for path in (folder, *(f"{folder}/{name}" for name in folders + files)):
            status = os.lstat(path)
            modified = status.st_mtime_ns
            content: object = None
            if stat.S_ISLNK(status.st_mode):
                content = os.readlink(path)
            elif stat.S_ISREG(status.st_mode):
                with open(path, "rb") as file:
                    content = file.read()
            if path == str(sandbox.root):
                modified = 0
            mode, links = status.st_mode, status.st_nlink
            shown = path.removeprefix(str(sandbox.root))
            found[shown] = (names.find(status), mode, links, modified, content)
    return found


def in_order(sandbox: Sandbox) -> dict[str, list[str]]:
    """Return the names in each folder below the box in the order of the system's."""
    return {
        str(folder).removeprefix(str(sandbox.root)): os.listdir(folder)
        for folder in (sandbox.box / "folder", sandbox.box / "folder" / "deep")
    }


@pytest.mark.parametrize("what", CHANGES)
def test_whatever_was_changed_is_as_it_was(sandbox: Sandbox, what: str) -> None:
    before = look(sandbox)
    order = in_order(sandbox)
    assert all(name is not None for name, *_ in before.values())

    change = CHANGES[what]
    change.make(sandbox.box)
    sandbox.touched = set(change.touched)
    sandbox.restore()

    assert look(sandbox) == before
    assert in_order(sandbox) == order


def test_changes_that_come_together_and_in_turn_are_all_undone(
    sandbox: Sandbox,
) -> None:
    before = look(sandbox)
    chance = random.Random(3)
    for _ in range(300):
        sandbox.touched = set()
        for what in chance.sample(sorted(CHANGES), 4):
            change = CHANGES[what]
            try:
                change.make(sandbox.box)
            except OSError:
                # Something is not there any more.
                continue
            finally:
                sandbox.touched.update(change.touched)
        sandbox.restore()
        assert look(sandbox) == before


def test_what_nobody_touched_stays(
    sandbox: Sandbox, made_anew: Callable[[], set[str]]
) -> None:
    (sandbox.box / "new").touch()
    sandbox.touched = {"."}
    sandbox.restore()
    assert made_anew() == set()


def test_what_somebody_touched_is_made_anew_though_it_looks_the_same(
    sandbox: Sandbox, made_anew: Callable[[], set[str]]
) -> None:
    # Where stamps are coarse, a change within a moment does not show.
    sandbox.touched = {"file", "folder/deep/inner"}
    sandbox.restore()
    assert made_anew() == {"file", "folder", "folder/deep", "folder/deep/inner"}


def test_what_was_changed_unseen_is_noticed(sandbox: Sandbox) -> None:
    before = look(sandbox)
    for change in CHANGES.values():
        change.make(sandbox.box)
        sandbox.touched = set()
        sandbox.restore()
        assert look(sandbox) == before


def test_times_of_access_are_as_they_were(sandbox: Sandbox) -> None:
    look(sandbox)
    sandbox.touched = set()
    sandbox.restore()
    paths = [sandbox.box, *map(sandbox.box.joinpath, ("file", "link", "folder"))]
    assert {path.lstat().st_atime_ns for path in paths} == {FRESH[0]}
    assert (sandbox.box / "other").lstat().st_atime_ns == OLD[0]


def test_all_is_made_anew_if_nobody_can_say_what_was_touched(
    sandbox: Sandbox, made_anew: Callable[[], set[str]]
) -> None:
    sandbox.restore()
    assert len(made_anew()) == len(list(sandbox.box.rglob("*")))


def test_another_scenario_starts_from_what_its_own_setup_made(
    sandbox: Sandbox,
) -> None:
    sandbox.touched = set()
    sandbox.clear()
    (sandbox.box / "file").write_text("another")
    (sandbox.box / "more").write_text("more")
    sandbox.keep_as_initial()
    sandbox.restore()
    assert sorted(os.listdir(sandbox.box)) == ["file", "more"]
    assert (sandbox.box / "file").read_text() == "another"
    assert all(name is not None for name, *_ in look(sandbox).values())


def test_files_with_two_names_have_them_again(tmp_path: Path) -> None:
    with Sandbox(tmp_path) as sandbox:
        fill(sandbox.box)
        os.link(sandbox.box / "file", sandbox.box / "again")
        sandbox.keep_as_initial()
        sandbox.restore()
        before = look(sandbox)
        for change in CHANGES.values():
            change.make(sandbox.box)
            sandbox.touched = set(change.touched)
            sandbox.restore()
            assert look(sandbox) == before
        assert (sandbox.box / "file").samefile(sandbox.box / "again")


@pytest.mark.parametrize(
    ("size", "pieces"),
    [
        (0, []),
        (1 << 20, []),
        (5, [(0, b"piece")]),
        (1 << 20, [(0, b"first"), (1 << 16, b"second")]),
        ((1 << 20) + 3, [((1 << 20) - 4, b"the end")]),
    ],
)
def test_holes_are_where_they_were(size: int, pieces: list[tuple[int, bytes]]) -> None:
    with Sandbox() as sandbox:
        path = sandbox.box / "file"
        with path.open("wb") as file:
            for start, data in pieces:
                file.seek(start)
                file.write(data)
            file.truncate(size)
        before = holes(path), path.read_bytes()
        sandbox.keep_as_initial()
        path.write_bytes(b"something else")
        sandbox.restore()

        assert (holes(path), path.read_bytes()) == before


def holes(path: Path) -> tuple[int, int, list[int]]:
    """Return size and blocks of a file, and where its data begins and ends."""
    status = path.stat()
    found = [0]
    with path.open("rb", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            found.append(file.seek(found[-1], os.SEEK_DATA))
            found.append(file.seek(found[-1], os.SEEK_HOLE))
    return status.st_size, status.st_blocks, found
