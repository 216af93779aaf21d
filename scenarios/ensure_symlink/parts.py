"""What the scenarios of this folder are made of: states to start from, and callers."""

from collections.abc import Callable, Iterable
from pathlib import Path

from racecheck.invariants import (
    invariant,
    never_missing,
    no_leaked_descriptors,
    no_lost_writes,
    temp_files_bounded,
    whole_images,
)
from racecheck.model import FaultBound, History, Invariant, PlannedFault, View
from racecheck.scenario import Scenario
from scenarios.ensure_symlink.links import Ensure
from scenarios.ensure_symlink.pieces import WAYS

LINK = "include"
HEADER = "version.h"
OLD, NEW = "old", "new"

# What ways to make sure of a link break.
LOST = {"no_lost_writes", "no_unexpected_errors"}
GAP = {"never_missing", "no_unexpected_errors"}
LOST_AND_MISSING = LOST | {"never_missing"}

_MANY = 40

State = Callable[[Path], None]
"""Puts into the box what is in the place of the link before anybody starts."""


def leave_nothing(box: Path) -> None:
    """Leave the place empty."""
    del box


def leave_stale_link(box: Path) -> None:
    """Leave a link to an older release."""
    (box / LINK).symlink_to(box / OLD)


def leave_dangling_link(box: Path) -> None:
    """Leave a link to a release that is gone."""
    (box / LINK).symlink_to(box / "gone")


def leave_folder(box: Path) -> None:
    """Leave a folder with a file, as a release did that made copies."""
    make_release(box / LINK, OLD)


def leave_right_link(box: Path) -> None:
    """Leave the link as it shall be."""
    (box / LINK).symlink_to(box / NEW)


def leave_full_folder(box: Path) -> None:
    """Leave a folder with many files."""
    leave_folder(box)
    for number in range(_MANY):
        (box / LINK / f"part-{number:02}.h").write_text(OLD)


def make_release(folder: Path, version: str) -> None:
    """Make a folder with a header that tells its version."""
    folder.mkdir()
    (folder / HEADER).write_text(version)


def is_new(data: bytes) -> str | None:
    """Judge a header that was reached through the link."""
    return None if data == NEW.encode() else f"the header of another release, {data!r}"


def never_led_astray(link: str = LINK) -> Invariant:
    """Require that who follows the link after a success comes to the new release."""
    return whole_images(
        f"{link}/{HEADER}", is_new, after="ensure", name="never_led_astray"
    )


def never_taken() -> Invariant:
    """Require that no call ends in finding the name taken."""

    @invariant(in_any_order=True)
    def never_taken(view: View, history: History) -> str | None:
        del view
        for operation in history.operations:
            if operation.exception == "builtins.FileExistsError":
                return f"{operation.actor} raised {operation.shown}"
        return None

    return never_taken


def all_hold() -> list[Invariant]:
    """Return what has to hold of any way to make sure of a link."""
    return [
        no_lost_writes(),
        never_led_astray(),
        never_missing(LINK, after="ensure"),
        temp_files_bounded(f"{LINK}.tmp.*"),
        no_leaked_descriptors(),
    ]


def ensure(link: Path, target: Path, way: Ensure) -> None:
    """Make sure of the link, as each process does when it starts."""
    way(link, target)


def compile_it(link: Path) -> str:
    """Read the header behind the link, as a compiler does."""
    return (link / HEADER).read_text()


def ways(*names: str) -> dict[str, Ensure]:
    """Return some of the ways there are."""
    return {name: WAYS[name] for name in names}


def callers(
    name: str,
    count: int,
    state: State,
    *,
    invariants: Iterable[Invariant] | None = None,
    faults: Iterable[PlannedFault | FaultBound] = (),
    raises: type[BaseException] | tuple[type[BaseException], ...] = (),
    same_pid: bool = False,
    tags: Iterable[str] = (),
    budget: int | None = None,
) -> Scenario:
    """Make a scenario of processes that make sure of one link at the same time.

    Args:
        name: Name of the scenario, below that of this folder.
        count: How many processes.
        state: What is in the place of the link.
        invariants: What has to hold; `all_hold` if nothing is said.
        faults: What goes wrong.
        raises: Errors that are documented.
        same_pid: Whether they run where they have one process id.
        tags: Questions that it answers.
        budget: Executions, where the default is not right.
    """
    scenario = Scenario(
        f"ensure_symlink/{name}",
        invariants=all_hold() if invariants is None else invariants,
        faults=faults,
        same_pid=same_pid,
        tags=tags,
        budget=budget,
    )

    @scenario.setup
    def releases(box: Path) -> dict[str, Path]:
        """Make two releases, and what is in the place of the link."""
        make_release(box / OLD, OLD)
        make_release(box / NEW, NEW)
        state(box)
        return {"link": box / LINK, "target": box / NEW}

    scenario.writer(count=count, raises=raises)(ensure)
    return scenario
