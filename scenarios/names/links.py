"""A link to the release in use, which is turned to the next one."""

import os
from pathlib import Path

from scenarios.names.files import own_temp, read

NAME = "name"


def turn_by_unlink(link: Path, release: str) -> None:
    """Remove the link and make it anew."""
    os.unlink(link)
    os.symlink(release, link)


def turn_by_replace(link: Path, release: str) -> None:
    """Make the new link under another name and move it over the old one."""
    temp = own_temp(link)
    os.symlink(release, temp)
    os.replace(temp, link)


def name_of_release(link: Path) -> bytes:
    """Read a file of the release in use."""
    return read(link / NAME)
