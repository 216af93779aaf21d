"""Guards that files and folders which may not be changed go all the same.

With flags of chattr(1) not even their owner can remove them. Only some users can set
these, and only some file systems have them.
"""

from __future__ import annotations

import fcntl
import os
from typing import TYPE_CHECKING

import pytest

from racecheck.api import Options, explore
from racecheck.engine import sandbox
from racecheck.kernel.rows import FS_IOC_SETFLAGS
from racecheck.model import Coverage, Verdict
from racecheck.scenario import Budget, Scenario

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.processes

IMMUTABLE, APPEND_ONLY = 0x10, 0x20


def give(path: str | Path, flags: int) -> None:
    """Give a file or a folder flags."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        fcntl.ioctl(descriptor, FS_IOC_SETFLAGS, flags.to_bytes(8, "little"))
    finally:
        os.close(descriptor)


@pytest.fixture
def made() -> Iterator[sandbox.Sandbox]:
    """A sandbox with some files, on a file system that has flags."""
    with sandbox.Sandbox() as made:
        box = made.box
        (box / "file").write_text("file")
        deep = box
        for _ in range(12):
            deep /= "folder"
            deep.mkdir()
        (deep / "file").touch()
        made.keep_as_initial()
        made.restore()
        try:
            give(box / "file", IMMUTABLE)
            give(box / "file", 0)
        except OSError as error:
            pytest.skip(f"flags of files cannot be set here: {error.strerror}")
        yield made


@pytest.mark.parametrize("flags", [IMMUTABLE, APPEND_ONLY])
@pytest.mark.parametrize(
    "path",
    [".", "file", "folder", "/".join(["folder"] * 12), "/".join(["folder"] * 9)],
    ids=["box", "file", "folder", "deepest", "deep"],
)
def test_what_may_not_be_changed_is_restored_and_removed(
    made: sandbox.Sandbox, path: str, flags: int
) -> None:
    for _ in range(2):
        (made.box / "new").touch()
        give(made.box / path, flags)
        made.marked = True
        made.restore()

        assert sorted(os.listdir(made.box)) == ["file", "folder"]
        assert (made.box / "file").read_text() == "file"

    give(made.box / path, flags)
    made.remove()

    assert not made.folder.exists()


def test_a_file_that_an_actor_has_fixed_is_gone_for_the_next_execution(
    made: sandbox.Sandbox,
) -> None:
    del made
    scenario = Scenario("fixed")
    scenario.setup(lambda box: (box / "file").touch())

    @scenario.writer
    def fix(box: Path) -> None:
        (box / "new").mkdir()
        give(box / "file", IMMUTABLE)
        give(box / "new", IMMUTABLE)

    @scenario.reader
    def look(box: Path) -> list[str]:
        return os.listdir(box)

    result = explore(scenario, Options(budget=Budget(executions=50)))

    assert (result.verdict, result.coverage) == (Verdict.PASSED, Coverage.COMPLETE)
