"""Lookups that find nothing, told by the path that was looked for.

A path can lead nowhere because its file is missing, or a folder on the way. Whoever
looks learns the same. With the entry alone that the lookup ended at, the two would
touch different things, and a lookup would depend on the making of an empty folder in
which it finds nothing either. So such a lookup reads that its path below the box leads
nowhere, and each step that changes an entry says for which paths that may change
something. docs/conflicts.md has the reasons; where anything is not plain, so that a
lookup or a place is not known by its path, what is said is said of more paths.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from racecheck.footprint.draft import NAMES

if TYPE_CHECKING:
    from racecheck.footprint.draft import Draft
    from racecheck.footprint.walk import Walk

BOX: Final = "."
"""Name of the folder that places are told from. It is an inode like any other: that it
can be moved makes no difference to what lies below it."""

MISSING: Final = "missing"
"""What is changed by an empty folder that is made: nothing but its own name is found
where nothing was found before."""
WAY: Final = "way"
"""What is changed by any other change at a place, for all paths that lead through it.
The empty place stands for all of them."""
NAMED: Final = "named"
"""What is changed at a place that is not known: paths with that name in them."""

_SEARCHED_BY_ALL: Final = 0o111
_ACCESS_LIST: Final = "system.posix_acl_access"


def found_nothing(draft: Draft, walk: Walk) -> None:
    """Note a lookup that was all there was of its call, and ended with `ENOENT`."""
    start = _start(walk)
    if start < 0 or ".." in walk.rest:
        draft.walk(walk)
        return
    parts = [*(name for _, name in walk.entries[start:]), *walk.rest]
    if draft.with_entries or len(parts) == 1:
        # In the box itself there is no folder on the way that could be missing.
        draft.walk(walk)
        if len(parts) == 1:
            return
    for folder in walk.folders[: walk.folders.index(BOX) + 1]:
        draft.read("attributes", folder)
    for folder, name in walk.entries[:start]:
        draft.read("entry", folder, name=name)
    place = ""
    draft.read(WAY, BOX)
    for part in parts:
        place = f"{place}/{part}" if place else part
        draft.read(WAY, BOX, name=place)
        draft.read(NAMED, BOX, name=part)
    draft.read(MISSING, BOX, name=place)


def changed_entry(draft: Draft, walk: Walk, *, empty_folder: bool = False) -> None:
    """Note that the entry which a path ends with has changed.

    Args:
        draft: The footprint.
        walk: The path, as it was looked up before the change.
        empty_folder: Whether all that was done is that a folder was made.
    """
    assert walk.parent is not None  # noqa: S101  nothing else is changed
    draft.write("entry", walk.parent, name=walk.name)
    place = _place(walk)
    if not place:
        draft.write(NAMED, BOX, NAMES, name=walk.name)
    elif empty_folder and _is_searched_by_all(walk.location):
        draft.write(MISSING, BOX, NAMES, name=place)
    else:
        draft.write(WAY, BOX, NAMES, name=place)


def changed_folder(draft: Draft, walk: Walk | None, target: str) -> None:
    """Note that it may have changed who can search a folder.

    Args:
        draft: The footprint.
        walk: The path that led to it, if one did.
        target: Name of the folder.
    """
    # Every lookup reads the attributes of the box itself.
    if target != BOX:
        draft.write(WAY, BOX, NAMES, name=_place(walk) if walk is not None else "")


def path_in_box(walk: Walk, box: str) -> str:
    """Return where a lookup ended, as a path from the box with no link on its way.

    Nothing if it did not come to its end, or ended outside the box.

    Args:
        walk: The lookup. Its last folder is still where it was.
        box: Real path of the box.
    """
    if place := _place(walk):
        return place
    if walk.parent is None:
        path = os.path.realpath(walk.location)
    elif walk.reached:
        folder, _, name = walk.location.rpartition("/")
        path = f"{os.path.realpath(folder)}/{name}"
    else:
        return ""
    if path == box:
        return "."
    return path.removeprefix(f"{box}/") if path.startswith(f"{box}/") else ""


def _start(walk: Walk) -> int:
    """Return which entry of a lookup is the first below the box; -1 if none is."""
    if not walk.straight:
        return -1
    for index, (folder, _) in enumerate(walk.entries):
        if folder == BOX:
            return index
    return -1


def _place(walk: Walk) -> str:
    """Return the path below the box of the entry that a lookup ended with, or ""."""
    start = _start(walk)
    if start < 0 or not walk.reached:
        return ""
    return "/".join(name for _, name in walk.entries[start:])


def _is_searched_by_all(folder: str) -> bool:
    """Say whether anybody can look for names in a folder, and so finds them missing."""
    try:
        mode = os.lstat(folder).st_mode
    except OSError:
        return False
    if mode & _SEARCHED_BY_ALL != _SEARCHED_BY_ALL:
        return False
    try:
        os.getxattr(folder, _ACCESS_LIST, follow_symlinks=False)
    except OSError:
        return True
    return False
