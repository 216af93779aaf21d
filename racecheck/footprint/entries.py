"""Footprints of the calls on names: those that look up, make, move and remove them."""

from __future__ import annotations

import errno
import os
import stat
from typing import TYPE_CHECKING, Final

from racecheck.footprint.before import is_folder
from racecheck.footprint.draft import COUNT, EMPTIED, NAMES
from racecheck.footprint.fdinfo import FOREVER
from racecheck.footprint.places import changed_entry, found_nothing
from racecheck.model import Kind

if TYPE_CHECKING:
    from racecheck.footprint.before import Before, Scene
    from racecheck.footprint.draft import Draft
    from racecheck.footprint.walk import Walk

_O_PATH: Final = 0o10000000
_RENAME_EXCHANGE: Final = 2
REFUSED: Final = frozenset({-errno.EACCES, -errno.EPERM})


def open_(draft: Draft, scene: Scene, before: Before, result: int) -> None:
    """An existing file is looked at; one that was not there is a new name."""
    del before
    (walk,) = scene.walks
    flags = scene.call.number("flags")
    if flags & _O_PATH:
        flags = _O_PATH
    if walk.status is None and result == -errno.ENOENT and not flags & os.O_CREAT:
        found_nothing(draft, walk)
        return
    draft.walk(walk)
    if walk.status is None:
        if flags & os.O_CREAT:
            _make(draft, walk, result)
        return
    if walk.target is None or (result < 0 and result not in REFUSED):
        return
    draft.read("attributes", walk.target)
    temporary = flags & os.O_TMPFILE == os.O_TMPFILE
    if result >= 0 and flags & os.O_TRUNC and not temporary:
        empty(draft, walk.target)


def make(draft: Draft, scene: Scene, before: Before, result: int) -> None:
    """`mkdir`, `mknod` and `symlink`."""
    del before
    walk = scene.walks[-1]
    draft.walk(walk)
    is_folder_made = scene.call.row.kind is Kind.MKDIR
    _make(draft, walk, result, empty_folder=is_folder_made)
    if result >= 0 and walk.parent is not None and is_folder_made:
        draft.write("links", walk.parent, COUNT)


def link(draft: Draft, scene: Scene, before: Before, result: int) -> None:
    """`link`: the new name is not looked at unless there is an old one."""
    del before
    old, new = scene.walks
    draft.walk(old)
    if old.status is None or old.error:
        return
    draft.walk(new)
    _make(draft, new, result)
    if old.target is None:
        return
    if not old.entries:
        # Given as a descriptor, it may have lost its last name.
        draft.read("links", old.target)
    if result >= 0:
        draft.read("attributes", old.target)
        draft.write("links", old.target, COUNT)
    elif result in REFUSED:
        draft.read("attributes", old.target)


def unlink(draft: Draft, scene: Scene, before: Before, result: int) -> None:
    """`unlink`: the file itself is only told that it has one name less."""
    del before
    (walk,) = scene.walks
    if walk.status is None and result == -errno.ENOENT:
        found_nothing(draft, walk)
        return
    draft.walk(walk)
    if walk.parent is None or walk.target is None:
        return
    draft.read("attributes", walk.target)
    if result >= 0:
        changed_entry(draft, walk)
        draft.write("membership", walk.parent, NAMES)
        draft.write("links", walk.target, COUNT)


def rmdir(draft: Draft, scene: Scene, before: Before, result: int) -> None:
    """`rmdir`: whether it may depends on all the names in the folder."""
    del before
    (walk,) = scene.walks
    if walk.status is None and result == -errno.ENOENT:
        found_nothing(draft, walk)
        return
    draft.walk(walk)
    if walk.target is None:
        return
    draft.read("attributes", walk.target)
    if result in {0, -errno.ENOTEMPTY}:
        draft.read("membership", walk.target)
    if result >= 0 and walk.parent is not None:
        changed_entry(draft, walk)
        draft.write("membership", walk.parent, NAMES)
        draft.write("links", walk.parent, COUNT)
        draft.write("alive", walk.target)
        draft.write("links", walk.target)


