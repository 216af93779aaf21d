"""Which racecheck this is."""

from __future__ import annotations

from importlib import metadata

DISTRIBUTION = "racecheck-fs"


def version() -> str:
    """Return the version that is installed; a bare checkout has none."""
    try:
        return metadata.version(DISTRIBUTION)
    except metadata.PackageNotFoundError:
        return "0+unknown"
