"""What paths mean to the processes that use them."""

from __future__ import annotations

import errno
import os
import stat
from typing import TYPE_CHECKING, Final, NamedTuple

from racecheck.footprint.outside import Outside
from racecheck.footprint.walk import Bounds, Lookup, Walk

if TYPE_CHECKING:
    from collections.abc import Mapping

    from racecheck.footprint.names import Names


_NO_ENTRIES: Final = frozenset({"", ".", ".."})


class _Folder(NamedTuple):
    """The folder of a path's last component, as an earlier lookup has found it.

    Attributes:
        name: Name of the folder.
        location: Path of it.
        entries: Entries that were looked up on the way to it.
        folders: Folders that were passed, itself the last.
    """

    name: str
    location: str
    entries: tuple[tuple[str, str], ...]
    folders: tuple[str, ...]


class Resolver:
    """Walks paths for the processes of one sandbox, for as long as that exists."""

    def __init__(self, root: str) -> None:
        """Resolve paths against a sandbox.

        Args:
            root: Real path of the sandbox, without a trailing slash.
        """
        self.root = root
        self._prefix = root + "/"
        self._outside = Outside(root)
        # Of the execution with these names: the folders of absolute paths, by their
        # spelling, until an entry on the way to any of them is removed.
        self._names: Names | None = None
        self._folders: dict[str, _Folder] = {}
        self._relied_on: set[tuple[str, str]] = set()
        self._staying: dict[str, _Folder] = {}

    def begin_with(self, root: str, folders: Mapping[str, str]) -> None:
        """Take note of folders that are there at the start of every execution.

        Args:
            root: Name of the sandbox's own folder.
            folders: Names of the folders in it by their paths, which have to be those
                that a walk would give.
        """
        self._names = None
        self._staying = {}
        for path, name in folders.items():
            entry = path.removeprefix(self._prefix)
            self._staying[path] = _Folder(name, path, ((root, entry),), (root, name))

    def walk(
        self,
        names: Names,
        process: int,
        base: str,
        path: str,
        *,
        follow: bool,
        bounds: Bounds = Bounds.NONE,
    ) -> Walk:
        """Look up a path as a process would.

        Args:
            names: Names of the inodes of this execution.
            process: Id of the process, for what `/proc/self` means to it.
            base: Directory that a relative path starts from, in a form that the
                tracer can use, such as `/proc/PID/cwd`.
            path: The path as the program gave it; not empty.
            follow: Whether a symbolic link at the end is followed.
            bounds: Whether the lookup may leave `base`, which has to be inside if not.
        """
        if names is not self._names:
            self._names = names
            self.forget()
            self._folders.update(self._staying)
            self._relied_on.update(
                entry for folder in self._staying.values() for entry in folder.entries
            )
        before, _, name = path.rpartition("/")
        is_entry = name not in _NO_ENTRIES and bounds is Bounds.NONE
        folder = self._folders.get(before) if is_entry else None
        if folder is not None:
            walk = _in_folder(names, folder, name, follow=follow)
            if walk is not None:
                return walk
        lookup = Lookup(self._outside, names, process, follow=follow, bounds=bounds)
        lookup.run(base, path)
        link = lookup.descriptor
        if link:
            return self._descriptor(names, link, follow)
        # Outside, a path can mean another thing to each process.
        if is_entry and lookup.walk.straight and path.startswith(self._prefix):
            self._remember(before, lookup.walk)
        return lookup.walk

    def removed(self, folder: str | None, name: str) -> None:
        """Take note that an entry does not lead any more to where it did.

        Every step has to be reported that removes or replaces one.
        """
        if (folder, name) in self._relied_on:
            self.forget()

    def forget(self) -> None:
        """Forget what earlier lookups have found."""
        self._folders.clear()
        self._relied_on.clear()

    def _remember(self, path: str, walk: Walk) -> None:
        """Remember the folder that the last component was looked up in."""
        if walk.error or not walk.reached or walk.parent is None:
            return
        *entries, _ = walk.entries
        location = walk.location.rpartition("/")[0]
        self._folders[path] = _Folder(
            walk.parent, location, tuple(entries), tuple(walk.folders)
        )
        self._relied_on.update(entries)

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

    def _descriptor(self, names: Names, link: str, follow: bool) -> Walk:  # noqa: FBT001  passed on
        walk = self.object_at(names, link)
        if follow or not walk.inside:
            return walk
        # The link itself is meant, and what it says follows the renames of the file.
        text = os.readlink(link)
        if not text.startswith(self._prefix) or text.endswith(" (deleted)"):
            return walk
        return self.walk(names, 0, self.root, text, follow=False)


def _in_folder(
    names: Names, folder: _Folder, name: str, *, follow: bool
) -> Walk | None:
    """Look up a last component in a known folder, unless that is not all there is."""
    location = f"{folder.location}/{name}"
    status = target = None
    try:
        status = os.lstat(location)
    except FileNotFoundError:
        pass
    except OSError:
        return None
    else:
        if follow and stat.S_ISLNK(status.st_mode):
            return None
        target = names.find(status)
    return Walk(
        inside=True,
        parent=folder.name,
        name=name,
        target=target,
        status=status,
        location=location,
        entries=[*folder.entries, (folder.name, name)],
        folders=list(folder.folders),
        reached=True,
        straight=True,
    )
