"""What an execution has left in the sandbox, in a form that can be compared."""

from __future__ import annotations

import os
import stat


def describe(root: str) -> dict[str, tuple[object, ...]]:
    """Return type, mode, group, content and attributes of all below a folder.

    Of a file's names all say which is the first of them.
    """
    tree: dict[str, tuple[object, ...]] = {}
    first: dict[int, str] = {}
    left = [(root, "")]
    while left:
        folder, inside = left.pop()
        with os.scandir(folder) as entries:
            for entry in sorted(entries, key=lambda each: each.name):
                name, path = inside + entry.name, entry.path
                status = entry.stat(follow_symlinks=False)
                shown: tuple[object, ...] = (status.st_mode, status.st_gid)
                if stat.S_ISDIR(status.st_mode):
                    left.append((path, f"{name}/"))
                elif stat.S_ISREG(status.st_mode):
                    with open(path, "rb", buffering=0) as file:
                        data = file.readall()
                    same = first.setdefault(status.st_ino, name)
                    shown = (*shown, status.st_nlink, data, same)
                elif stat.S_ISLNK(status.st_mode):
                    shown = (*shown, os.readlink(path))
                if not stat.S_ISLNK(status.st_mode):
                    for attribute in sorted(os.listxattr(path)):
                        shown = (*shown, attribute, os.getxattr(path, attribute))
                tree[name] = shown
    return tree
