"""Names of inodes that mean the same in every execution.

An inode is named by the step that created it (`serve-1#3`, the third step of that
actor), or by its path at the start. Inode numbers serve only to find the name again
within one execution: file systems reuse them and give them out in the order of
independent steps.
"""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping


class Names:
    """The names of all inodes in the sandbox, for one execution."""

    __slots__ = ("_names",)

    def __init__(self) -> None:
        self._names: dict[tuple[int, int], str] = {}

    def add(self, status: os.stat_result, name: str) -> None:
        """Name an inode; an older one with the same number is gone by now."""
        self._names[status.st_dev, status.st_ino] = name

    def load(self, known: Mapping[tuple[int, int], str]) -> None:
        """Begin with the names of inodes by device and number."""
        self._names = dict(known)

    def known(self) -> dict[tuple[int, int], str]:
        """Return all names so far, by device and number."""
        return dict(self._names)

    def find(self, status: os.stat_result) -> str | None:
        """Return the name of an inode, or None if it is not in the sandbox."""
        return self._names.get((status.st_dev, status.st_ino))

    def strangers(self, root: str) -> Iterator[str]:
        """Yield the paths below a folder of what no step has made.

        A file that replaces one in a rename can be a whiteout, which has no name: see
        `RENAME_WHITEOUT` in rename(2).

        Args:
            root: Path of the folder.
        """
        device = os.lstat(root).st_dev
        pending = [root]
        while pending:
            try:
                entries = os.scandir(pending.pop())
            except OSError:
                # An actor has left a mode that does not allow it.
                continue
            with entries:
                for entry in entries:
                    # Neither number nor kind takes a call. On some file systems, such
                    # as overlays, they are not those that stat tells.
                    known = (device, entry.inode()) in self._names
                    if not known and not self._is_known(entry):
                        yield entry.path
                    elif entry.is_dir(follow_symlinks=False):
                        pending.append(entry.path)

    def _is_known(self, entry: os.DirEntry[str]) -> bool:
        try:
            status = entry.stat(follow_symlinks=False)
        except FileNotFoundError:
            return True
        is_whiteout = stat.S_ISCHR(status.st_mode) and status.st_rdev == 0
        return is_whiteout or self.find(status) is not None

    def scan(self, root: str, display: Callable[[str], str]) -> None:
        """Name everything below `root` by where it is.

        Args:
            root: Path of a folder.
            display: Gives the name for a path.
        """
        pending = [root]
        self.add(os.lstat(root), display(root))
        while pending:
            folder = pending.pop()
            for child in sorted(os.listdir(folder)):
                path = f"{folder}/{child}"
                status = os.lstat(path)
                # A hard link has one name, that of its first path.
                if self.find(status) is None:
                    self.add(status, display(path))
                if stat.S_ISDIR(status.st_mode):
                    pending.append(path)
