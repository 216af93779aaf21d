"""Standard error that can be lost: what is said there changes no exit status."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


class _Lossy(io.RawIOBase):
    """A descriptor to which what cannot be written is not."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def writable(self) -> bool:
        return True

    def isatty(self) -> bool:
        return os.isatty(self._descriptor)

    def fileno(self) -> int:
        return self._descriptor

    def write(self, data: ReadableBuffer, /) -> int:
        left = memoryview(data).cast("B")
        size = len(left)
        # A full disk, a reader that has gone, a limit of the shell's.
        with contextlib.suppress(OSError):
            while left:
                left = left[os.write(self._descriptor, left) :]
        return size


def go_on_without() -> None:
    """Have what cannot be written to standard error be lost without an error."""
    before = sys.stderr
    # Python has none at all where the caller closed the descriptor.
    if before is None:
        return
    sys.stderr = io.TextIOWrapper(
        io.BufferedWriter(_Lossy(before.fileno())),
        encoding=before.encoding,
        errors=before.errors,
        line_buffering=True,
    )
