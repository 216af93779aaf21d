"""Guards what invariants are told of files: which one a path or a descriptor means."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from racecheck.invariants import invariant
from racecheck.model import Kind
from racecheck.scenario import Scenario
from tests.engine.lab import run

if TYPE_CHECKING:
    from pathlib import Path

    from racecheck.model import History, View

pytestmark = pytest.mark.processes


def put(box: Path) -> None:
    """Replace the file by another one."""
    temp = box / "temp"
    os.close(os.open(temp, os.O_WRONLY | os.O_CREAT))
    os.rename(temp, box / "file")


def hold(box: Path) -> None:
    """Open the file twice, by a link as well, and let go of one."""
    os.open(box / "link", os.O_RDONLY)
    os.close(os.open(box / "file", os.O_RDONLY))
    os.unlink(box / "file")


@invariant
def told(view: View, history: History) -> str | None:
    """Say what is known at each rename and unlink, as if it were wrong."""
    step = history.steps[-1]
    if step.kind is not Kind.UNLINK:
        return None
    renamed = [each for each in history.steps if each.kind is Kind.RENAME]
    return (
        f"{len(renamed)} renamed; meant {list(view.meant)}; "
        f"link is {view.identity('link')!r}, file is {view.identity('file')!r}; "
        f"hold has {list(history.open_files('hold'))}"
    )


def scenario() -> Scenario:
    made = Scenario("identities", invariants=[told])

    @made.setup
    def setup(box: Path) -> None:
        (box / "file").write_text("old")
        (box / "link").symlink_to("file")

    made.writer(put)
    made.reader(hold)
    return made


@pytest.mark.parametrize(
    ("script", "renames", "meant", "held"),
    [
        (("hold to end",), 0, "file", "file"),
        (("hold to unlink", "put to end"), 1, "put#0", "file"),
        (("put to end",), 1, "put#0", "put#0"),
    ],
)
def test_files_have_one_name_wherever_they_are(
    script: tuple[str, ...], renames: int, meant: str, held: str
) -> None:
    seen = run(scenario(), *script)

    (violation,) = seen.trace.violations
    assert violation.message == (
        f"{renames} renamed; meant [{meant!r}]; link is 'link', file is ''; "
        f"hold has [{held!r}]"
    )
