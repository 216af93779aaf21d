"""Footprints of the calls on what is known of files: attributes, links, places."""

from __future__ import annotations

import errno
import stat
from typing import TYPE_CHECKING

from racecheck.footprint.entries import REFUSED
from racecheck.footprint.places import changed_folder, found_nothing
from racecheck.model import Kind

if TYPE_CHECKING:
    from racecheck.footprint.before import Before, Scene
    from racecheck.footprint.draft import Draft


def status(draft: Draft, scene: Scene, before: Before, result: int) -> None:
    """`stat`: of the links of a folder, actors are shown only whether it has any."""
    target, mode = _target(draft, scene, before, result)
    # What statfs(2) tells is not of the box.
    if result < 0 or target is None or "buffer" not in scene.call.row.args:
        return
    draft.read("attributes", target)
    draft.read("times", target)
    if stat.S_ISDIR(mode):
        if not (scene.walks and scene.walks[0].reached):
            # By a descriptor or as `.`, it can be one that is gone, and has no link.
            draft.read("alive", target)
    else:
        draft.read("links", target)
        if not stat.S_ISLNK(mode):
            draft.read("size", target)


def look_up(draft: Draft, scene: Scene, before: Before, result: int) -> None:
    """`access`, `chdir`, `getxattr`: the attributes of what is found."""
    target, _ = _target(draft, scene, before, result)
    found = result >= 0 or result in REFUSED
    if target is not None and (found or scene.call.row.kind is Kind.GETXATTR):
        draft.read("attributes", target)


def link_text(draft: Draft, scene: Scene, before: Before, result: int) -> None:
    """`readlink`: the text of a link never changes, so the entry alone is read.

    That of a link in /proc says where something is now.
    """
    target, mode = _target(draft, scene, before, result)
    if target is None or result < 0 or scene.walks[0].entries:
        return
    if stat.S_ISDIR(mode):
        _place(draft, before)
    else:
        draft.read("links", target)


def change(draft: Draft, scene: Scene, before: Before, result: int) -> None:
    """`chmod` and `chown`: setting the same value twice is the same."""
    target, file_mode = _target(draft, scene, before, result)
    if target is None:
        return
    if result in REFUSED:
        draft.read("attributes", target)
    if result >= 0:
        call = scene.call
        if call.row.kind is Kind.CHMOD:
            label = f"{call.number('mode') & 0o7777:o}"
        else:
            label = f"{call.number('uid')}:{call.number('gid')}"
        draft.write("attributes", target, label)
        if stat.S_ISDIR(file_mode):
            changed_folder(draft, scene.walks[0] if scene.walks else None, target)


def set_times(draft: Draft, scene: Scene, before: Before, result: int) -> None:
    """`utimensat`: with other times than the present one, see `rules.Stamps`."""
    target, _ = _target(draft, scene, before, result)
    if target is None:
        return
    if result >= 0 or result in REFUSED:
        draft.read("attributes", target)
    if result >= 0:
        draft.write("times", target, str(scene.call.args.get("times")))


def set_attribute(draft: Draft, scene: Scene, before: Before, result: int) -> None:
    """`setxattr`: it can depend on whether the attribute is there."""
    target, file_mode = _target(draft, scene, before, result)
    if target is not None:
        draft.read("attributes", target)
        if result >= 0:
            draft.write("attributes", target)
            if stat.S_ISDIR(file_mode):
                changed_folder(draft, scene.walks[0] if scene.walks else None, target)


def working_directory(draft: Draft, scene: Scene, before: Before, result: int) -> None:
    """`getcwd`: the names of all the folders above."""
    del scene
    if result == -errno.ENOENT:
        before.names = ()
    _place(draft, before)


def _place(draft: Draft, before: Before) -> None:
    """Note that a step has told where a folder is."""
    if not before.place:
        return
    draft.read("alive", before.place[0])
    above = before.place[1:]
    for folder, parent, name in zip(before.place, above, before.names, strict=False):
        draft.read("parent", folder)
        draft.read("entry", parent, name=name)


def _target(
    draft: Draft, scene: Scene, before: Before, result: int
) -> tuple[str | None, int]:
    """Note the walk, if any; return name and mode of the inode that is meant."""
    if scene.walks:
        walk = scene.walks[0]
        if walk.status is None and result == -errno.ENOENT:
            found_nothing(draft, walk)
            return None, 0
        draft.walk(walk)
        if walk.status is None or walk.error:
            return None, 0
        return walk.target, walk.status.st_mode
    file = scene.files.get("fd")
    if file is None:
        return None, 0
    opened = before.opened.get("fd")
    return file.target, 0 if opened is None else opened.mode
