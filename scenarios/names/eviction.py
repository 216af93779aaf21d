"""A folder of cached files, with those that remove them and those that read them."""

import os
from contextlib import suppress
from pathlib import Path

from scenarios.names.files import read


def evict_listed(folder: Path) -> int:
    """Remove every file and return how many.

    Raises:
        FileNotFoundError: Somebody else removed one since they were listed.
    """
    names = sorted(os.listdir(folder))
    for name in names:
        os.unlink(folder / name)
    return len(names)


def evict(folder: Path) -> int:
    """Remove every file that is still there, and return how many that were."""
    removed = 0
    for name in sorted(os.listdir(folder)):
        with suppress(FileNotFoundError):
            os.unlink(folder / name)
            removed += 1
    return removed


def load_if_there(path: Path) -> bytes | None:
    """Read a file unless it is missing.

    Raises:
        FileNotFoundError: It was removed since it was looked for.
    """
    return read(path) if os.path.exists(path) else None


def load(path: Path) -> bytes | None:
    """Read a file, or find out that it is missing by trying to."""
    try:
        return read(path)
    except FileNotFoundError:
        return None
