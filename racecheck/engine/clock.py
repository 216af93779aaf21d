"""The time that the actors of one execution live in.

It stands still while they work, and moves only where the engine says so: to the end of
a sleep or of a timeout. So waiting takes no time, and no step depends on how long
another one took.
"""

from __future__ import annotations

import os
from typing import Final

from racecheck.kernel.deadlines import MONOTONIC_CLOCKS, REALTIME_CLOCKS
from racecheck.model.epoch import EPOCH

EPOCH_NS: Final = EPOCH * 1_000_000_000
"""Real time at the start of each execution: the time of all files in a fresh box."""

UPTIME_NS: Final = 1_000_000 * 1_000_000_000
"""Monotonic time at the start of each execution, eleven days.

It is well above 0, since to a program that takes 0 for *never* a clock that has just
begun to count says that this was a moment ago.
"""


class Clock:
    """The time of one execution.

    Attributes:
        monotonic_ns: Time since the machines were started, one for all hosts.
    """

    __slots__ = ("monotonic_ns",)

    def __init__(self) -> None:
        self.monotonic_ns = UPTIME_NS

    @property
    def realtime_ns(self) -> int:
        """Time since 1970, as it is on hosts whose clocks are right."""
        return EPOCH_NS - UPTIME_NS + self.monotonic_ns

    def advance_to(self, monotonic_ns: int) -> bool:
        """Move on to a point of monotonic time, unless it has passed already.

        Returns:
            Whether the time has changed, so that processes have to be told.
        """
        if monotonic_ns <= self.monotonic_ns:
            return False
        self.monotonic_ns = monotonic_ns
        return True

    def on_host(self, offset_ns: int) -> HostClock:
        """Return the clocks of a host whose real time is ahead by so much."""
        return HostClock(self, offset_ns)

    def stamp(
        self,
        target: int | str,
        *,
        accessed: bool = True,
        modified: bool = True,
        follow_symlinks: bool = True,
    ) -> bool:
        """Give a file the present time, where the kernel gave it another one.

        The time of its inode's change and that of its birth cannot be set. Files know
        nothing of hosts: on a shared volume the server gives them their times.

        Args:
            target: Path of the file, or a descriptor of this process.
            accessed: Whether its time of access is set.
            modified: Whether its time of modification is set.
            follow_symlinks: Whether, of a path to a link, the link's target is meant.

        Returns:
            False if there is no file at the path.

        Raises:
            OSError: Its times cannot be set.
        """
        now = self.realtime_ns
        # `os` takes no other value for a descriptor, since there is nothing to follow.
        follow = follow_symlinks or isinstance(target, int)
        try:
            times = (now, now)
            if not (accessed and modified):
                kept = os.stat(target, follow_symlinks=follow)
                times = (
                    now if accessed else kept.st_atime_ns,
                    now if modified else kept.st_mtime_ns,
                )
            os.utime(target, ns=times, follow_symlinks=follow)
        except (FileNotFoundError, NotADirectoryError):
            return False
        return True

    def stamp_parent(self, path: str) -> bool:
        """Give a folder the present time, after a change to an entry of that path.

        Returns:
            False if there is no such folder.

        Raises:
            OSError: Its times cannot be set.
        """
        return self.stamp(os.path.dirname(path) or ".", accessed=False)


class HostClock:
    """The clocks of one host, as everything that runs on it reads them.

    Attributes:
        offset_ns: How far its real time is ahead of the execution's.
    """

    __slots__ = ("_clock", "offset_ns")

    def __init__(self, clock: Clock, offset_ns: int = 0) -> None:
        self._clock = clock
        self.offset_ns = offset_ns

    @property
    def realtime_ns(self) -> int:
        """Time since 1970, as this host has it."""
        return self._clock.realtime_ns + self.offset_ns

    @property
    def monotonic_ns(self) -> int:
        """Time since the host was started."""
        return self._clock.monotonic_ns

    def read(self, clock_id: int) -> int | None:
        """Return what a clock shows, in ns, or None for one of processor time."""
        if clock_id in REALTIME_CLOCKS:
            return self.realtime_ns
        return self.monotonic_ns if clock_id in MONOTONIC_CLOCKS else None
