"""What has to be looked at just before a step, since the step may change it.

Everything here is asked of the kernel while all actors stand still. Most kinds of step
need nothing: what their paths mean is in the walks.
"""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

from racecheck.footprint import fdinfo
from racecheck.model import Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from racecheck.footprint.fdinfo import Lock
    from racecheck.footprint.names import Names
    from racecheck.footprint.objects import OpenFile
    from racecheck.footprint.walk import Walk
    from racecheck.kernel.call import Call

_CLOSE_RANGE_CLOEXEC: Final = 4
_DELETED: Final = " (deleted)"
# Unit of `st_blocks`, whatever the file system has: stat(2).
_BLOCK: Final = 512


class Opened(NamedTuple):
    """The state of an open file description and of its inode.

    Attributes:
        position: Offset of the description.
        flags: Its flags, as they are now.
        mode: Type and permissions of the inode.
        size: Size of the inode.
        has_holes: Whether it has fewer blocks than its size takes.
    """

    position: int
    flags: int
    mode: int
    size: int
    has_holes: bool


@dataclass(slots=True)
class Before:
    """What a step's footprint depends on beyond its walks and its result.

    Attributes:
        opened: Open files by the name of the argument they were given as.
        locks: Locks that the call may change or end.
        released: Shared open files that the call lets go.
        climbs: For a rename of directories: the parent of the old name and all folders
            above it, then the same for the new name.
        place: For what tells where a folder is: the folder and all folders above it.
        names: For the same: the name that each of them but the last has in the next.
    """

    opened: dict[str, Opened] = field(default_factory=dict)
    locks: tuple[Lock, ...] = ()
    released: tuple[OpenFile, ...] = ()
    climbs: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())
    place: tuple[str, ...] = ()
    names: tuple[str, ...] = ()


class Scene(NamedTuple):
    """A call that is about to be made, and by whom.

    Attributes:
        call: The decoded call.
        process: Id of the process.
        walks: What each of its path arguments means, in order.
        files: What its descriptors lead to, by the name of the argument.
        held: All descriptors of the process that lead into the sandbox.
        inodes: Names of the inodes.
    """

    call: Call
    process: int
    walks: Sequence[Walk]
    files: Mapping[str, OpenFile]
    held: Mapping[int, OpenFile]
    inodes: Names


def look(scene: Scene) -> Before:
    """Look at what the footprint of a call will depend on."""
    before = Before()
    fill = _LOOKS.get(scene.call.row.kind)
    if fill is not None:
        fill(scene, before)
    return before


def look_at_end(process: int, held: Mapping[int, OpenFile]) -> Before:
    """Look at what the footprint of a process's end will depend on."""
    before = Before()
    _let_go(process, held, tuple(held), before)
    return before


def is_folder(walk: Walk) -> bool:
    """Say whether a walk found a directory."""
    return walk.status is not None and stat.S_ISDIR(walk.status.st_mode)


def _open_files(scene: Scene, before: Before) -> None:
    for argument in scene.files:
        number = scene.call.number(argument)
        status = os.stat(f"/proc/{scene.process}/fd/{number}")
        position, flags = fdinfo.state(scene.process, number)
        has_holes = status.st_blocks * _BLOCK < status.st_size
        opened = Opened(position, flags, status.st_mode, status.st_size, has_holes)
        before.opened[argument] = opened


def _locks_of_file(scene: Scene, before: Before) -> None:
    _open_files(scene, before)
    file = scene.files.get("fd")
    if file is None:
        return
    if scene.call.row.kind is Kind.FLOCK:
        related = [scene.call.number("fd")]
    else:
        related = [n for n, held in scene.held.items() if held.target == file.target]
    before.locks = _locks(scene.process, scene.held, related)


def _closing(scene: Scene, before: Before) -> None:
    call = scene.call
    if call.row.index("last") is None:
        closed = [call.number("fd")]
    elif call.number("flags") & _CLOSE_RANGE_CLOEXEC:
        return
    else:
        first, last = call.number("fd") & 0xFFFFFFFF, call.number("last")
        closed = [number for number in scene.held if first <= number <= last]
    _let_go(scene.process, scene.held, closed, before)


