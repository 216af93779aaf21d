"""The files of a box as anybody sees them, for engines that trace no calls."""

from __future__ import annotations

import fnmatch
import glob
import hashlib
import os
import stat
from typing import TYPE_CHECKING, Protocol

from racecheck.errors import EngineError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from collections.abc import Set as AbstractSet

    from racecheck.model import Place, Resource


class System(Protocol):
    """The calls that looking takes: the module `os`, or what stands for it."""

    O_RDONLY: int
    O_NONBLOCK: int

    def open(self, path: str, flags: int) -> int:
        """Open a file."""
        ...

    def read(self, fd: int, length: int, /) -> bytes:
        """Read from it."""
        ...

    def fstat(self, fd: int) -> os.stat_result:
        """Return its status."""
        ...

    def close(self, fd: int) -> None:
        """Close it."""
        ...

    def readlink(self, path: str) -> str:
        """Return the text of a link."""
        ...

    def lstat(self, path: str) -> os.stat_result:
        """Return the status of a name."""
        ...

    def listdir(self, path: str) -> list[str]:
        """Return the names in a folder."""
        ...


class FolderView:
    """A view of a box that stands still while it is looked at; see `View`.

    Attributes:
        meant: See `View.meant`.
        places: See `View.places`.
    """

    def __init__(
        self,
        box: str,
        system: System = os,
        *,
        identify: Callable[[str], str] | None = None,
    ) -> None:
        """Look at a box.

        Args:
            box: Its path.
            system: What is asked about files.
            identify: Says which file is at a path, where that can be told.
        """
        self.meant: Sequence[str] = ()
        self.places: Sequence[Place] = ()
        self._box = box
        self._system = system
        self._identify = identify

    @property
    def seen(self) -> AbstractSet[Resource]:
        """Nothing: what answers depend on is not noted here."""
        return frozenset()

    def forget_seen(self) -> None:
        """See `View.forget_seen`."""

    def read(self, path: str) -> bytes | None:
        """See `View.read`."""
        system = self._system
        try:
            descriptor = system.open(
                f"{self._box}/{path}",
                system.O_RDONLY | getattr(system, "O_NONBLOCK", 0),
            )
        except OSError:
            return None
        try:
            size = system.fstat(descriptor).st_size
            chunks = [system.read(descriptor, size + 1)]
            while chunks[-1]:
                chunks.append(system.read(descriptor, 1 << 20))
        except OSError:
            return None
        finally:
            system.close(descriptor)
        return b"".join(chunks)

    def readlink(self, path: str) -> str | None:
        """See `View.readlink`."""
        try:
            return self._system.readlink(f"{self._box}/{path}")
        except OSError:
            return None

    def exists(self, path: str) -> bool:
        """See `View.exists`."""
        return self._status(path) is not None

    def maker(self, path: str) -> str:
        """See `View.maker`."""
        actor, made, _ = self.identity(path).rpartition("#")
        return actor if made else ""

    def identity(self, path: str) -> str:
        """See `View.identity`."""
        if self._identify is None:
            raise EngineError("which file is at a path is not followed by this engine")
        return self._identify(path)

    def glob(self, pattern: str) -> tuple[str, ...]:
        """See `View.glob`."""
        found = [""]
        for part in pattern.split("/"):
            found = [each for folder in found for each in self._children(folder, part)]
        return tuple(sorted(found))

    def tree(self, path: str) -> dict[str, str]:
        """See `View.tree`."""
        found: dict[str, str] = {}
        pending = [path]
        while pending:
            folder = pending.pop()
            for name in sorted(self._listing(folder)):
                child = f"{folder}/{name}"
                found[child] = self._describe(child)
                if found[child].startswith("folder"):
                    pending.append(child)
        return found

    def _children(self, folder: str, part: str) -> list[str]:
        start = f"{folder}/" if folder else ""
        if not glob.has_magic(part):
            return [f"{start}{part}"] if self.exists(f"{start}{part}") else []
        return [
            f"{start}{name}"
            for name in self._listing(folder or ".")
            if fnmatch.fnmatchcase(name, part)
        ]

    def _listing(self, folder: str) -> list[str]:
        try:
            return self._system.listdir(f"{self._box}/{folder}")
        except OSError:
            return []

    def _status(self, path: str) -> os.stat_result | None:
        try:
            return self._system.lstat(f"{self._box}/{path}")
        except OSError:
            return None

    def _describe(self, path: str) -> str:
        status = self._status(path)
        if status is None:
            return "missing"
        mode = f"{stat.S_IMODE(status.st_mode):o}"
        if stat.S_ISLNK(status.st_mode):
            return f"link to {self.readlink(path)}"
        if stat.S_ISDIR(status.st_mode):
            return f"folder {mode}"
        data = self.read(path)
        if data is None:
            return f"unreadable {mode}"
        digest = hashlib.blake2b(data, digest_size=8).hexdigest()
        return f"file {mode} {len(data)} B {digest}"
