"""Writing files so that readers see the old one or all of the new one."""

from __future__ import annotations

import contextlib
import fcntl
import os
import secrets
import time
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pathlib import Path

_NAME: Final = ".racecheck-{}.tmp"
_DIGITS: Final = 16
_EMPTY_GRACE_S: Final = 60.0


def write_whole(path: Path, data: bytes) -> None:
    """Write a file beside its place and move it there.

    Raises:
        OSError: It cannot be written; what was there stays.
    """
    temporary = path.with_name(_NAME.format(secrets.token_hex(_DIGITS // 2)))
    file = temporary.open("xb")
    try:
        with file:
            # Locked before there is anything in it, which tells it from what a writer
            # that was killed has left. Some file systems have no locks.
            with contextlib.suppress(OSError):
                fcntl.flock(file, fcntl.LOCK_EX)
            file.write(data)
            file.flush()
            # Without it the name can outlive a power cut that the content does not.
            os.fsync(file.fileno())
            temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def remove_unfinished(folder: Path) -> None:
    """Remove what writers to a folder have left that were killed over it."""
    with contextlib.suppress(OSError):
        for path in folder.glob(_NAME.format("[0-9a-f]" * _DIGITS)):
            with contextlib.suppress(OSError):
                _remove_if_abandoned(path)


def _remove_if_abandoned(path: Path) -> None:
    with path.open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        status = os.fstat(file.fileno())
        # Who has just made it may be about to lock it.
        if status.st_size or time.time() - status.st_mtime > _EMPTY_GRACE_S:
            path.unlink()
