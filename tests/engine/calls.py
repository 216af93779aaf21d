"""Calls of which Python, or a C library, makes the one or the other by its version."""

from __future__ import annotations

from typing import Final

_USUAL: Final = {"fstat": "newfstatat", "linkat": "link"}


def usual(call: str) -> str:
    """Return which call Python 3.11 with a C library of 2.36 makes in place of one."""
    return _USUAL.get(call, call)