def rename(draft: Draft, scene: Scene, before: Before, result: int) -> None:
    """`rename`: the order in which it tests things decides what it has read."""
    old, new = scene.walks
    if not _reach_both(draft, old, new):
        return
    draft.walk(old)
    if old.status is None:
        return
    draft.walk(new)
    exchange = bool(scene.call.number("flags") & _RENAME_EXCHANGE)
    if result == -errno.EEXIST or _lacks_target(draft, new, result, exchange=exchange):
        return
    # A folder must not end up in itself, nor be replaced by what lies in it.
    for walk, above in ((old, before.climbs[1]), (new, before.climbs[0])):
        if is_folder(walk):
            for folder in above:
                draft.read("parent", folder)
    for walk in (old, new):
        if walk.target is not None:
            draft.read("attributes", walk.target)
    if result == -errno.ENOTEMPTY and new.target is not None:
        draft.read("membership", new.target)
    if result >= 0 and (old.target != new.target or old.target is None):
        _renamed(draft, old, new, exchange=exchange)


def _reach_both(draft: Draft, old: Walk, new: Walk) -> bool:
    """Note how two folders were looked up; say whether the names in them come next."""
    for walk in (old, new):
        draft.walk(walk, last=False)
        if walk.error and not walk.reached:
            return False
    return old.parent is not None and new.parent is not None


def _lacks_target(draft: Draft, new: Walk, result: int, *, exchange: bool) -> bool:
    """Say whether a rename failed since there is no target, and none can be made."""
    if new.status is not None or new.parent is None:
        return False
    if exchange:
        return True
    # A folder that is gone takes no name. That is found before anything else is.
    draft.read("alive", new.parent)
    return result == -errno.ENOENT


def _renamed(draft: Draft, old: Walk, new: Walk, *, exchange: bool) -> None:
    assert old.parent is not None  # noqa: S101  only such renames succeed
    assert new.parent is not None  # noqa: S101  as above
    moves = [(old, new), (new, old)] if exchange else [(old, new)]
    for walk in (old, new):
        changed_entry(draft, walk)
    if not exchange or _type(old) != _type(new):
        draft.write("membership", old.parent, NAMES)
    if _type(old) != _type(new):
        draft.write("membership", new.parent, NAMES)
    if new.status is not None:
        # The set of names is what it was, but they may have changed places in it.
        draft.write("order", new.parent, NAMES)
        if exchange:
            draft.write("order", old.parent, NAMES)
        elif new.target is not None:
            _replaced(draft, new)
    if old.parent != new.parent:
        for source, target in moves:
            if is_folder(source) and source.target is not None:
                draft.write("parent", source.target)
                draft.write("links", source.parent or "", COUNT)
                draft.write("links", target.parent or "", COUNT)


def _replaced(draft: Draft, walk: Walk) -> None:
    assert walk.target is not None  # noqa: S101  the caller has asked
    assert walk.parent is not None  # noqa: S101  only such renames succeed
    if is_folder(walk):
        draft.read("membership", walk.target)
        draft.write("alive", walk.target)
        draft.write("links", walk.target)
        draft.write("links", walk.parent, COUNT)
    else:
        draft.write("links", walk.target, COUNT)


def _make(draft: Draft, walk: Walk, result: int, *, empty_folder: bool = False) -> None:
    """Note a new name, or that a folder that is gone did not take it."""
    if walk.parent is None or walk.status is not None or walk.error:
        return
    draft.read("alive", walk.parent)
    if result >= 0:
        changed_entry(draft, walk, empty_folder=empty_folder)
        draft.write("membership", walk.parent, NAMES)


def _type(walk: Walk) -> int:
    return 0 if walk.status is None else stat.S_IFMT(walk.status.st_mode)


def empty(draft: Draft, target: str) -> None:
    """Note that a file was made empty."""
    draft.write("size", target, EMPTIED)
    draft.write("data", target, EMPTIED, end=FOREVER)
