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

# Of linux/fs.h and linux/random.h: size, sectors and state of a disk, and how much
# chance there is.
_ASKING_DEVICES: Final = frozenset({0x125E, 0x1260, 0x1268, 0x80081272, 0x80045200})

_NOTHING: Final = frozenset({os.makedev(1, 3), os.makedev(1, 5), os.makedev(1, 7)})
"""The devices `null`, `zero` and `full`, which take no orders; see null(4)."""

# Of asm-generic/ioctls.h; what is no terminal knows none of them.
_OF_TERMINALS: Final = frozenset({*range(0x5401, 0x541B), *range(0x541C, 0x5450)}) | {
    *(0x802C542A, 0x402C542B, 0x402C542C, 0x402C542D),
    *(0x80045430, 0x40045431, 0x80045432, 0x40045436),
    *(0x80045438, 0x80045439, 0x80045440),
}


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
        status = os.stat(f"/proc/{task.process.proc}/fd/{descriptor}")
    except OSError:
        return False
    mode = status.st_mode
    if stat.S_ISCHR(mode) or stat.S_ISBLK(mode):
        # To give orders, to open it for reading is enough for many devices.
        return command not in _ASKING_DEVICES and status.st_rdev not in _NOTHING
    # File systems take orders about a file, or about themselves, by any descriptor.
    is_file = stat.S_ISREG(mode) or stat.S_ISDIR(mode)
    return is_file and command not in _OF_TERMINALS


def fails_on_files(name: str, raw: Sequence[int]) -> bool:
    """Say whether a command is one that no file knows, whatever is in it."""
    return name == "ioctl" and raw[1] & 0xFFFFFFFF in _OF_TERMINALS
