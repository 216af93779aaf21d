"""Trace files: one execution with all that a report needs, as a file.

A file is a line `racecheck trace 2` and then a Zstandard frame with the race in
msgpack. Equal traces give equal bytes, whoever writes them, when and where.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

import msgspec
import zstandard

from racecheck.errors import TraceFileError
from racecheck.model import Race
from racecheck.storage.canonical import canonical_bytes
from racecheck.storage.consistency import check_race
from racecheck.storage.whole import write_whole

if TYPE_CHECKING:
    from pathlib import Path

VERSION = 2

_HEADER = re.compile(rb"racecheck trace ([0-9]{1,9})\n")
_LEVEL = 10
_MAX_BODY = 1 << 28
"""Bytes of a trace before it is compressed: a million steps or more."""


def write_trace(race: Race, path: Path) -> None:
    """Write an execution to a file, which appears whole or not at all.

    Raises:
        TraceFileError: The file cannot be written, or the trace does not fit in one.
    """
    try:
        frame = _compress(canonical_bytes(race))
        write_whole(path, b"racecheck trace %d\n" % VERSION + frame)
    except (OSError, RecursionError, TypeError, ValueError) as error:
        raise TraceFileError(f"cannot write {_name(path)}: {_why(error)}") from error


def read_trace(path: Path) -> Race:
    """Read an execution from a file.

    Raises:
        TraceFileError: It cannot be read, is no trace, is damaged, contradicts
            itself, or has another version.
    """
    try:
        data = path.read_bytes()
    except (OSError, ValueError) as error:
        raise TraceFileError(f"cannot read {_name(path)}: {_why(error)}") from error
    header = _HEADER.match(data)
    if header is None:
        raise TraceFileError(f"{_name(path)} is no trace file")
    # The version is checked before the body is decoded, so that a newer format gives
    # this message and not a complaint about a field.
    if int(header[1]) != VERSION:
        raise TraceFileError(
            f"{_name(path)} has version {int(header[1])}, but only {VERSION} is known"
        )
    try:
        race = msgspec.msgpack.decode(_decompress(data[header.end() :]), type=Race)
        check_race(race)
    except (msgspec.MsgspecError, zstandard.ZstdError, RecursionError, ValueError) as e:
        raise TraceFileError(f"{_name(path)} is damaged: {_why(e)}") from e
    return race


def _compress(body: bytes) -> bytes:
    if len(body) > _MAX_BODY:
        raise ValueError(f"it takes {len(body)} bytes, but {_MAX_BODY} are allowed")
    return zstandard.ZstdCompressor(level=_LEVEL, write_checksum=True).compress(body)


def _decompress(frame: bytes) -> bytes:
    """Return the content of the one frame there is, if it has a sane size."""
    # The size is looked at first, because memory for all of it is taken at once.
    size = zstandard.frame_content_size(frame)
    if not 0 <= size <= _MAX_BODY:
        raise ValueError(f"a size of {size} bytes is not allowed")
    return zstandard.ZstdDecompressor().decompress(frame, allow_extra_data=False)


def _name(path: Path) -> str:
    return repr(os.fspath(path))


def _why(error: Exception) -> str:
    """Return what went wrong, without the path that the message names already."""
    reason = error.strerror if isinstance(error, OSError) else None
    return reason or str(error)
