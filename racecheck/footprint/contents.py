"""Footprints of the calls on what files hold: bytes, sizes, positions, listings."""

from __future__ import annotations

import errno
import os
import stat
from typing import TYPE_CHECKING, Final

from racecheck.footprint.entries import REFUSED, empty
from racecheck.footprint.fdinfo import FOREVER

if TYPE_CHECKING:
    from racecheck.footprint.before import Before, Opened, Scene
    from racecheck.footprint.draft import Draft
    from racecheck.footprint.objects import OpenFile
    from racecheck.kernel.call import Call

_LONGEST: Final = 0x7FFFF000
_RWF_APPEND: Final = 0x10
_RWF_NOAPPEND: Final = 0x20
_KEEP_SIZE: Final = 0x01
_PUNCH_HOLE: Final = 0x02
_MOVES: Final = 0x08 | 0x20  # FALLOC_FL_COLLAPSE_RANGE, FALLOC_FL_INSERT_RANGE
_ZEROES: Final = 0x10 | 0x80  # FALLOC_FL_ZERO_RANGE, FALLOC_FL_WRITE_ZEROES
# To fill a hole changes how many blocks a file has, which `stat` tells with its size.
_BLOCKS: Final = "blocks"
# Where a listing stands that has given all names: tmpfs, other file systems.
_LISTED: Final = frozenset({0, (1 << 31) - 1, FOREVER})


def read(draft: Draft, scene: Scene, before: Before, result: int) -> None:
    """A short read also tells where the file ends."""
    file = scene.files.get("fd")
    if file is None:
        return
    if result < 0:
        return
    offset = _offset(scene.call, "offset")
    _use_position(draft, file, offset)
    start = before.opened["fd"].position if offset is None else offset
    wanted = min(scene.call.number("count"), _LONGEST)
    _take(draft, file.target, start, result, wanted=wanted)


def write(draft: Draft, scene: Scene, before: Before, result: int) -> None:
    """A write that goes past the end fills what lies between as well."""
    file = scene.files.get("fd")
    if file is None or not (result > 0 or result == -errno.EFBIG):
        return
    offset = _offset(scene.call, "offset")
    _use_position(draft, file, offset)
    opened = before.opened["fd"]
    flags = scene.call.number("flags")
    append = opened.flags & os.O_APPEND and not flags & _RWF_NOAPPEND
    start = opened.position if offset is None else offset
    if append or flags & _RWF_APPEND:
        # With O_APPEND an offset that is given has no effect; see pwrite(2), BUGS.
        start = opened.size
        draft.read("size", file.target)
    if result > 0:
        _put(draft, file.target, opened, start, result)


def copy(draft: Draft, scene: Scene, before: Before, result: int) -> None:
    """Bytes copied from one file to another are read from one, written to the other."""
    source, target = scene.files.get("infd"), scene.files.get("outfd")
    if result < 0:
        if result == -errno.EINVAL and source is not None:
            # Within one file the ranges may not overlap, and they end where it does.
            draft.read("size", source.target)
        return
    call = scene.call
    taken = _offset(call, "inoffset")
    put = _offset(call, "outoffset")
    moved, wanted = result, 0
    if call.row.name == "ioctl":
        # A clone copies all from here on if it is told no length.
        taken, put = taken or 0, put or 0
        size = before.opened["infd"].size if source is not None else 0
        wanted = call.read.get("count", 0) or FOREVER
        moved = max(0, min(wanted, size - taken))
    else:
        wanted = min(call.number("count"), _LONGEST)
    if source is not None:
        _use_position(draft, source, taken)
        start = before.opened["infd"].position if taken is None else taken
        _take(draft, source.target, start, moved, wanted=wanted)
    if target is not None and moved:
        _use_position(draft, target, put)
        opened = before.opened["outfd"]
        start = opened.position if put is None else put
        _put(draft, target.target, opened, start, moved)


def truncate(draft: Draft, scene: Scene, before: Before, result: int) -> None:
    """Making a file empty is the same done twice; other lengths depend on the size."""
    target, size = None, 0
    if scene.walks:
        walk = scene.walks[0]
        draft.walk(walk)
        target = walk.target
        if walk.status is not None:
            size = walk.status.st_size
        if target is not None and (result >= 0 or result in REFUSED):
            draft.read("attributes", target)
    elif "fd" in scene.files:
        target, size = scene.files["fd"].target, before.opened["fd"].size
        if result >= 0 or result in REFUSED:
            draft.read("attributes", target)
    if target is not None and result == -errno.EFBIG:
        # There is a limit to what files grow to, and none to what they are cut to.
        draft.read("size", target)
    if target is None or result < 0:
        return
    length = scene.call.number("length")
    if length == 0:
        empty(draft, target)
        return
    draft.read("size", target)
    if length != size:
        draft.write("size", target)
        draft.write("data", target, start=min(size, length), end=max(size, length))


