"""Guards that a complete answer about a simulated machine covers every order.

The exhaustive search leaves out orders that make no difference by what it knows of the
calls. Here it is compared with one that knows nothing: all calls conflict, so that it
goes through every order there is, and both have to see the same things happen.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from racecheck.explore.simulated import SimulatedRunner
from racecheck.model import EMPTY, Footprint, Kind, Resource, Simulation, Write
from racecheck.scenario import Scenario, crashes, simulated
from racecheck.scheduling import DPORScheduler
from racecheck.simulated import Stage
from racecheck.simulated.footprints import Footprints

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from racecheck.simulated.footprints import Touched

pytestmark = pytest.mark.processes

EVERYTHING = Footprint((), (Write(Resource("data", "everything")),))
MOST = 4000


def outcomes(scenario: Scenario) -> tuple[set[str], int]:
    """Return all that can come of a scenario, and how many executions that took."""
    found = set()
    executions = 0
    with Stage(scenario.simulation) as stage:
        runner = SimulatedRunner(stage, scenario)
        scheduler = DPORScheduler()
        while (seed := scheduler.start_execution()) is not None:
            trace = runner.run(scheduler, seed, footprints=True)
            executions += 1
            assert executions < MOST
            if trace is None:
                continue
            assert not trace.uncontrolled, trace.uncontrolled
            ended = sorted(
                f"{each.actor} {each.index} {each.ending} {each.shown}"
                for each in trace.operations
            )
            with stage.looking():
                left = sorted(_left(stage.fs.resolve(stage.box_path), ""))
            found.add("\n".join([*ended, *left]))
        assert scheduler.finished
    return found, executions


def _left(folder: object, path: str) -> list[str]:
    lines = []
    for name, entry in getattr(folder, "entries").items():  # noqa: B009  pyfakefs is not typed
        below = f"{path}/{name}"
        if hasattr(entry, "entries"):
            lines += [f"{below}/", *_left(entry, below)]
        else:
            lines.append(f"{below} {entry.byte_contents!r}")
    return lines


def publish(box: Path) -> None:
    temp = box / f"t{os.getpid()}"
    temp.write_text(str(os.getpid()))
    temp.replace(box / "file")


def read(box: Path) -> str:
    return (box / "file").read_text()


def listing(box: Path) -> list[str]:
    return sorted(os.listdir(box))


def claim(box: Path) -> None:
    os.close(os.open(box / "LOCK", os.O_CREAT | os.O_EXCL | os.O_WRONLY))


def claim_small(box: Path) -> None:
    os.close(os.open(box / "lock", os.O_CREAT | os.O_EXCL | os.O_WRONLY))


def move_folder(box: Path) -> None:
    (box / "folder").rename(box / "moved")


def write_below(box: Path) -> None:
    (box / "folder" / "file").write_text("below")


def turn_link(box: Path) -> None:
    temp = box / f"l{os.getpid()}"
    temp.symlink_to("file")
    temp.replace(box / "link")


def write_through_link(box: Path) -> None:
    (box / "link").write_text("linked")


def setup(box: Path) -> None:
    (box / "folder").mkdir()
    (box / "file").write_text("0")
    (box / "link").symlink_to("folder/below")


CASES: dict[str, tuple[tuple[Callable[..., object], ...], Simulation]] = {
    "reader": ((publish, read), simulated()),
    "listing": ((publish, listing), simulated()),
    "folder": ((move_folder, write_below), simulated()),
    "links": ((turn_link, write_through_link), simulated()),
    "case": ((claim, claim_small), simulated("macos")),
    "windows": ((publish, read), simulated("windows")),
    "windows folder": ((move_folder, write_below), simulated("windows")),
    "disk": ((publish, write_below), simulated(disk_nbytes=22)),
}


@pytest.mark.parametrize("case", CASES)
def test_what_is_left_out_makes_no_difference(
    case: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    functions, machine = CASES[case]
    made = Scenario(
        "orders",
        engine=machine,
        setup=setup,
        faults=[crashes(1)] if case == "windows" else [],
    )
    for number, function in enumerate(functions):
        made.actor(function, name=f"a{number}", raises=OSError)

    reduced, few = outcomes(made)

    monkeypatch.setattr(Footprints, "ending", lambda *_: EVERYTHING)
    monkeypatch.setattr(Footprints, "after", _all_conflicts)
    every, many = outcomes(made)

    assert reduced == every
    assert few <= many


def _all_conflicts(
    self: Footprints,
    kind: Kind,
    args: dict[str, object],
    touched: Touched,
    *,
    failed: bool,
) -> Footprint:
    del self, args, touched, failed
    return EMPTY if kind is Kind.RETURN else EVERYTHING