def _replacing(scene: Scene, before: Before) -> None:
    call = scene.call
    if call.row.index("newfd") is not None:
        number = call.number("newfd")
        if number != call.number("oldfd"):
            _let_go(scene.process, scene.held, [number], before)


def _executing(scene: Scene, before: Before) -> None:
    closed = [
        number
        for number in scene.held
        if fdinfo.state(scene.process, number)[1] & os.O_CLOEXEC
    ]
    _let_go(scene.process, scene.held, closed, before)


def _let_go(
    process: int,
    held: Mapping[int, OpenFile],
    closed: Sequence[int],
    before: Before,
) -> None:
    """Find what the closing of some descriptors of a process ends."""
    if not any(file.locked or file.shared for file in held.values()):
        return
    kept = {file for number, file in held.items() if number not in closed}
    gone = {number: held[number] for number in closed if number in held}
    before.released = tuple(
        sorted(
            {f for f in gone.values() if f.shared and f not in kept},
            key=lambda file: file.name,
        )
    )
    inodes = {file.target for file in gone.values()}
    related = [n for n, file in held.items() if file.target in inodes and file.locked]
    # Closing any descriptor of a file ends all locks that the process has on it by
    # fcntl(2); the others end with the last descriptor of their open file.
    before.locks = tuple(
        lock
        for number in related
        for lock in fdinfo.locks(process, number, held[number].target)
        if lock.type == "POSIX" or held[number] not in kept
    )


def _locks(
    process: int, held: Mapping[int, OpenFile], numbers: Sequence[int]
) -> tuple[Lock, ...]:
    found = [fdinfo.locks(process, n, held[n].target) for n in numbers]
    return tuple(dict.fromkeys(lock for locks in found for lock in locks))


def _renaming(scene: Scene, before: Before) -> None:
    if len(scene.walks) < 2:  # noqa: PLR2004  a path could not be read
        return
    old, new = scene.walks
    if (
        old.parent is not None
        and new.parent is not None
        and old.parent != new.parent
        and (is_folder(old) or is_folder(new))
    ):
        before.climbs = (
            _climb(scene.inodes, old.location.rpartition("/")[0]),
            _climb(scene.inodes, new.location.rpartition("/")[0]),
        )


def _working_directory(scene: Scene, before: Before) -> None:
    _place(scene, f"/proc/{scene.process}/cwd", before)


def _link_text(scene: Scene, before: Before) -> None:
    (walk,) = scene.walks or (None,)
    # Only a link of /proc leads to a folder without a name of its own.
    if walk is not None and not walk.entries and is_folder(walk):
        _place(scene, walk.location, before)


def _place(scene: Scene, link: str, before: Before) -> None:
    """Find where the folder is that a link of /proc leads to."""
    before.place = _climb(scene.inodes, link)
    if before.place:
        parts = os.readlink(link).removesuffix(_DELETED).split("/")
        before.names = tuple(parts[: -len(before.place) : -1])


def _climb(inodes: Names, folder: str) -> tuple[str, ...]:
    """Return the name of a folder and of all above it that are in the sandbox."""
    found: list[str] = []
    while (name := inodes.find(os.stat(folder))) is not None:
        found.append(name)
        folder += "/.."
    return tuple(found)


_LOOKS: Final[dict[Kind, Callable[[Scene, Before], None]]] = {
    Kind.READ: _open_files,
    Kind.WRITE: _open_files,
    Kind.STAT: _open_files,
    Kind.CHMOD: _open_files,
    Kind.CHOWN: _open_files,
    Kind.SETXATTR: _open_files,
    Kind.TRUNCATE: _open_files,
    Kind.ALLOCATE: _open_files,
    Kind.COPY: _open_files,
    Kind.LISTING: _open_files,
    Kind.FLOCK: _locks_of_file,
    Kind.LOCK: _locks_of_file,
    Kind.CLOSE: _closing,
    Kind.DUP: _replacing,
    Kind.EXEC: _executing,
    Kind.RENAME: _renaming,
    Kind.GETCWD: _working_directory,
    Kind.READLINK: _link_text,
}
