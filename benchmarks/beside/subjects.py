"""What racecheck and its neighbours are all given to run.

Nothing of racecheck is imported here, and nothing that their environments lack.
"""

from __future__ import annotations

import os
import sqlite3
from typing import TYPE_CHECKING

from scenarios.names import index
from scenarios.names.files import create

if TYPE_CHECKING:
    from pathlib import Path

# --- a counter in a file, opened by `open`, which is what the neighbours see ----------


def prepare(box: Path) -> None:
    """Put a counter there that says 0."""
    (box / "count").write_text("0")


def increment(box: Path) -> None:
    """Read the counter and publish the next number through a file of one's own."""
    with open(box / "count") as file:
        number = int(file.read())
    temp = box / f"count.{os.urandom(4).hex()}"
    with open(temp, "w") as file:
        file.write(str(number + 1))
    os.replace(temp, box / "count")


# --- what the neighbours are made for -------------------------------------------------


class Counter:
    """A counter in memory."""

    def __init__(self) -> None:
        self.value = 0

    def increment(self) -> None:
        """Raise it by two, one after the other, as `+= 1` would."""
        for _ in range(2):
            number = self.value
            self.value = number + 1


def prepare_table(path: str) -> str:
    """Put a counter into a database, and return where that is."""
    database = sqlite3.connect(path, isolation_level=None)
    database.execute("CREATE TABLE IF NOT EXISTS counter (value INTEGER)")
    database.execute("DELETE FROM counter")
    database.execute("INSERT INTO counter VALUES (0)")
    database.close()
    return path


def increment_row(path: str) -> None:
    """Read the counter and write the next number."""
    database = sqlite3.connect(path, isolation_level=None)
    ((number,),) = database.execute("SELECT value FROM counter").fetchall()
    database.execute("UPDATE counter SET value = ?", (number + 1,))
    database.close()


# --- the index that leads to a blob ---------------------------------------------------


def prepare_index(box: Path) -> None:
    """Put a blob there, and an index that leads to it."""
    create(box / "blob-1", b"1")
    os.symlink("blob-1", box / index.INDEX)


def publish(box: Path) -> None:
    """Put the next blob there, remove the old one, and make many calls besides."""
    index.publish(box, "blob-2", b"2", box / "publish.log")


def load(box: Path) -> bool:
    """Make many calls, and then read the blob; say whether it was there."""
    try:
        index.load_once(box, box / "load.log")
    except FileNotFoundError:
        return False
    return True
