"""The files of the box as the tracer sees them between two steps."""

from __future__ import annotations

import glob
import hashlib
import os
import stat
from typing import TYPE_CHECKING, TypeVar, cast

from racecheck.footprint import path_in_box
from racecheck.model import Place, Resource, legible

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from racecheck.engine.sandbox import Sandbox
    from racecheck.footprint import Names, Resolver, Walk

T = TypeVar("T")
_WHOLE = 1 << 62
"""End of the range of all bytes, however many a file has."""


class BoxView:
    """A view of the real box, which also notes what was looked at.

    Answers are kept until a step touches something they depended on.

    Attributes:
        seen: The resources that the answers depended on since `forget_seen`.
        walks: How the paths of the last step were looked up before it was made.
    """

    def __init__(self, sandbox: Sandbox, names: Names, resolver: Resolver) -> None:
        self.seen: set[Resource] = set()
        self.walks: Sequence[Walk] = ()
        self._box = str(sandbox.box)
        self._names = names
        self._resolver = resolver
        self._process = os.getpid()
        self._answers: dict[tuple[str, str], tuple[object, frozenset[Resource]]] = {}
        self._looked_at: set[Resource] = set()

    @property
    def meant(self) -> Sequence[str]:
        """See `View.meant`."""
        return [walk.target or "" for walk in self.walks]

    @property
    def places(self) -> Sequence[Place]:
        """See `View.places`."""
        return [self._place(walk) for walk in self.walks]

    def forget_seen(self) -> None:
        """See `View.forget_seen`."""
        self.seen = set()

    def changed(self, objects: Iterable[str]) -> None:
        """Forget the answers that depended on any of these inodes."""
        if not self._answers:
            return
        for name in objects:
            for question, (_, depended) in list(self._answers.items()):
                if any(resource.object == name for resource in depended):
                    del self._answers[question]

    def read(self, path: str) -> bytes | None:
        """See `View.read`."""
        return self._ask("read", path, self._read)

    def readlink(self, path: str) -> str | None:
        """See `View.readlink`."""
        return self._ask("readlink", path, self._readlink)

    def exists(self, path: str) -> bool:
        """See `View.exists`."""
        return self._ask("exists", path, self._exists)

    def maker(self, path: str) -> str:
        """See `View.maker`."""
        actor, made, _ = (self._walk(path, follow=False).target or "").rpartition("#")
        return actor if made else ""

    def identity(self, path: str) -> str:
        """See `View.identity`."""
        return self._ask("identity", path, self._identity)

    def glob(self, pattern: str) -> tuple[str, ...]:
        """See `View.glob`."""
        return self._ask("glob", pattern, self._glob)

    def tree(self, path: str) -> dict[str, str]:
        """See `View.tree`."""
        return self._ask("tree", path, self._tree)

    def _ask(self, method: str, path: str, answer: Callable[[str], T]) -> T:
        known = self._answers.get((method, path))
        if known is not None:
            self.seen |= known[1]
            return cast("T", known[0])
        self._looked_at = set()
        found = answer(path)
        self.seen |= self._looked_at
        self._answers[method, path] = (found, frozenset(self._looked_at))
        return found

    def _read(self, path: str) -> bytes | None:
        walk = self._walk(path, follow=True)
        if walk.target is not None:
            self._looked_at.add(Resource("data", walk.target, end=_WHOLE))
            self._looked_at.add(Resource("size", walk.target))
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

    def _readlink(self, path: str) -> str | None:
        self._walk(path, follow=False)
        try:
            return os.readlink(f"{self._box}/{path}")
        except OSError:
            return None

    def _identity(self, path: str) -> str:
        return self._walk(path, follow=False).target or ""

    def _exists(self, path: str) -> bool:
        return self._walk(path, follow=False).status is not None

    def _glob(self, pattern: str) -> tuple[str, ...]:
        folder, _, _ = pattern.rpartition("/")
        if glob.has_magic(folder):
            # Any folder may match, and any may come to.
            self._tree(folder.split("*", 1)[0].rpartition("/")[0] or ".")
        else:
            walk = self._walk(folder or ".", follow=True)
            if walk.target is not None:
                self._looked_at.add(Resource("membership", walk.target))
        found = glob.glob(pattern, root_dir=self._box, include_hidden=True)
        return tuple(sorted(found))

    def _tree(self, path: str) -> dict[str, str]:
        found: dict[str, str] = {}
        pending = [path]
        while pending:
            folder = pending.pop()
            walk = self._walk(folder, follow=True)
            if walk.target is None:
                continue
            self._looked_at.add(Resource("membership", walk.target))
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
            self._looked_at.add(Resource("attributes", walk.target))
        if stat.S_ISLNK(walk.status.st_mode):
            return f"link to {self._readlink(path)}"
        if stat.S_ISDIR(walk.status.st_mode):
            return f"folder {mode}"
        data = self._read(path)
        if data is None:
            return f"unreadable {mode}"
        digest = hashlib.blake2b(data, digest_size=8).hexdigest()
        return f"file {mode} {len(data)} B {digest}"

    def _place(self, walk: Walk) -> Place:
        path = legible(path_in_box(walk, self._box))
        if walk.parent is None or not walk.reached:
            return Place("", "", path)
        return Place(walk.parent, legible(walk.name), path)

    def _walk(self, path: str, *, follow: bool) -> Walk:
        walk = self._resolver.walk(
            self._names, self._process, self._box, path, follow=follow
        )
        for directory, name in walk.entries:
            self._looked_at.add(Resource("entry", directory, name))
        return walk
