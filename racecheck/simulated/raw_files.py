"""What `open` gives a simulated actor: Python's own buffers over simulated descriptors.

The file objects of pyfakefs keep a copy of the whole file each and write all of it when
they are flushed, so that two of one file undo each other. Those of Python make a call
for each full buffer, at the offset that the descriptor has, as everywhere.
"""

from __future__ import annotations

import io
import os
from typing import TYPE_CHECKING, Any, Final

from racecheck.simulated.acting import acting

if TYPE_CHECKING:
    from collections.abc import Callable

_FLAGS: Final = {
    "r": os.O_RDONLY,
    "w": os.O_WRONLY | os.O_CREAT | os.O_TRUNC,
    "x": os.O_WRONLY | os.O_CREAT | os.O_EXCL,
    "a": os.O_WRONLY | os.O_CREAT | os.O_APPEND,
}


class RawFile(io.RawIOBase):
    """A descriptor as the lowest layer of a file object."""

    def __init__(
        self, system: Any, descriptor: int, mode: str, name: object, *, closefd: bool
    ) -> None:
        self.name = name
        self.mode = mode
        self._system = system
        self._fd = descriptor
        self._reads = "r" in mode or "+" in mode
        self._writes = mode[0] in "wxa" or "+" in mode
        self._closefd = closefd
        self._owner = acting()

    @property
    def _is_orphan(self) -> bool:
        """Whether its owner was killed: what it had in buffers is gone with it."""
        return self._owner is not None and self._owner.dead

    def fileno(self) -> int:
        """Return the descriptor."""
        return self._fd

    def readable(self) -> bool:
        """Say whether it was opened for reading."""
        return self._reads

    def writable(self) -> bool:
        """Say whether it was opened for writing."""
        return self._writes

    def seekable(self) -> bool:
        """Say that it can be positioned."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read as much as there is room for."""
        data = self._system.read(self._fd, len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def write(self, data: Any) -> int:
        """Write all that is given."""
        if self._is_orphan:
            return len(data)
        return int(self._system.write(self._fd, bytes(data)))

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Set the offset, without a call: no other process shares it."""
        return int(self._system.seek_quietly(self._fd, offset, whence))

    def tell(self) -> int:
        """Return the offset."""
        return self.seek(0, os.SEEK_CUR)

    def truncate(self, size: int | None = None) -> int:
        """Cut the file, or make it longer."""
        length = self.tell() if size is None else size
        self._system.ftruncate(self._fd, length)
        return length

    def close(self) -> None:
        """Close the descriptor."""
        if self.closed:
            return
        try:
            super().close()
        finally:
            if self._closefd and not self._is_orphan:
                self._system.close(self._fd)


def open_file(  # noqa: PLR0917  the signature of `open`
    system: Any,
    file: Any,
    mode: str = "r",
    buffering: int = -1,
    encoding: str | None = None,
    errors: str | None = None,
    newline: str | None = None,
    closefd: bool = True,  # noqa: FBT001, FBT002  the signature of `open`
    opener: Callable[[Any, int], int] | None = None,
) -> Any:
    """Do what `open` does, by simulated calls.

    Raises:
        ValueError: The mode is none.
        OSError: The file cannot be opened.
    """
    kinds = [letter for letter in mode if letter in _FLAGS]
    if len(kinds) != 1 or not set(mode) <= {*_FLAGS, "+", "b", "t"}:
        raise ValueError(f"invalid mode: {mode!r}")
    binary = "b" in mode
    if buffering == 0 and not binary:
        raise ValueError("can't have unbuffered text I/O")
    flags = _FLAGS[kinds[0]]
    if "+" in mode:
        flags = (flags & ~(os.O_WRONLY | os.O_RDONLY)) | os.O_RDWR
    if isinstance(file, int):
        descriptor = file
    elif opener is not None:
        descriptor = opener(file, flags)
    else:
        descriptor = system.open(file, flags, 0o666)
    raw = RawFile(
        system, descriptor, kinds[0] + "+" * ("+" in mode), file, closefd=closefd
    )
    try:
        if kinds[0] == "a":
            raw.seek(0, os.SEEK_END)
        return _layered(raw, mode, buffering, encoding, errors, newline)
    except BaseException:
        raw.close()
        raise


def _layered(
    raw: RawFile,
    mode: str,
    buffering: int,
    encoding: str | None,
    errors: str | None,
    newline: str | None,
) -> Any:
    binary = "b" in mode
    if buffering == 0:
        return raw
    size = buffering if buffering > 1 else io.DEFAULT_BUFFER_SIZE
    buffer: Any
    if "+" in mode:
        buffer = io.BufferedRandom(raw, size)
    elif raw.writable():
        buffer = io.BufferedWriter(raw, size)
    else:
        buffer = io.BufferedReader(raw, size)
    if binary:
        return buffer
    text = io.TextIOWrapper(
        buffer,
        encoding or "utf-8",
        errors,
        newline,
        line_buffering=buffering == 1,
    )
    text.mode = mode  # type: ignore[misc]  # as `open` does
    return text
