"""Ways to put a head image at a path that matter on other machines than Linux.

The program of the report keeps the shared name where it is compiled for Windows, and
`rename` replaces nothing there. Each way here is one decision beside those of
`writers.py`.
"""

import os
from pathlib import Path

from scenarios.head_image import publishing
from scenarios.head_image.temp_names import pid_temp, shared_temp, temp_in_tmpdir
from scenarios.head_image.writers import Way


def branched_temp(path: Path) -> Path:
    """Name the temp file as the report's repair does: on Windows all share it."""
    return shared_temp(path) if os.name == "nt" else pid_temp(path)


def remove_and_rename(temp: Path, path: Path) -> None:
    """Publish `temp` where a rename replaces nothing: remove what is there first."""
    path.unlink(missing_ok=True)
    temp.rename(path)


write_branched = Way(temp=branched_temp, publish=publishing.replace)
write_own = Way(publish=publishing.replace)
# As the rename of the C library does, this replaces nothing on Windows.
write_renamed = Way()
write_removing = Way(publish=remove_and_rename)
write_elsewhere = Way(temp=temp_in_tmpdir)
