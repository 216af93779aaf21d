"""How the kernel finds what a path means, seen from outside the process.

The walk is done by the tracer while every actor stands still, component by component
as in path_resolution(7), so that it can say which directory entries the result depends
on and which objects they lead to.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from racecheck.footprint.names import Names
    from racecheck.footprint.outside import Outside

_MOST_LINKS = 40


@dataclass(slots=True)
class Walk:
    """What one path lookup saw.

    Attributes:
        error: The errno that the lookup ends with before the last component, or 0.
        inside: Whether any entry it looked up is in the sandbox.
        parent: Name of the directory of the last component, None outside the sandbox.
        name: Last component, empty where the path ends in a directory as such.
        target: Name of the object found, None if there is none or it is outside.
        status: What lstat says of the object found, None if there is none.
        location: Path of the object that the tracer itself can use.
        entries: (directory, name) of each entry looked up, in order, the last included.
        upward: Directories whose `..` was followed.
        folders: Directories passed through.
        escaped: Path outside the sandbox that it ends at, or empty.
        reached: Whether the last of `entries` is the one that the path ends with.
        rest: Components that it did not come to, since one before them is missing.
        straight: Whether it met nothing but entries: no link, and no `..`.
    """

    error: int = 0
    inside: bool = False
    parent: str | None = None
    name: str = ""
    target: str | None = None
    status: os.stat_result | None = None
    location: str = ""
    entries: list[tuple[str, str]] = field(default_factory=list)
    upward: list[str] = field(default_factory=list)
    folders: list[str] = field(default_factory=list)
    escaped: str = ""
    reached: bool = False
    rest: tuple[str, ...] = ()
    straight: bool = False


class Bounds(Enum):
    """Whether a lookup may leave the folder that it starts from; see openat2(2)."""

    NONE = auto()
    BENEATH = auto()
    """It fails where it would."""
    ROOT = auto()
    """That folder is the root of all paths and links."""


class Lookup:
    """One lookup under way.

    Attributes:
        walk: What it has seen so far.
        descriptor: The entry of `/proc/PID/fd` that it ended at, or empty.
    """

    __slots__ = (
        "_base",
        "_bounds",
        "_current",
        "_folder",
        "_follow",
        "_found",
        "_here",
        "_links",
        "_names",
        "_outside",
        "_parts",
        "_process",
        "_settled",
        "descriptor",
        "walk",
    )

    def __init__(
        self,
        outside: Outside,
        names: Names,
        process: int,
        *,
        follow: bool,
        bounds: Bounds = Bounds.NONE,
    ) -> None:
        self._bounds = bounds
        self._base = ""
        self.walk = Walk()
        self.descriptor = ""
        self._outside = outside
        self._names = names
        self._process = process
        self._follow = follow
        self._links = 0
        # The folder that the lookup stands in: a path of it, and its name if it is in
        # the sandbox. Once settled, a folder outside does not lead back in.
        self._current = ""
        self._here: str | None = None
        self._settled = False
        self._parts: list[str] = []
        # Whether the path says that it ends in a folder.
        self._folder = False
        # Whether the last component looked up is what the path leads to; otherwise it
        # leads to the folder that the lookup stands in.
        self._found = False

    def run(self, base: str, path: str) -> None:
        """Look up a path; see `Resolver.walk`."""
        self._go(base, path)
        self.walk.straight = not self._links and not self.walk.upward

    def _go(self, base: str, path: str) -> None:
        self._folder = path.endswith(("/", "/."))
        self._base = base
        if path[0] == "/":
            if not self._enter(path):
                return
            self._settled = not self._current.startswith("/proc/")
        else:
            self._stand(base)
            self._parts = _components(path.split("/"))
            if self._here is None and not os.path.isdir(base):
                missing = not os.path.exists(base)
                self.walk.error = errno.EBADF if missing else errno.ENOTDIR
                return
        while self._parts:
            if not self._look_up(self._parts.pop(0)):
                return
        if not self._found:
            self._end_in_folder()

    def _look_up(self, part: str) -> bool:
        """Take one component; say whether the lookup goes on."""
        self._found = False
        if self._here is None:
            return self._come_back(part)
        if part == ".." and self._is_bound():
            return self._bounds is Bounds.ROOT
        if part == "..":
            self.walk.upward.append(self._here)
            self._stand(self._current + "/..")
            self._settled = False
            return True
        status = self._find(self._here, part)
        if status is None:
            return False
        if stat.S_ISLNK(status.st_mode) and not self._stays():
            return self._follow_link()
        self._found = True
        return self._accept(status)

    def _stays(self) -> bool:
        """Say whether a symbolic link that was just found is not followed."""
        return not (self._parts or self._follow or self._folder)

    def _find(self, here: str, part: str) -> os.stat_result | None:
        """Look up one entry in the sandbox."""
        walk = self.walk
        walk.entries.append((here, part))
        walk.inside = True
        walk.parent, walk.name = here, part
        walk.reached = not self._parts
        walk.location = f"{self._current}/{part}"
        try:
            return os.lstat(walk.location)
        except OSError as error:
            walk.target = walk.status = None
            if error.errno != errno.ENOENT or self._parts:
                walk.error = error.errno or errno.ENOENT
            walk.rest = tuple(self._parts)
            return None

    def _accept(self, status: os.stat_result) -> bool:
        """Take what was found; say whether the lookup goes on."""
        walk = self.walk
        walk.status = status
        walk.target = self._names.find(status)
        if not (self._parts or self._folder):
            return True
        if not stat.S_ISDIR(status.st_mode):
            walk.error = errno.ENOTDIR
            return False
        if self._parts:
            self._current = walk.location
            self._here = walk.target
            if walk.target is not None:
                walk.folders.append(walk.target)
        return True

    def _follow_link(self) -> bool:
        """Replace a symbolic link by what it says; say whether the lookup goes on."""
        self._links += 1
        if self._links > _MOST_LINKS:
            self.walk.error = errno.ELOOP
            return False
        text = os.readlink(self.walk.location)
        rest = self._parts
        if not rest and text.endswith("/"):
            self._folder = True
        if text[0] == "/":
            if not self._enter(text):
                return False
            self._settled = True
        else:
            self._parts = _components(text.split("/"))
        self._parts += rest
        return True

    def _is_bound(self) -> bool:
        """Say whether `..` would leave the folder that the lookup may not leave."""
        if self._bounds is Bounds.NONE:
            return False
        if self._here != self._names.find(os.stat(self._base)):
            return False
        if self._bounds is Bounds.BENEATH:
            self.walk.error = errno.EXDEV
        return True

    def _enter(self, path: str) -> bool:
        """Go on from the top; say whether the lookup goes on."""
        if self._bounds is Bounds.BENEATH:
            self.walk.error = errno.EXDEV
            return False
        if self._bounds is Bounds.ROOT:
            self._parts = _components(path.split("/"))
            self._stand(self._base)
            return True
        follow = self._follow or self._folder or bool(self._parts)
        current, parts = self._outside.enter(self._process, path, follow=follow)
        self._parts = _components(parts)
        self._stand(current)
        return True

    def _stand(self, current: str) -> None:
        """Go on from a folder."""
        self._current = current
        try:
            self._here = self._names.find(os.stat(current))
        except OSError:
            self._here = None
        if self._here is not None:
            self.walk.folders.append(self._here)

    def _come_back(self, part: str) -> bool:
        """Look up a component outside the sandbox; say whether the lookup goes on."""
        parts = [part, *self._parts]
        if self._current == f"/proc/{self._process}/fd" and part.isdigit():
            # With anything behind it, `Outside` gives the descriptor as the folder.
            self.descriptor = f"{self._current}/{part}"
            return False
        if not self._settled:
            self._settled = True
            # What cannot be looked at, as another's root in /proc, counts as outside.
            with contextlib.suppress(OSError):
                self._enter("/".join([os.path.realpath(self._current), *parts]))
                return True
        walk = self.walk
        walk.parent = walk.target = walk.status = None
        walk.reached = False
        walk.name = parts[-1]
        walk.location = walk.escaped = "/".join([self._current.rstrip("/"), *parts])
        return False

    def _end_in_folder(self) -> None:
        """Finish a lookup that ends in a folder as such: `.`, `..`, the root."""
        walk = self.walk
        walk.parent, walk.name, walk.location = None, "", self._current
        walk.reached = False
        try:
            walk.status = os.stat(self._current)
        except OSError as error:
            walk.error = error.errno or errno.ENOENT
            return
        walk.target = self._names.find(walk.status)
        if walk.target is not None:
            walk.inside = True
        else:
            walk.escaped = self._current


def _components(parts: list[str]) -> list[str]:
    return [part for part in parts if part and part != "."]
