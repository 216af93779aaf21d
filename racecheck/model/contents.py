"""What files held in the course of an execution, each told by what is different."""

from __future__ import annotations

import bisect
from typing import TYPE_CHECKING, Final

from racecheck.model.detail import Content

if TYPE_CHECKING:
    from collections.abc import Sequence

_MOST: Final = 1 << 14
_LONGEST_CHAIN: Final = 64


class Contents:
    """Collects contents, and gives each a number.

    Attributes:
        most: So many bytes of a file are kept at the most.
    """

    most = _MOST

    def __init__(self) -> None:
        self._kept: list[Content] = []
        self._known: dict[tuple[bytes, int], int] = {}
        self._whole: list[bytes] = []
        self._chain: list[int] = []

    @property
    def kept(self) -> tuple[Content, ...]:
        """The contents so far."""
        return tuple(self._kept)

    def add(self, data: bytes, length: int, base: int) -> int:
        """Keep a content; return its number.

        Args:
            data: The first bytes of the file, at most as many as are kept.
            length: How many it has.
            base: Number of the content that the file had before, or -1.
        """
        number = self._known.get((data, length))
        if number is not None:
            return number
        if base >= 0 and self._chain[base] >= _LONGEST_CHAIN:
            base = -1
        before = self._whole[base] if base >= 0 else b""
        start, end = _common(before, data)
        removed = len(before) - start - end
        self._kept.append(
            Content(base, start, removed, data[start : len(data) - end], length)
        )
        self._whole.append(data)
        self._chain.append(self._chain[base] + 1 if base >= 0 else 0)
        number = self._known[data, length] = len(self._kept) - 1
        return number


def restore(contents: Sequence[Content]) -> list[bytes]:
    """Return what `Contents` was given, by number.

    Raises:
        ValueError: A content is said to come of a later one.
    """
    whole: list[bytes] = []
    for number, each in enumerate(contents):
        if each.base >= number:
            raise ValueError(f"content {number} comes of content {each.base}")
        before = whole[each.base] if each.base >= 0 else b""
        rest = before[each.start + each.removed :]
        whole.append(before[: each.start] + each.data + rest)
    return whole


def _common(one: bytes, other: bytes) -> tuple[int, int]:
    """Return how many bytes two have in common at the start, and then at the end."""
    most = min(len(one), len(other))
    start = bisect.bisect_left(
        range(most), x=True, key=lambda at: one[: at + 1] != other[: at + 1]
    )
    end = bisect.bisect_left(
        range(most - start),
        x=True,
        key=lambda at: one[len(one) - at - 1 :] != other[len(other) - at - 1 :],
    )
    return start, end
