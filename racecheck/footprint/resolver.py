"""What paths mean to the processes that use them."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING

from racecheck.footprint.outside import Outside
from racecheck.footprint.walk import Lookup, Walk

if TYPE_CHECKING:
    from racecheck.footprint.names import Names


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
        lookup = Lookup(self._outside, names, process, follow=follow)
        lookup.run(base, path)
        link = lookup.descriptor
        return self._descriptor(names, link, follow) if link else lookup.walk

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
