"""The seccomp filter that makes chosen system calls stop for the tracer.

See seccomp(2). The filter answers ALLOW for calls that are known to be harmless and
TRACE for everything else, so that a call racecheck has never heard of stops too.
"""

from __future__ import annotations

import ctypes
import os
import struct
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

_libc = ctypes.CDLL(None, use_errno=True)

_PR_SET_NO_NEW_PRIVS: Final = 38
_PR_SET_SECCOMP: Final = 22
_MODE_FILTER: Final = 2

_ALLOW: Final = 0x7FFF0000
_TRACE: Final = 0x7FF00000

# BPF instruction codes (linux/bpf_common.h): load a word at a fixed offset, compare,
# jump, return a constant.
_LOAD: Final = 0x20
_JUMP_EQUAL: Final = 0x15
_JUMP_AT_LEAST: Final = 0x35
_RETURN: Final = 0x06
_LONGEST_JUMP: Final = 255

# Offsets in struct seccomp_data; the low half of an argument comes first on both
# processors.
_NUMBER: Final = 0
_ARCH: Final = 4
_ARGS: Final = 16

_instruction = struct.Struct("=HBBI")


class Condition(NamedTuple):
    """Which values of an argument make a call stop.

    Attributes:
        argument: Index of the argument, of which the low 32 bits are compared.
        values: The values.
        negate: Stop for every other value instead.
    """

    argument: int
    values: frozenset[int]
    negate: bool = False

    def holds(self, raw: Sequence[int]) -> bool:
        """Say whether these arguments make the call stop."""
        return ((raw[self.argument] & 0xFFFFFFFF) in self.values) is not self.negate


class Filter:
    """A filter ready to be installed; made once and inherited by forked actors."""

    def __init__(
        self,
        audit_arch: int,
        allowed: Collection[int],
        conditional: Mapping[int, Condition],
    ) -> None:
        """Compile a filter.

        Args:
            audit_arch: The processor's own entry; calls through another one stop.
            allowed: Numbers of the calls that never stop.
            conditional: Numbers of the calls that stop if the condition holds.
        """
        self.program = _compile(audit_arch, allowed, conditional)
        self._code = ctypes.create_string_buffer(self.program, len(self.program))
        count = len(self.program) // _instruction.size
        self._header = ctypes.create_string_buffer(
            struct.pack("@HP", count, ctypes.addressof(self._code))
        )

    def install(self) -> None:
        """Put the calling thread, and all it starts, under the filter for ever.

        Raises:
            OSError: The kernel refuses.
        """
        if _libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
            _raise()
        if _libc.prctl(_PR_SET_SECCOMP, _MODE_FILTER, self._header, 0, 0) != 0:
            _raise()


def _raise() -> None:
    number = ctypes.get_errno()
    raise OSError(number, os.strerror(number))


def _compile(
    audit_arch: int,
    allowed: Collection[int],
    conditional: Mapping[int, Condition],
) -> bytes:
    ranges = _ranges(allowed, conditional)
    body = _search(ranges)
    head = [
        (_LOAD, 0, 0, _ARCH),
        (_JUMP_EQUAL, 1, 0, audit_arch),
        (_RETURN, 0, 0, _TRACE),
        (_LOAD, 0, 0, _NUMBER),
    ]
    return b"".join(_instruction.pack(*line) for line in head + body)


_Line = tuple[int, int, int, int]


def _ranges(
    allowed: Collection[int], conditional: Mapping[int, Condition]
) -> list[tuple[int, list[_Line]]]:
    """Return the first number of each run of equal answers, with the answer's code."""
    allow: list[_Line] = [(_RETURN, 0, 0, _ALLOW)]
    trace: list[_Line] = [(_RETURN, 0, 0, _TRACE)]
    answers = dict.fromkeys(allowed, allow)
    for number, condition in conditional.items():
        answers[number] = _test(condition)
    ranges: list[tuple[int, list[_Line]]] = [(0, trace)]
    for number in sorted(answers):
        for start, answer in ((number, answers[number]), (number + 1, trace)):
            if ranges[-1][0] == start:
                ranges.pop()
            if not ranges or ranges[-1][1] is not answer:
                ranges.append((start, answer))
    return ranges


def _test(condition: Condition) -> list[_Line]:
    """Return code that stops if a condition holds and allows otherwise."""
    values = sorted(value & 0xFFFFFFFF for value in condition.values)
    lines: list[_Line] = [(_LOAD, 0, 0, _ARGS + 8 * condition.argument)]
    # The comparisons are followed by the line that stops. A match jumps to it, or over
    # it where the condition is negated.
    for left, value in zip(range(len(values) - 1, -1, -1), values, strict=True):
        if condition.negate:
            lines.append((_JUMP_EQUAL, left + 1, 0, value))
        else:
            lines.append((_JUMP_EQUAL, left, 0 if left else 1, value))
    lines.append((_RETURN, 0, 0, _TRACE))
    lines.append((_RETURN, 0, 0, _ALLOW))
    return lines


def _search(ranges: list[tuple[int, list[_Line]]]) -> list[_Line]:
    """Return code that finds the range of the loaded number by bisection."""
    if len(ranges) == 1:
        return ranges[0][1]
    middle = len(ranges) // 2
    low, high = _search(ranges[:middle]), _search(ranges[middle:])
    pivot = ranges[middle][0]
    if len(low) <= _LONGEST_JUMP:
        return [(_JUMP_AT_LEAST, len(low), 0, pivot), *low, *high]
    return [
        (_JUMP_AT_LEAST, 0, 1, pivot),
        (0x05, 0, 0, len(low)),  # an unconditional jump has room for any distance
        *low,
        *high,
    ]
