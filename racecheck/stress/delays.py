"""Seeded delays in an actor's process: between its operations and before its calls.

Races that need one process to be slow at one place are rare on an idle machine. What is
delayed here is every call that Python announces by an audit event, and those functions
of `os` that it does not announce. Calls of other languages are not seen; the watcher
holds whole processes up at any place.
"""

from __future__ import annotations

import functools
import os
import random
import sys
import time
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

_EVENTS: Final = frozenset(
    {
        "open",
        "os.chmod",
        "os.link",
        "os.listdir",
        "os.mkdir",
        "os.remove",
        "os.rename",
        "os.rmdir",
        "os.scandir",
        "os.symlink",
        "os.truncate",
        "os.utime",
        "fcntl.flock",
        "fcntl.lockf",
    }
)
_UNANNOUNCED: Final = (
    "access",
    "close",
    "fstat",
    "fsync",
    "lstat",
    "pread",
    "pwrite",
    "read",
    "readlink",
    "stat",
    "write",
)
_SUPPORTS: Final = (
    "supports_dir_fd",
    "supports_effective_ids",
    "supports_fd",
    "supports_follow_symlinks",
)


class Pace(NamedTuple):
    """How often actors are delayed, and for how long.

    Attributes:
        name: What it is called.
        share: Share of the calls that are delayed, and of the operations.
        mean_s: Mean of the delays.
    """

    name: str
    share: float
    mean_s: float


PACES: Final = (
    Pace("free", 0.0, 0.0),
    Pace("yielding", 0.5, 0.0),
    Pace("often", 0.2, 0.0002),
    Pace("rarely", 0.02, 0.003),
)
"""Executions take turns; the first is that of the loops that people write by hand."""


class Delays:
    """The delays of one actor in one execution."""

    def __init__(self, seed: str, pace: Pace) -> None:
        self._random = random.Random(seed)
        self._pace = pace
        self._delaying = False

    def install(self) -> None:
        """Let every call of this process that can be seen be delayed, from now on."""
        if not self._pace.share:
            return
        for name in _UNANNOUNCED:
            _wrap(name, self.pause)
        sys.addaudithook(self._hook)

    def pause(self) -> None:
        """Perhaps wait a moment."""
        # Waiting makes no call that is delayed, but a signal handler can.
        if self._delaying or self._random.random() >= self._pace.share:
            return
        self._delaying = True
        try:
            mean = self._pace.mean_s
            time.sleep(self._random.expovariate(1 / mean) if mean else 0)
        finally:
            self._delaying = False

    def _hook(self, event: str, args: tuple[object, ...]) -> None:
        del args
        if event in _EVENTS:
            self.pause()


def _wrap(name: str, pause: Callable[[], None]) -> None:
    """Put a function of `os` that pauses first in the place of another."""
    original = getattr(os, name)

    @functools.wraps(original)
    def delayed(*args: object, **keywords: object) -> object:
        pause()
        return original(*args, **keywords)

    for supports in _SUPPORTS:
        # Programs ask these sets what a function can do.
        functions: set[object] = getattr(os, supports)
        if original in functions:
            functions.add(delayed)
    setattr(os, name, delayed)
