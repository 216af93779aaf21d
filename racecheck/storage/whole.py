"""Writing files so that readers see the old one or all of the new one."""

from __future__ import annotations

import os
import secrets
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def write_whole(path: Path, data: bytes) -> None:
    """Write a file beside its place and move it there.

    Raises:
        OSError: It cannot be written; what was there stays.
    """
    temporary = path.with_name(f".racecheck-{secrets.token_hex(8)}.tmp")
    file = temporary.open("xb")
    try:
        with file:
            file.write(data)
            file.flush()
            # Without it the name can outlive a power cut that the content does not.
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