def allocate(draft: Draft, scene: Scene, before: Before, result: int) -> None:
    """`fallocate` in its many forms."""
    file = scene.files.get("fd")
    if file is None:
        return
    if result >= 0 or result in REFUSED:
        draft.read("attributes", file.target)
    if result == -errno.EFBIG:
        draft.read("size", file.target)
    if result < 0:
        return
    call, size = scene.call, before.opened["fd"].size
    flags, start = call.number("flags"), call.number("offset")
    end = start + call.number("length")
    if flags & _MOVES:
        draft.read("size", file.target)
        draft.write("size", file.target)
        draft.write("data", file.target, start=start, end=FOREVER)
        return
    if flags & (_ZEROES | _PUNCH_HOLE):
        draft.write("data", file.target, start=start, end=end)
    if before.opened["fd"].has_holes or flags & (_KEEP_SIZE | _PUNCH_HOLE):
        draft.write("size", file.target, _BLOCKS)
    if not flags & (_KEEP_SIZE | _PUNCH_HOLE):
        draft.read("size", file.target)
        if end > size:
            draft.write("size", file.target)
            draft.write("data", file.target, start=size, end=end)


def seek(draft: Draft, scene: Scene, before: Before, result: int) -> None:
    """Only a position that counts from the end, or from data, looks at the file."""
    del before, result
    file = scene.files.get("fd")
    if file is None:
        return
    _use_position(draft, file, None)
    whence = scene.call.number("whence")
    if whence >= os.SEEK_END:
        draft.read("size", file.target)
    if whence > os.SEEK_END:
        draft.read("data", file.target, end=FOREVER)


def listing(draft: Draft, scene: Scene, before: Before, result: int) -> None:
    """A listing gives all names, the numbers of their inodes, and an order of them."""
    file = scene.files.get("fd")
    if file is None or not stat.S_ISDIR(before.opened["fd"].mode):
        return
    draft.read("alive", file.target)
    if result == -errno.ENOENT:
        return
    _use_position(draft, file, None)
    draft.read("membership", file.target)
    if result > 0 or before.opened["fd"].position not in _LISTED:
        draft.read("order", file.target)
        draft.read("parent", file.target)


def mapping(draft: Draft, scene: Scene, before: Before, result: int) -> None:
    """What a mapping shows is read when it is made, as far as anybody can tell."""
    del before
    file = scene.files.get("fd")
    if file is None or result < 0:
        return
    start = scene.call.number("offset")
    draft.read("size", file.target)
    end = start + scene.call.number("length")
    draft.read("data", file.target, start=start, end=end)


def execute(draft: Draft, scene: Scene, before: Before, result: int) -> None:
    """Running a program reads all of it."""
    del before
    for walk in scene.walks:
        draft.walk(walk)
        if walk.target is not None and not walk.error:
            draft.read("attributes", walk.target)
            if result not in REFUSED:
                draft.read("size", walk.target)
                draft.read("data", walk.target, end=FOREVER)


def _offset(call: Call, name: str) -> int | None:
    """Return the offset that a call was given, None if it uses the file's position."""
    if name == "offset":
        given = call.number(name) if name in call.row.args else -1
        return given if given >= 0 else None
    return call.read.get(name)


def _use_position(draft: Draft, file: OpenFile, offset: int | None) -> None:
    """Note that the position of an open file is read and moved, if others see that."""
    if offset is None and file.shared:
        draft.read("offset", file.name)
        draft.write("offset", file.name)


def _take(draft: Draft, target: str, start: int, length: int, *, wanted: int) -> None:
    if length:
        draft.read("data", target, start=start, end=start + length)
    if length < wanted:
        draft.read("size", target)


def _put(draft: Draft, target: str, opened: Opened, start: int, length: int) -> None:
    size, end = opened.size, start + length
    if end <= size:
        if opened.has_holes:
            draft.write("size", target, _BLOCKS)
        draft.write("data", target, start=start, end=end)
        return
    draft.read("size", target)
    draft.write("size", target)
    # A gap behind the old end reads as zeros from now on.
    draft.write("data", target, start=min(size, start), end=end)
