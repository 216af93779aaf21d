"""What a step read and changed, by its kind and its outcome.

`footprint` is the entry point, `ending` its counterpart for the end of a process. The
relation itself, with its reasons, is in `docs/conflicts.md`; here each kind of call has
one function, in the module of its subject. A footprint is right if the step's result,
its changes and the footprint itself depend on nothing but what it read.
"""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING, Final, NamedTuple

from racecheck.footprint import contents, entries, locks, metadata
from racecheck.footprint.before import look_at_end
from racecheck.footprint.draft import Draft
from racecheck.model import EMPTY, Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from racecheck.footprint.before import Before, Scene
    from racecheck.footprint.objects import OpenFile
    from racecheck.model import Footprint

    Rule = Callable[[Draft, Scene, Before, int], None]


class Stamps(NamedTuple):
    """Times that a step gave to inodes that were there before.

    Attributes:
        inodes: Their names, and whether each had another time before.
        now: The time given.
        moved: Whether the clock has moved since the start of the execution.
    """

    inodes: Mapping[str, bool]
    now: int
    moved: bool


def footprint(
    scene: Scene,
    before: Before,
    result: int,
    stamps: Stamps | None = None,
    *,
    with_entries: bool = False,
) -> Footprint:
    """Return what a call read and changed.

    Args:
        scene: The call, with its walks as they were just before it.
        before: What `look` said just before it.
        result: What it returned; a negative errno if it failed.
        stamps: Times that it gave.
        with_entries: Whether lookups that find nothing are noted by their entries too,
            for people: then a step can depend on more than it has to.
    """
    draft = Draft(with_entries=with_entries)
    if result == -errno.EFAULT:
        _fault(draft, scene)
    else:
        for rule in _RULES[scene.call.row.kind]:
            rule(draft, scene, before, result)
    if stamps is not None:
        _stamp(draft, stamps)
    return draft.build()


def _stamp(draft: Draft, stamps: Stamps) -> None:
    for inode, changed in stamps.inodes.items():
        if not stamps.moved:
            # All files still have this time, unless somebody gave them another one. So
            # nothing is changed as a rule, and `stat` is independent of most steps.
            draft.read("times", inode)
        if stamps.moved or changed:
            draft.write("times", inode, str(stamps.now))


def _fault(draft: Draft, scene: Scene) -> None:
    """Note what a call can have read before it came upon a bad address.

    Paths that could not be read have no walk.
    """
    for walk in scene.walks:
        draft.walk(walk)
    for file in scene.files.values():
        # At the end of a file nothing is copied, and no address is bad.
        draft.read("size", file.target)


def ending(process: int, held: Mapping[int, OpenFile]) -> Footprint:
    """Return what the end of a process will change; to be asked while it lives.

    Args:
        process: Id of the process.
        held: Its descriptors that lead into the sandbox.
    """
    if not any(file.locked or file.shared for file in held.values()):
        return EMPTY
    draft = Draft()
    locks.let_go(draft, look_at_end(process, held))
    return draft.build()


_RULES: Final[dict[Kind, tuple[Rule, ...]]] = {
    Kind.OPEN: (entries.open_,),
    Kind.READ: (contents.read,),
    Kind.WRITE: (contents.write,),
    Kind.CLOSE: (locks.close,),
    Kind.SEEK: (contents.seek,),
    Kind.DUP: (locks.close,),
    Kind.RENAME: (entries.rename,),
    Kind.LINK: (entries.link,),
    Kind.SYMLINK: (entries.make,),
    Kind.UNLINK: (entries.unlink,),
    Kind.RMDIR: (entries.rmdir,),
    Kind.MKDIR: (entries.make,),
    Kind.MKNOD: (entries.make,),
    Kind.STAT: (metadata.status,),
    Kind.ACCESS: (metadata.look_up,),
    Kind.READLINK: (metadata.link_text,),
    Kind.LISTING: (contents.listing,),
    Kind.TRUNCATE: (contents.truncate,),
    Kind.ALLOCATE: (contents.allocate,),
    Kind.SYNC: (),
    Kind.CHMOD: (metadata.change,),
    Kind.CHOWN: (metadata.change,),
    Kind.UTIMES: (metadata.set_times,),
    Kind.GETXATTR: (metadata.look_up,),
    Kind.SETXATTR: (metadata.set_attribute,),
    Kind.COPY: (contents.copy,),
    Kind.FLOCK: (locks.flock,),
    Kind.LOCK: (locks.lock,),
    Kind.CHDIR: (metadata.look_up,),
    Kind.GETCWD: (metadata.working_directory,),
    Kind.EXEC: (contents.execute, locks.close),
    Kind.MAP: (contents.mapping,),
    # Whoever takes these steps asks for `ending` where it is due.
    Kind.RETURN: (),
    Kind.EXIT: (),
    Kind.CRASH: (),
    # Flags of a descriptor or of an open file, and hints.
    Kind.OTHER: (),
}
