"""One file that is published anew, by unlink and rename or by replacing it."""

import os
from pathlib import Path

from scenarios.names.files import create, own_temp


def publish_by_unlink(path: Path, data: bytes) -> None:
    """Make room for the new file, then move it there, as on systems that insist."""
    temp = own_temp(path)
    create(temp, data)
    os.unlink(path)
    os.rename(temp, path)


def publish_by_replace(path: Path, data: bytes) -> None:
    """Move the new file over the old one, so that the name always leads to one."""
    temp = own_temp(path)
    create(temp, data)
    os.replace(temp, path)
