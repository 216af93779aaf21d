"""How text is set off on a terminal that has colours, and left alone elsewhere."""

from __future__ import annotations

from enum import StrEnum


class Tone(StrEnum):
    """What a piece of text is, as the codes that a terminal shows it with."""

    PLAIN = ""
    TITLE = "1"
    FAINT = "2"
    BROKEN = "1;31"
    FAULT = "35"
    FAILED = "33"
    GOOD = "32"


def paint(text: str, tone: Tone, *, color: bool) -> str:
    """Return text with the codes of its tone, or as it is."""
    if not color or not tone or not text:
        return text
    return f"\x1b[{tone}m{text}\x1b[0m"
