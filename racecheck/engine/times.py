"""The times of files, as the virtual clock has them.

The kernel stamps files with real time, by ticks that many steps share. What actors see
of it would differ from run to run, and disagree with their clocks. So the times that
steps give to inodes are kept here, and put into what `stat` returns; on disk nothing
is changed. Inode numbers, which differ between runs too, are replaced the same way.
"""

from __future__ import annotations

import hashlib
import os
import stat
import struct
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from racecheck.model import MUTATING, Kind
from racecheck.model.epoch import EPOCH

if TYPE_CHECKING:
    from collections.abc import Mapping

    from racecheck.engine.pending import Pending
    from racecheck.footprint import Names
    from racecheck.kernel.memory import Memory

_SECOND: Final = 1_000_000_000
_PAIR = struct.Struct("=qq")
_SHORT_PAIR = struct.Struct("=qI")
_NUMBER = struct.Struct("=Q")
# Of struct statfs: type, size of a block, blocks, those that are free and that one may
# have, files, those that are free.
_STATFS = struct.Struct("=7Q")
_STATFS_FREE = struct.Struct("=4Q")
_STATFS_FREE_AT: Final = 24

# Where struct stat of both processors and struct statx have what (asm/stat.h,
# linux/stat.h): the inode, the number of links, the size, and the times.
_STAT: Final = {"inode": 8, "atime": 72, "mtime": 88, "ctime": 104}
_STATX: Final = {"inode": 32, "atime": 64, "btime": 80, "ctime": 96, "mtime": 112}
_STATX_LINKS: Final = 16
_STATX_SIZE: Final = 40
_STAT_SIZE: Final = 48
_STATX_MODE: Final = 28
_X86_MODE: Final = 24
_ARM_MODE: Final = 16
_X86_LINKS: Final = 16
_ARM_LINKS: Final = 20
_STATX_BLOCKS: Final = 48
_STAT_BLOCKS: Final = 64
_FOLDER_SIZE: Final = 4096
_BLOCK: Final = 4096
_SECTORS: Final = _BLOCK // 512
_FILLED: Final = 128
"""Length of the part of both in which all of these lie."""

_ARM: Final = os.uname().machine == "aarch64"

_MODIFYING: Final = frozenset({Kind.WRITE, Kind.TRUNCATE, Kind.ALLOCATE, Kind.COPY})
_CHANGING: Final = frozenset(
    {Kind.CHMOD, Kind.CHOWN, Kind.SETXATTR, Kind.LINK, Kind.RENAME, Kind.UNLINK}
)
_ENTRIES: Final = frozenset(
    {
        Kind.RENAME,
        Kind.LINK,
        Kind.SYMLINK,
        Kind.UNLINK,
        Kind.RMDIR,
        Kind.MKDIR,
        Kind.MKNOD,
    }
)


