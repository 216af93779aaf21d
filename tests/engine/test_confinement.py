"""Guards that the kernel refuses what a tracer that sees nothing would let through."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from racecheck.kernel import landlock
from racecheck.scenario import Scenario
from tests.engine.lab import run

if TYPE_CHECKING:
    from collections.abc import Callable

    from racecheck.engine import Machine
    from racecheck.kernel.call import Call

pytestmark = [
    pytest.mark.processes,
    pytest.mark.skipif(not landlock.confines(), reason="the kernel has no Landlock"),
]


def see_nothing(machine: Machine) -> None:
    """Let the tracer take every place for one that may be changed."""

    def allows(call: Call, argument: str, path: str, *, inside: bool) -> bool:
        del call, argument, path, inside
        return True

    # In the process of this one execution, which ends with it.
    machine.semaphores.allows = allows  # type: ignore[method-assign]


def write(outside: Path) -> None:
    (outside / "file").write_text("changed")


def create(outside: Path) -> None:
    (outside / "new").touch()


def truncate(outside: Path) -> None:
    os.truncate(outside / "file", 0)


def unlink(outside: Path) -> None:
    (outside / "file").unlink()


def make_folder(outside: Path) -> None:
    (outside / "new").mkdir()


def rename_out(box: Path, outside: Path) -> None:
    (box / "inside").rename(outside / "new")


def rename_in(box: Path, outside: Path) -> None:
    (outside / "file").rename(box / "new")


def link_in(box: Path, outside: Path) -> None:
    (box / "new").hardlink_to(outside / "file")


def link_there(outside: Path) -> None:
    (outside / "new").symlink_to("file")


def through_the_root(outside: Path) -> None:
    Path(f"/proc/self/root{outside}/file").write_text("changed")


@pytest.mark.parametrize(
    "change",
    [
        write,
        create,
        truncate,
        unlink,
        make_folder,
        rename_out,
        rename_in,
        link_in,
        link_there,
        through_the_root,
    ],
)
def test_what_only_the_kernel_refuses_is_refused(
    change: Callable[..., None], tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "file").write_text("as it was")
    made = Scenario("confined")

    @made.setup
    def setup(box: Path) -> dict[str, Path]:
        (box / "inside").touch()
        return {"outside": outside}

    made.actor(change, name="one")

    # On one file system, so that nothing else keeps a rename from leaving.
    seen = run(made, change=see_nothing, workdir=tmp_path)

    assert "Error" in seen.operation("one").exception
    assert os.listdir(outside) == ["file"]
    assert (outside / "file").read_text() == "as it was"


def test_actors_change_the_box_from_folder_to_folder_and_use_devices() -> None:
    made = Scenario("confined")

    @made.actor
    def one(box: Path) -> str:
        (box / "a").mkdir()
        (box / "b").mkdir()
        (box / "a" / "file").write_text("text")
        (box / "a" / "file").rename(box / "b" / "file")
        (box / "a" / "again").hardlink_to(box / "b" / "file")
        Path("/dev/null").write_text("nothing")
        return (box / "a" / "again").read_text()

    seen = run(made)

    assert seen.operation("one").value == "text"
