"""What outlives an execution: tokens, trace files, and digests to compare by."""

from __future__ import annotations

from racecheck.storage.digest import shape_digest, steps_digest
from racecheck.storage.failures import Failures
from racecheck.storage.token import Token, check_shape, decode, encode
from racecheck.storage.trace_file import read_trace, write_trace
from racecheck.storage.whole import remove_unfinished, write_whole

__all__ = [
    "Failures",
    "Token",
    "check_shape",
    "decode",
    "encode",
    "read_trace",
    "remove_unfinished",
    "shape_digest",
    "steps_digest",
    "write_trace",
    "write_whole",
]