class FileTimes:
    """The times of all inodes in the sandbox, for one execution.

    An inode that no step has touched has those of the fresh box.

    Args:
        old: Times of access and modification of what is older than the start.

    Attributes:
        stamped: Inodes that steps have given times to since this was last cleared, and
            whether they had others before. Those that the steps made are left out.
        now: The time that the last of these steps was taken at.
    """

    def __init__(self, old: Mapping[str, tuple[int, int]]) -> None:
        self._old = old
        self.stamped: dict[str, bool] = {}
        self.now = EPOCH * _SECOND
        self._times: dict[str, dict[str, int]] = {}

    def of(self, inode: str) -> dict[str, int]:
        """Return the times of an inode, in nanoseconds since 1970, by name."""
        known = self._times.get(inode)
        if known is None:
            names = ("atime", "mtime", "ctime", "btime")
            known = dict.fromkeys(names, EPOCH * _SECOND)
            if inode in self._old:
                known["atime"], known["mtime"] = self._old[inode]
        return known

    def apply(self, pending: Pending, names: Names, result: int, now: int) -> None:
        """Take note of what a successful call did to times.

        Args:
            pending: The call.
            names: Names of the inodes, those that the call made included.
            result: What it returned.
            now: Real time on the virtual clock, in nanoseconds.
        """
        kind = pending.call.row.kind
        if kind not in MUTATING:
            return
        self.now = now
        walks = pending.walks
        if kind is Kind.OPEN:
            self._opened(pending, names, now)
        elif kind in _MODIFYING:
            if result or kind is not Kind.WRITE:
                self._set(self._target(pending), now, "mtime", "ctime")
        elif kind is Kind.UTIMES:
            self._set_explicitly(pending, now)
        elif kind in _CHANGING:
            for walk in walks:
                self._set(walk.target, now, "ctime")
            if not walks:
                self._set(self._target(pending), now, "ctime")
        elif kind in (Kind.MKDIR, Kind.MKNOD, Kind.SYMLINK):
            self._create(self._made(pending, names), now)
        if kind in _ENTRIES:
            for walk in walks if kind is not Kind.LINK else walks[1:]:
                self._set(walk.parent, now, "mtime", "ctime")

    def put(self, pending: Pending, memory: Memory) -> None:
        """Put virtual times and numbers into what a successful stat has returned."""
        call = pending.call
        index = call.row.index("buffer")
        inode = self._target(pending)
        if index is None:
            _hide_use(memory, call.raw[1])
        if index is None or inode is None:
            return
        address = call.raw[index]
        extended = call.row.name == "statx"
        times = self.of(inode)
        pair = _SHORT_PAIR if extended else _PAIR
        filled = bytearray(memory.read(address, _FILLED))
        for name, offset in (_STATX if extended else _STAT).items():
            if name == "inode":
                _NUMBER.pack_into(filled, offset, number(inode))
            else:
                pair.pack_into(filled, offset, *divmod(times[name], _SECOND))
        at = _STATX_MODE if extended else _ARM_MODE if _ARM else _X86_MODE
        mode = int.from_bytes(filled[at : at + 2], "little")
        if stat.S_ISDIR(mode):
            # These tell how many names there are, by a rule of the file system's own.
            links = _STATX_LINKS if extended else _ARM_LINKS if _ARM else _X86_LINKS
            size = 4 if extended or _ARM else 8
            # One that is gone has none, and who has it open sees that.
            there = int(any(filled[links : links + size]))
            filled[links : links + size] = there.to_bytes(size, "little")
            at = _STATX_SIZE if extended else _STAT_SIZE
            _NUMBER.pack_into(filled, at, _FOLDER_SIZE)
        if stat.S_ISREG(mode) or stat.S_ISDIR(mode):
            # Files can have holes, and room beyond their end.
            at = _STATX_SIZE if extended else _STAT_SIZE
            (length,) = _NUMBER.unpack_from(filled, at)
            at = _STATX_BLOCKS if extended else _STAT_BLOCKS
            _NUMBER.pack_into(filled, at, -(-length // _BLOCK) * _SECTORS)
        memory.write(address, filled)

    def _opened(self, pending: Pending, names: Names, now: int) -> None:
        walk = pending.walks[0]
        if walk.status is None:
            self._create(self._made(pending, names), now)
            self._set(walk.parent, now, "mtime", "ctime")
        elif "O_TRUNC" in str(pending.args.get("flags")):
            self._set(walk.target, now, "mtime", "ctime")

    def _create(self, inode: str | None, now: int) -> None:
        if inode is not None:
            names = ("atime", "mtime", "ctime", "btime")
            self._times[inode] = dict.fromkeys(names, now)

    def _set(self, inode: str | None, now: int, *which: str) -> None:
        if inode is None:
            return
        known = self.of(inode)
        changed = False
        for name in which:
            changed |= known[name] != now
        self._times[inode] = known | dict.fromkeys(which, now) if changed else known
        self.stamped[inode] = changed or self.stamped.get(inode, False)

    def _set_explicitly(self, pending: Pending, now: int) -> None:
        inode = self._target(pending)
        self._set(inode, now, "ctime")
        shown = str(pending.args.get("times") or "now").split()
        if len(shown) == 1:
            shown *= 2
        walk = pending.walks[0] if pending.walks else None
        for which, text in zip(("atime", "mtime"), shown, strict=False):
            if text == "now":
                self._set(inode, now, which)
            elif text != "omit" and walk is not None:
                # The file itself has it now, exactly.
                status = os.stat(walk.location, follow_symlinks=not walk.name)
                value = status.st_atime_ns if which == "atime" else status.st_mtime_ns
                self._set(inode, value, which)

    @staticmethod
    def _target(pending: Pending) -> str | None:
        if pending.walks:
            return pending.walks[0].target
        files = pending.files
        file = files.get("fd") or files.get("outfd")
        return file.target if file is not None else None

    @staticmethod
    def _made(pending: Pending, names: Names) -> str | None:
        if pending.made is not None:
            return pending.made
        return names.find(os.lstat(pending.walks[-1].location))


def _hide_use(memory: Memory, address: int) -> None:
    """Have statfs(2) tell of an empty file system, whatever others keep in it."""
    filled = bytearray(memory.read(address, _STATFS.size))
    _, _, blocks, _, _, files, _ = _STATFS.unpack(filled)
    _STATFS_FREE.pack_into(filled, _STATFS_FREE_AT, blocks, blocks, files, files)
    memory.write(address, filled)


@lru_cache(maxsize=4096)
def number(inode: str) -> int:
    """Return the inode number that actors are shown: the same in every execution."""
    digest = hashlib.blake2b(inode.encode(errors="surrogateescape"), digest_size=6)
    return int.from_bytes(digest.digest(), "little") | 1
