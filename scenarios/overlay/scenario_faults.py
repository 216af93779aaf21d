"""Builders of an overlay that are killed, or whose calls fail."""

from racecheck.invariants import clean_failure, converges, no_lost_writes
from racecheck.model import FaultBound
from racecheck.scenario import Scenario, crashes, errnos
from scenarios.overlay.overlay import MARKER_NAME
from scenarios.overlay.parts import (
    FINISHED,
    OVERLAY,
    build,
    builders,
    jobs,
    marker_covers,
    model_folder,
    no_litter,
)

killed = jobs(
    "killed",
    2,
    invariants=[
        no_lost_writes(),
        marker_covers,
        converges(OVERLAY, FINISHED, ignore="*.tmp.*", role="build"),
        *no_litter(),
    ],
    faults=[crashes(1)],
    tags=["T-O7"],
    budget=150,
)
killed.over(
    builder=builders("marked_first", "fixed", "stage_folder", "locked"),
    expect={"marked_first": {"marker_covers", "converges"}},
    tags={"marked_first": "quick"},
)


def refused(name: str, *faults: FaultBound) -> Scenario:
    """Make a scenario of a build that fails at a call, and one that comes after it."""
    scenario = Scenario(
        f"overlay/{name}",
        invariants=[
            no_lost_writes(),
            converges(OVERLAY, FINISHED, role="build"),
            # What comes before the marker may stay: nobody trusts it.
            clean_failure(f"{OVERLAY}/{MARKER_NAME}", f"{OVERLAY}/*.tmp.*"),
            *no_litter(),
        ],
        setup=model_folder,
        faults=faults,
    )
    scenario.writer(repeat=2)(build)
    return scenario


LITTER = {"clean_failure", "converges", "temp_files_bounded"}

disk_full = refused("disk_full", errnos("ENOSPC", "write"), errnos("ENOSPC", "symlink"))
disk_full.over(
    builder=builders("unclean", "fixed", "stage_folder"),
    expect={"unclean": LITTER},
    tags="quick",
)

rename_fails = refused("rename_fails", errnos("EIO", "rename"))
rename_fails.over(
    builder=builders("unclean", "fixed", "stage_folder"), expect={"unclean": LITTER}
)

# Not of a staged folder: no program can remove one where closing folders fails.
close_fails = refused("close_fails", errnos("EIO", "close"))
close_fails.over(builder=builders("unclean", "fixed"), expect={"unclean": LITTER})
