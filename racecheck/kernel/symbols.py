"""The names of numbers in calls: flags, commands, modes of access."""

from __future__ import annotations

import os
import platform

from racecheck.kernel import rows


class Symbols(dict[int, str]):
    """Numbers with their text: the names of their bits, and unknown bits as hex."""

    def __init__(self, prefix: str, names: str, low: tuple[str, ...] = ()) -> None:
        """Prepare.

        Args:
            prefix: Start of all names.
            names: `NAME:bits` in hex; names of several bits before those of one.
            low: Names of the four values that the low two bits have together.
        """
        super().__init__()
        pairs = (word.split(":") for word in names.split())
        self._bits = [(prefix + name, int(bits, 16)) for name, bits in pairs]
        self._low = low

    def __missing__(self, value: int) -> str:
        rest = value
        found = []
        if self._low:
            found.append(self._low[value & 3])
            rest &= ~3
        for name, bits in self._bits:
            if rest & bits == bits:
                found.append(name)
                rest &= ~bits
        if rest or not found:
            found.append(hex(rest) if rest else "0")
        self[value] = "|".join(found)
        return self[value]


def choices(text: str, **more: int) -> Symbols:
    """Return symbols for numbers that are no bits: 0, 1 and so on, and more."""
    symbols = Symbols("", "")
    symbols.update(enumerate(text.split()))
    symbols.update((value, name) for name, value in more.items())
    return symbols


# The values of these four differ between the machines. `os` has them for the one that
# this runs on, except that O_LARGEFILE is 0 to a 64-bit C library; others set the bit.
ARM = platform.machine() == "aarch64"
OPEN = Symbols(
    "O_",
    f"TMPFILE:{os.O_TMPFILE:x} SYNC:101000 DSYNC:1000 CREAT:40 EXCL:80 NOCTTY:100 "
    "TRUNC:200 APPEND:400 NONBLOCK:800 ASYNC:2000 NOATIME:40000 CLOEXEC:80000 "
    f"PATH:200000 DIRECT:{os.O_DIRECT:x} DIRECTORY:{os.O_DIRECTORY:x} "
    f"NOFOLLOW:{os.O_NOFOLLOW:x} LARGEFILE:{0o400000 if ARM else 0o100000:x}",
    low=("O_RDONLY", "O_WRONLY", "O_RDWR", "O_ACCMODE"),
)
_AT = (
    "SYMLINK_NOFOLLOW:100 {}:200 SYMLINK_FOLLOW:400 NO_AUTOMOUNT:800 EMPTY_PATH:1000 "
    "STATX_FORCE_SYNC:2000 STATX_DONT_SYNC:4000 RECURSIVE:8000"
)
_RWF = Symbols(
    "RWF_",
    "HIPRI:1 DSYNC:2 SYNC:4 NOWAIT:8 APPEND:10 NOAPPEND:20 ATOMIC:40 DONTCACHE:80",
)
_SPLICE = Symbols("SPLICE_F_", "MOVE:1 NONBLOCK:2 MORE:4 GIFT:8")
AT_FLAGS = Symbols("AT_", _AT.format("REMOVEDIR"))
FLAGS = {
    **dict.fromkeys(("open", "openat", "openat2"), OPEN),
    **dict.fromkeys(("preadv2", "pwritev2"), _RWF),
    **dict.fromkeys(("splice", "tee", "vmsplice"), _SPLICE),
    "copy_file_range": Symbols("", ""),
    "dup3": Symbols("O_", "CLOEXEC:80000"),
    "faccessat2": Symbols("AT_", _AT.format("EACCESS")),
    "renameat2": Symbols("RENAME_", "NOREPLACE:1 EXCHANGE:2 WHITEOUT:4"),
    "close_range": Symbols("CLOSE_RANGE_", "UNSHARE:2 CLOEXEC:4"),
    "fallocate": Symbols(
        "FALLOC_FL_",
        "KEEP_SIZE:1 PUNCH_HOLE:2 COLLAPSE_RANGE:8 ZERO_RANGE:10 INSERT_RANGE:20 "
        "UNSHARE_RANGE:40 WRITE_ZEROES:80",
    ),
    "sync_file_range": Symbols(
        "SYNC_FILE_RANGE_", "WAIT_BEFORE:1 WRITE:2 WAIT_AFTER:4"
    ),
    "mmap": Symbols(
        "MAP_",
        "FIXED:10 ANONYMOUS:20 GROWSDOWN:100 DENYWRITE:800 EXECUTABLE:1000 LOCKED:2000 "
        "NORESERVE:4000 POPULATE:8000 NONBLOCK:10000 STACK:20000 HUGETLB:40000 "
        "SYNC:80000 FIXED_NOREPLACE:100000",
        low=("MAP_FILE", "MAP_SHARED", "MAP_PRIVATE", "MAP_SHARED_VALIDATE"),
    ),
}
ACCESS = choices("F_OK X_OK W_OK W_OK|X_OK R_OK R_OK|X_OK R_OK|W_OK R_OK|W_OK|X_OK")
LOCK_TYPES = choices("F_RDLCK F_WRLCK F_UNLCK")
RESOLVE = Symbols(
    "RESOLVE_",
    "NO_XDEV:1 NO_MAGICLINKS:2 NO_SYMLINKS:4 BENEATH:8 IN_ROOT:10 CACHED:20",
)
_CONSTANTS = {
    name: getattr(rows, name)
    for name in dir(rows)
    if name.startswith(("F_", "FI", "FS_"))
}
NAMED = {
    "command": choices(
        "", **{name: n for name, n in _CONSTANTS.items() if name.startswith("F_")}
    ),
    "request": choices(
        "", **{name: n for name, n in _CONSTANTS.items() if not name.startswith("F_")}
    ),
    "whence": choices("SEEK_SET SEEK_CUR SEEK_END SEEK_DATA SEEK_HOLE"),
    "protection": Symbols("PROT_", "READ:1 WRITE:2 EXEC:4"),
    "option": Symbols("XATTR_", "CREATE:1 REPLACE:2"),
}
FLOCK = Symbols("LOCK_", "SH:1 EX:2 NB:4 UN:8")
