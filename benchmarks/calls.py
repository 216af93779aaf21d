"""What the measured actors do: file calls, and hardly anything between them."""

from __future__ import annotations

import os

CYCLE = 6
"""Calls of one cycle: open, write, close, stat, rename, unlink."""

_DATA = bytes(64)
_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL


def cycles(folder: str, name: str, repeat: int) -> None:
    """Make `CYCLE` file calls, `repeat` times; nothing is left in the folder."""
    fresh, final = f"{folder}/{name}.tmp", f"{folder}/{name}"
    for _ in range(repeat):
        descriptor = os.open(fresh, _FLAGS, 0o600)
        os.write(descriptor, _DATA)
        os.close(descriptor)
        os.stat(fresh)
        os.rename(fresh, final)
        os.unlink(final)
