"""Executions that failed, kept from one run of tests to the next.

A folder for each scenario holds a file for each token. Files appear whole and go in one
step, and nothing is ever rewritten, so that any number of processes can share a store.
The folder of a scenario is named after it and its shape and not after the file that it
is written in, which may move.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pathlib import Path

_DIGEST_SIZE: Final = 12
_SUFFIX: Final = ".token"
_MOST: Final = 20
"""Tokens that are kept of one scenario; more say nothing new, but take time each."""


class Failures:
    """The tokens of one scenario in a store.

    Args:
        folder: The store; made when something is put there.
        name: Full name of the scenario.
        shape: Its shape.
    """

    def __init__(self, folder: Path, name: str, shape: str) -> None:
        self._store = folder
        self._folder = folder / _digest(f"{name}\0{shape}")

    def tokens(self) -> list[str]:
        """Return the tokens, short ones first."""
        try:
            files = list(self._folder.glob(f"*{_SUFFIX}"))
        except OSError:
            return []
        found = set()
        for file in files:
            # Somebody else may have found out that it is out of date.
            with contextlib.suppress(OSError, UnicodeDecodeError):
                found.add(file.read_text("ascii").strip())
        return sorted(found, key=lambda token: (len(token), token))

    def add(self, token: str) -> None:
        """Keep a token, unless there are many; what cannot be written is not kept."""
        path = self._path(token)
        with contextlib.suppress(OSError):
            self._folder.mkdir(parents=True, exist_ok=True)
            if len(list(self._folder.glob(f"*{_SUFFIX}"))) >= _MOST:
                return
            self._ignore()
            # Unique among threads, processes and machines alike.
            temp = path.with_name(f"{path.name}.{secrets.token_hex(8)}")
            try:
                temp.write_text(f"{token}\n", "ascii")
                temp.replace(path)
            except OSError:
                temp.unlink(missing_ok=True)
                raise

    def discard(self, token: str) -> None:
        """Forget a token, if it is there."""
        with contextlib.suppress(OSError):
            # The folder stays: somebody may be about to put a file into it.
            self._path(token).unlink(missing_ok=True)

    def _path(self, token: str) -> Path:
        return self._folder / f"{_digest(token)}{_SUFFIX}"

    def _ignore(self) -> None:
        """Keep the store out of version control, as long as nobody says otherwise."""
        with contextlib.suppress(FileExistsError):
            file = os.open(
                self._store.parent / ".gitignore", os.O_WRONLY | os.O_CREAT | os.O_EXCL
            )
            with open(file, "w", encoding="ascii") as stream:  # noqa: PTH123  a descriptor
                stream.write("*\n")


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=_DIGEST_SIZE).hexdigest()
