"""The files of the box as the tracer sees them between two steps."""

from __future__ import annotations

import glob
import hashlib
import os
import stat
from typing import TYPE_CHECKING

from racecheck.model import Resource

if TYPE_CHECKING:
    from racecheck.engine.sandbox import Sandbox
    from racecheck.footprint import Names, Resolver, Walk


class BoxView:
    """A view of the real box, which also notes what was looked at.

    Attributes:
        reads: The resources that the answers so far depended on.
    """

    def __init__(self, sandbox: Sandbox, names: Names, resolver: Resolver) -> None:
        self.reads: set[Resource] = set()
        self._box = str(sandbox.box)
        self._names = names
        self._resolver = resolver
        self._process = os.getpid()

    def read(self, path: str) -> bytes | None:
        """See `View.read`."""
        walk = self._walk(path, follow=True)
        if walk.target is not None:
            self.reads.add(Resource("data", walk.target))
            self.reads.add(Resource("size", walk.target))
        try:
            descriptor = os.open(f"{self._box}/{path}", os.O_RDONLY | os.O_NONBLOCK)
        except OSError:
            return None
        try:
            size = os.fstat(descriptor).st_size
            chunks = [os.read(descriptor, size + 1)]
            while chunks[-1]:
                chunks.append(os.read(descriptor, 1 << 20))
        except OSError:
            return None
        finally:
            os.close(descriptor)
        return b"".join(chunks)

    def readlink(self, path: str) -> str | None:
        """See `View.readlink`."""
        self._walk(path, follow=False)
        try:
            return os.readlink(f"{self._box}/{path}")
        except OSError:
            return None

    def exists(self, path: str) -> bool:
        """See `View.exists`."""
        return self._walk(path, follow=False).status is not None

    def glob(self, pattern: str) -> tuple[str, ...]:
        """See `View.glob`."""
        folder, _, _ = pattern.rpartition("/")
        walk = self._walk(folder or ".", follow=True)
        if walk.target is not None:
            self.reads.add(Resource("membership", walk.target))
        found = glob.glob(pattern, root_dir=self._box, include_hidden=True)
        return tuple(sorted(found))

    def tree(self, path: str) -> dict[str, str]:
        """See `View.tree`."""
        found: dict[str, str] = {}
        pending = [path]
        while pending:
            folder = pending.pop()
            walk = self._walk(folder, follow=True)
            if walk.target is None:
                continue
            self.reads.add(Resource("membership", walk.target))
            for name in sorted(os.listdir(f"{self._box}/{folder}")):
                child = f"{folder}/{name}"
                found[child] = self._describe(child)
                if found[child].startswith("folder"):
                    pending.append(child)
        return found

    def _describe(self, path: str) -> str:
        walk = self._walk(path, follow=False)
        if walk.status is None:
            return "missing"
        mode = f"{stat.S_IMODE(walk.status.st_mode):o}"
        if walk.target is not None:
            self.reads.add(Resource("attributes", walk.target))
        if stat.S_ISLNK(walk.status.st_mode):
            return f"link to {self.readlink(path)}"
        if stat.S_ISDIR(walk.status.st_mode):
            return f"folder {mode}"
        data = self.read(path)
        if data is None:
            return f"unreadable {mode}"
        digest = hashlib.blake2b(data, digest_size=8).hexdigest()
        return f"file {mode} {len(data)} B {digest}"

    def _walk(self, path: str, *, follow: bool) -> Walk:
        walk = self._resolver.walk(
            self._names, self._process, self._box, path, follow=follow
        )
        for directory, name in walk.entries:
            self.reads.add(Resource("entry", directory, name))
        return walk
