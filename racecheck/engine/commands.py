"""Commands of fcntl(2) and ioctl(2) that are no steps: which may be let through."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from racecheck.engine.task import Task

# Of asm-generic/fcntl.h and asm-generic/sockios.h: whom the kernel sends a signal when
# something has come, which can be anybody.
_OWNING: Final = frozenset({("fcntl", 8), ("fcntl", 15)}) | {
    ("ioctl", 0x8901),
    ("ioctl", 0x8902),
}

# Of linux/fs.h and asm-generic/ioctls.h: where blocks of a file are, how much of it is
# left to read, its version.
_ASKING: Final = frozenset({1, 0x541B, 0xC020660B, 0x80087601})


def reaches_out(task: Task, name: str, raw: Sequence[int]) -> bool:
    """Say whether a command could change something outside the sandbox.

    Args:
        task: Who makes the call.
        name: `fcntl` or `ioctl`.
        raw: Its arguments. It has no row, and is none of those that never stop.
    """
    descriptor, command = raw[0] & 0xFFFFFFFF, raw[1] & 0xFFFFFFFF
    if (name, command) in _OWNING:
        return True
    if name == "fcntl" or command in _ASKING:
        return False
    if task.process.descriptors.find(descriptor) is not None:
        return False
    try:
        mode = os.stat(f"/proc/{task.process.proc}/fd/{descriptor}").st_mode
    except OSError:
        return False
    # File systems take orders about a file, or about themselves, by any descriptor.
    return stat.S_ISREG(mode) or stat.S_ISDIR(mode)
