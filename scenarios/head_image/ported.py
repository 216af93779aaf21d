"""Ways to put a head image at a path that matter on other machines than Linux.

The program of the report keeps the shared name where it is compiled for Windows, and
`rename` replaces nothing there. Each way here is one decision beside those of
`writers.py`.
"""

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

from scenarios.head_image.writers import (
    fits,
    pid_temp,
    shared_temp,
    write_through,
)


def branched_temp(path: Path) -> Path:
    """Name the temp file as the report's repair does: on Windows all share it."""
    return shared_temp(path) if os.name == "nt" else pid_temp(path)


def elsewhere_temp(path: Path) -> Path:
    """Name a temp file of this process in the folder for temporary files."""
    return Path(tempfile.gettempdir()) / pid_temp(path).name


def remove_and_rename(temp: Path, path: Path) -> None:
    """Publish `temp` where a rename replaces nothing: remove what is there first."""
    path.unlink(missing_ok=True)
    temp.rename(path)


def write_branched(path: Path, sections: Sequence[bytes]) -> bool:
    """Write through the temp file that the platform has, and replace what is there.

    Args:
        path: Where the image shall be.
        sections: Its bytes, each item in a write of its own.

    Returns:
        Whether the image was published.
    """
    temp = branched_temp(path)
    return fits(temp) and write_through(temp, path, sections, publish=Path.replace)


def write_own(path: Path, sections: Sequence[bytes]) -> bool:
    """Write through a temp file of this process on every platform, and replace.

    Args:
        path: Where the image shall be.
        sections: Its bytes, each item in a write of its own.

    Returns:
        Whether the image was published.
    """
    temp = pid_temp(path)
    return fits(temp) and write_through(temp, path, sections, publish=Path.replace)


def write_renamed(path: Path, sections: Sequence[bytes]) -> bool:
    """Write through a temp file of this process and rename it, as the C library does.

    Args:
        path: Where the image shall be.
        sections: Its bytes, each item in a write of its own.

    Returns:
        Whether the image was published.
    """
    temp = pid_temp(path)
    return fits(temp) and write_through(temp, path, sections)


def write_removing(path: Path, sections: Sequence[bytes]) -> bool:
    """Write through a temp file of this process; remove what is there, then rename.

    Args:
        path: Where the image shall be.
        sections: Its bytes, each item in a write of its own.

    Returns:
        Whether the image was published.
    """
    temp = pid_temp(path)
    return fits(temp) and write_through(temp, path, sections, publish=remove_and_rename)


def write_elsewhere(path: Path, sections: Sequence[bytes]) -> bool:
    """Write through a temp file in the folder for temporary files.

    Args:
        path: Where the image shall be.
        sections: Its bytes, each item in a write of its own.

    Returns:
        Whether the image was published.
    """
    return write_through(elsewhere_temp(path), path, sections)
