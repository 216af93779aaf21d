"""A file that is written under a temp name, which is cleaned up whatever happens."""

import os
from contextlib import suppress
from pathlib import Path

from scenarios.names.files import create, own_temp


def save_by_fixed_name(path: Path, data: bytes) -> bool:
    """Write under one temp name, if nobody else does, and remove it at the end.

    Returns:
        Whether the file was saved; False if somebody else is at it.

    Raises:
        FileNotFoundError: Somebody else cleaned up what is written here.
    """
    temp = Path(f"{path}.tmp")
    try:
        create(temp, data)
        os.rename(temp, path)
    except FileExistsError:
        return False
    finally:
        # This is done also by those who found the name taken.
        with suppress(FileNotFoundError):
            os.unlink(temp)
    return True


def save_by_own_name(path: Path, data: bytes) -> bool:
    """Write under a temp name of one's own, and remove it at the end.

    Returns:
        True: nobody else is in the way.
    """
    temp = own_temp(path)
    try:
        create(temp, data)
        os.rename(temp, path)
    finally:
        with suppress(FileNotFoundError):
            os.unlink(temp)
    return True
