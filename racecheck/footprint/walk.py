"""How the kernel finds what a path means, seen from outside the process.

The walk is done by the tracer while every actor stands still, component by component
as in path_resolution(7), so that it can say which directory entries the result depends
on and which objects they lead to.
"""

from __future__ import annotations

import errno
import os
import stat
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from racecheck.footprint.names import Names

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


class Resolver:
    """Walks paths for the processes of one execution.

    One lives as long as its sandbox; `outside` results are remembered, since nothing
    an actor may change lies there.
    """

    def __init__(self, root: str) -> None:
        """Resolve paths against a sandbox.

        Args:
            root: Real path of the sandbox, without a trailing slash.
        """
        self.root = root
        self._prefix = root + "/"
        self._real: dict[str, str] = {}

    def walk(
        self, names: Names, process: int, base: str, path: str, *, follow: bool
    ) -> Walk:
        """Look up a path as a process would.

        Args:
            names: Names of the inodes of this execution.
            process: Id of the process, for what `/proc/self` means to it.
            base: Directory that a relative path starts from, in a form that the
                tracer can use, such as `/proc/PID/cwd`.
            path: The path as the program gave it; not empty.
            follow: Whether a symbolic link at the end is followed.
        """
        walk = Walk()
        current, here = "", None
        parts = path.split("/")
        if path[0] == "/":
            current, parts = self._absolute(process, path)
        else:
            current = base
        here = self._directory(names, walk, current)
        parts = [part for part in parts if part and part != "."]
        must_be_folder = path.endswith(("/", "/."))
        links = 0
        # Whether the last component looked up is what the path leads to; otherwise it
        # leads to the folder that the walk stands in.
        found = False
        while parts:
            part = parts.pop(0)
            found = False
            if here is None:
                if current == f"/proc/{process}/fd" and part.isdigit() and not parts:
                    return self.object_at(names, f"{current}/{part}")
                return self._leave(walk, current, [part, *parts])
            if part == "..":
                walk.upward.append(here)
                current += "/.."
                here = self._directory(names, walk, current)
                continue
            walk.entries.append((here, part))
            walk.inside = True
            walk.parent, walk.name = here, part
            location = f"{current}/{part}"
            walk.location = location
            try:
                status = os.lstat(location)
            except OSError as error:
                walk.target = walk.status = None
                if error.errno != errno.ENOENT or parts:
                    walk.error = error.errno or errno.ENOENT
                return walk
            if stat.S_ISLNK(status.st_mode) and (parts or follow or must_be_folder):
                links += 1
                if links > _MOST_LINKS:
                    walk.error = errno.ELOOP
                    return walk
                text = os.readlink(location)
                more = text.split("/")
                if text[0] == "/":
                    current, more = self._absolute(process, text)
                    here = self._directory(names, walk, current)
                parts = [item for item in more if item and item != "."] + parts
                if text.endswith("/"):
                    must_be_folder = True
                continue
            walk.status = status
            walk.target = names.find(status)
            found = True
            if parts or must_be_folder:
                if not stat.S_ISDIR(status.st_mode):
                    walk.error = errno.ENOTDIR
                    return walk
                if not parts:
                    return walk
                current = location
                here = walk.target
                walk.folders.append(here or "")
        if not found:
            self._end_in_folder(names, walk, current)
        return walk

    def object_at(self, names: Names, location: str) -> Walk:
        """Return the object behind a link of /proc as a walk without entries."""
        walk = Walk(location=location)
        try:
            walk.status = os.stat(location)
        except OSError as error:
            walk.error = error.errno or errno.EBADF
            return walk
        walk.target = names.find(walk.status)
        walk.inside = walk.target is not None
        if not walk.inside:
            walk.escaped = location
        return walk

    def _end_in_folder(self, names: Names, walk: Walk, current: str) -> None:
        """Finish a walk that ends in a folder as such: `.`, `..`, the root."""
        walk.parent, walk.name, walk.location = None, "", current
        try:
            walk.status = os.stat(current)
        except OSError as error:
            walk.error = error.errno or errno.ENOENT
            return
        walk.target = names.find(walk.status)
        if walk.target is not None:
            walk.inside = True
        else:
            walk.escaped = current

    def _directory(self, names: Names, walk: Walk, path: str) -> str | None:
        try:
            name = names.find(os.stat(path))
        except OSError:
            return None
        if name is not None:
            walk.folders.append(name)
        return name

    def _leave(self, walk: Walk, current: str, parts: list[str]) -> Walk:
        walk.parent = walk.target = walk.status = None
        walk.name = parts[-1]
        walk.location = walk.escaped = "/".join([current, *parts])
        return walk

    def _absolute(self, process: int, path: str) -> tuple[str, list[str]]:
        """Split an absolute path into where the walk starts and what is left."""
        if path.startswith(self._prefix):
            return self.root, path[len(self._prefix) :].split("/")
        if path.startswith(("/proc/", "/dev/")):
            magic = self._magic(process, path)
            if magic is not None:
                return magic
        folder, _, name = path.rpartition("/")
        real = self._real.get(folder)
        if real is None:
            real = self._real[folder] = os.path.realpath(folder or "/")
        whole = f"{real.rstrip('/')}/{name}"
        if whole == self.root or whole.startswith(self._prefix):
            return self.root, whole[len(self._prefix) :].split("/")
        try:
            # A link outside that leads into the sandbox.
            text = os.readlink(whole)
        except OSError:
            return real or "/", [name]
        target = os.path.realpath(os.path.join(real, text))  # noqa: PTH118  hot path
        if target == self.root or target.startswith(self._prefix):
            return self.root, target[len(self._prefix) :].split("/")
        return real or "/", [name]

    def _magic(self, process: int, path: str) -> tuple[str, list[str]] | None:
        """Resolve the links of /proc that mean another thing to each process."""
        parts = path.split("/")[1:]
        if parts[0] == "dev":
            short = {"fd": [], "stdin": ["0"], "stdout": ["1"], "stderr": ["2"]}
            if len(parts) < 2 or parts[1] not in short:
                return None
            parts = ["proc", "self", "fd", *short[parts[1]], *parts[2:]]
        if len(parts) < 4 or parts[1] not in {"self", "thread-self", str(process)}:
            return None
        if parts[2] == "task" and len(parts) > 5:
            parts = [*parts[:2], *parts[4:]]
        here = f"/proc/{process}"
        if parts[2] in {"cwd", "root"}:
            start = f"{here}/{parts[2]}"
            rest = parts[3:]
            if parts[2] == "root":
                return self._absolute(process, "/" + "/".join(rest))
            return start, rest
        if parts[2] == "fd":
            link = f"{here}/fd/{parts[3]}"
            try:
                text = os.readlink(link)
            except OSError:
                return here + "/fd", parts[3:]
            if len(parts) > 4:
                return link, parts[4:]
            if text.startswith(self._prefix) and not text.endswith(" (deleted)"):
                return self.root, text[len(self._prefix) :].split("/")
        return None
