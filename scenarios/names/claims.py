"""A name that only one process can make: a claim, and a folder that all of them use."""

import os
from pathlib import Path

from scenarios.names.files import create


def claim_if_free(path: Path) -> bool:
    """Make the file unless it is there, and say whether it was made.

    Raises:
        FileExistsError: Somebody else made it since it was looked for.
    """
    if os.path.exists(path):
        return False
    create(path)
    return True


def claim(path: Path) -> bool:
    """Make the file, and say whether that could be done: the call is the test."""
    try:
        create(path)
    except FileExistsError:
        return False
    return True


def put_after_looking(folder: Path, name: str) -> None:
    """Make a file in a folder, and the folder if there is none.

    Raises:
        FileExistsError: Somebody else made the folder since it was looked for.
    """
    if not os.path.isdir(folder):
        os.mkdir(folder)
    create(folder / name)


def put(folder: Path, name: str) -> None:
    """Make a file in a folder, whoever makes the folder."""
    try:
        os.mkdir(folder)
    except FileExistsError:
        if not os.path.isdir(folder):
            raise
    create(folder / name)
