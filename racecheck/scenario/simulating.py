"""Saying what machine a scenario is about that this one is not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from racecheck.errors import ScenarioError
from racecheck.model.simulation import PLATFORMS, TEMPORARY, Simulation
from racecheck.scenario.arguments import is_whole, meant

if TYPE_CHECKING:
    from collections.abc import Iterable


def simulated(
    platform: str = "linux",
    *,
    mounts: Iterable[str] = (),
    disk_nbytes: int | None = None,
) -> Simulation:
    """Describe a machine for a scenario, as its `engine`.

    Args:
        platform: `linux`, `macos` or `windows`.
        mounts: Folders in the box that are file systems of their own, so that nothing
            is renamed into them or out of them. `$TMPDIR` stands for the folder for
            temporary files.
        disk_nbytes: Size of the disk.

    Raises:
        ScenarioError: There is no such machine.
    """
    if platform not in PLATFORMS:
        raise ScenarioError(
            f"a simulated platform is one of {', '.join(PLATFORMS)}, not {platform!r}"
            f"{meant(str(platform), PLATFORMS)}"
        )
    found = (mounts,) if isinstance(mounts, str) else tuple(mounts)
    for mount in found:
        if mount == TEMPORARY:
            continue
        parts = str(mount).split("/")
        if not all(parts) or {".", ".."} & set(parts):
            raise ScenarioError(f"a mount is a path in the box, not {mount!r}")
    if disk_nbytes is not None and not is_whole(disk_nbytes, 1):
        raise ScenarioError(f"a disk has a size in bytes, not {disk_nbytes!r}")
    return Simulation(platform=platform, mounts=found, disk_nbytes=disk_nbytes)
