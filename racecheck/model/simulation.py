"""What a simulated machine is like."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

PLATFORMS: Final = ("linux", "macos", "windows")

TEMPORARY: Final = "$TMPDIR"
"""What stands for the folder of temporary files among mounts."""

_RULES: Final = {
    "linux": "names are told apart by case, open files can be replaced and removed",
    "macos": "names are not told apart by case, open files can be replaced and removed",
    "windows": "names are not told apart by case, open files can be neither replaced "
    "nor removed, and a rename replaces nothing",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Simulation:
    """A machine that is simulated.

    Attributes:
        platform: One of `PLATFORMS`.
        mounts: Folders in the box that are file systems of their own, and `TEMPORARY`.
        disk_nbytes: Size of the disk, None for one that is never full.
    """

    platform: str = "linux"
    mounts: tuple[str, ...] = ()
    disk_nbytes: int | None = None

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What an answer about it takes for granted, a sentence each."""
        found = [
            f"this is a simulation of {self.platform}, where {_RULES[self.platform]}",
            "actors are threads of one process, and files are what pyfakefs remembers",
            "each call on files is atomic and is what pyfakefs makes of it",
            "a crash is the end of a process, not a loss of power",
            "a folder's listing is sorted by name",
            "steps take no time",
        ]
        if self.mounts:
            found.append(f"file systems of their own: {', '.join(self.mounts)}")
        if self.disk_nbytes is not None:
            found.append(f"the disk holds {self.disk_nbytes} bytes")
        return tuple(found)

    def mark(self) -> str:
        """Return a text that only an equal machine has."""
        return f"{self.platform} {','.join(self.mounts)} {self.disk_nbytes}"
