"""Which processors workers run on: others than those of runs beside this one."""

from __future__ import annotations

import errno
import os
import socket
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

_NAME: Final = "\0racecheck/processor/{}"
"""An abstract name (unix(7)): it is in no folder, and gone with who has taken it."""


class Processors:
    """The processors of one caller, for as long as it explores something.

    A worker and its actors stay on one, since they take turns. Two workers on the same
    one would take twice the time, whatever the others do: so each that is in use has a
    name that only one process can bind.
    """

    def __init__(self) -> None:
        self._taken: list[socket.socket] = []

    def take(self, count: int, liked: Iterable[int] = ()) -> list[int]:
        """Return a processor for each of some workers, or -1 for any.

        Args:
            count: How many workers there are. If there are not as many processors that
                nobody uses, others are among them.
            liked: Those that come first, if nobody uses them.
        """
        try:
            usable = sorted(os.sched_getaffinity(0))
        except (AttributeError, OSError):
            return [-1] * count
        start = os.getpid() % len(usable)
        turned = usable[start:] + usable[:start]
        chosen: list[int] = []
        first = [cpu for cpu in liked if cpu in usable]
        for cpu in dict.fromkeys([*first, *turned]):
            if len(chosen) < count and self._claim(cpu):
                chosen.append(cpu)
        chosen += [cpu for cpu in turned if cpu not in chosen]
        return [chosen[index % len(chosen)] for index in range(count)]

    def give_back(self) -> None:
        """Let others take them."""
        while self._taken:
            self._taken.pop().close()

    def _claim(self, cpu: int) -> bool:
        """Take a processor; say whether nobody has."""
        try:
            mark = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        except OSError:
            return True
        try:
            mark.bind(_NAME.format(cpu))
        except OSError as error:
            mark.close()
            # Where there are no such names nobody can tell.
            return error.errno != errno.EADDRINUSE
        self._taken.append(mark)
        return True
