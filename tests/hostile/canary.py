"""A folder outside of every sandbox, and whether anything about it has changed."""

from __future__ import annotations

import hashlib
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def hatch(folder: Path) -> Path:
    """Make a folder with something of each kind in it, and return it."""
    folder.mkdir()
    (folder / "file").write_text("as it was")
    (folder / "second").hardlink_to(folder / "file")
    (folder / "link").symlink_to("file")
    (folder / "folder").mkdir(0o750)
    (folder / "folder" / "inner").write_text("as well")
    (folder / "empty").mkdir()
    (folder / "program").write_text("#!/bin/sh\n")
    (folder / "program").chmod(0o755)
    return folder


def digest(folder: Path) -> str:
    """Return a digest of all that could be changed but times of reading.

    That is names, contents, links, modes, owners, numbers of names, extended attributes
    and the times of changes: of data, and of all the rest.
    """
    found = hashlib.sha256()
    for path in sorted([folder, *folder.rglob("*")]):
        status = path.lstat()
        what: tuple[object, ...] = (
            str(path.relative_to(folder)),
            *(status.st_ino, status.st_mode, status.st_nlink, status.st_size),
            *(status.st_uid, status.st_gid, status.st_mtime_ns, status.st_ctime_ns),
            sorted(os.listxattr(path, follow_symlinks=False)),
        )
        if path.is_symlink():
            what += (os.readlink(path),)
        elif path.is_file():
            what += (path.read_bytes(),)
        found.update(repr(what).encode())
    return found.hexdigest()
