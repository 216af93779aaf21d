"""What a stopped call is about: the objects that its paths and descriptors mean."""

from __future__ import annotations

import errno
import os
import stat
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Final

from racecheck.engine.descriptors import foreign
from racecheck.engine.semaphores import semaphore
from racecheck.footprint import Bounds
from racecheck.model import Kind

if TYPE_CHECKING:
    from racecheck.engine.descriptors import Descriptors
    from racecheck.engine.sandbox import Sandbox
    from racecheck.engine.semaphores import Semaphores
    from racecheck.footprint import Names, OpenFile, Resolver, Walk
    from racecheck.kernel.call import Call
    from racecheck.kernel.rows import Row
    from racecheck.model import Value

_AT_FDCWD: Final = -100
_AT_SYMLINK_NOFOLLOW: Final = 0x100
_AT_SYMLINK_FOLLOW: Final = 0x400
_O_PATH: Final = 0o10000000
RESOLVE_BENEATH: Final = 0x08
RESOLVE_IN_ROOT: Final = 0x10
RESOLVE_CACHED: Final = 0x20
"""Of openat2(2), as are the others: what is not in memory is not there."""

_LAST_LINK_STAYS: Final = frozenset(
    {
        Kind.READLINK,
        Kind.UNLINK,
        Kind.RMDIR,
        Kind.MKDIR,
        Kind.MKNOD,
        Kind.SYMLINK,
        Kind.RENAME,
    }
)
"""Kinds that act on a symbolic link at the end of a path, not on what it leads to."""

_CHANGE_OF_DATA: Final = frozenset(
    {Kind.WRITE, Kind.COPY, Kind.TRUNCATE, Kind.ALLOCATE}
)
_CHANGING: Final = frozenset(
    {
        Kind.RENAME,
        Kind.LINK,
        Kind.SYMLINK,
        Kind.UNLINK,
        Kind.RMDIR,
        Kind.MKDIR,
        Kind.MKNOD,
        Kind.TRUNCATE,
        Kind.CHMOD,
        Kind.CHOWN,
        Kind.UTIMES,
        Kind.SETXATTR,
    }
)
DEVICES: Final = frozenset(
    f"/dev/{name}" for name in ("null", "zero", "full", "tty", "random", "urandom")
)
"""Devices that actors may write to."""
_MADE_DEVICES: Final = frozenset(
    {os.makedev(0, 0), os.makedev(1, 3), os.makedev(1, 5), os.makedev(1, 7)}
)
"""Character devices that actors may make: whiteouts of overlays, which lead nowhere,
and `null`, `zero` and `full`."""

# Path arguments, each with the descriptor that it is relative to.
_PATHS: Final = (("path", "dirfd"), ("oldpath", "olddirfd"), ("newpath", "newdirfd"))
_FILES: Final = (
    ("fd", "file"),
    ("oldfd", "oldfile"),
    ("infd", "infile"),
    ("outfd", "outfile"),
)


@dataclass(slots=True)
class Pending:
    """A call that an actor is about to make.

    Attributes:
        call: The decoded call.
        args: Its arguments as traces show them.
        walks: What each of its path arguments means, in order.
        files: What its descriptors lead to, by the name of the argument.
        inside: Whether it concerns the sandbox.
        escape: What it would change outside the sandbox, or empty.
        denial: Error with which it is refused then.
        hidden: Whether it would instead run a program that cannot be looked into.
        semaphores: Names of the semaphores that it is about.
        changes: How many steps had changed the box when this was found out.
        floats: Whether a path of its begins at a folder that is not known by name.
        made: Name of the inode that it has made, once it has.
    """

    call: Call
    args: dict[str, Value]
    walks: tuple[Walk, ...] = ()
    files: dict[str, OpenFile] = field(default_factory=dict)
    inside: bool = False
    escape: str = ""
    denial: int = errno.EACCES
    hidden: bool = False
    semaphores: tuple[str, ...] = ()
    changes: int = 0
    floats: bool = False
    made: str | None = None

    def rewritten(self) -> set[str]:
        """Return the inodes whose data the call may change."""
        kind = self.call.row.kind
        if kind is Kind.OPEN and not self.call.number("flags") & os.O_TRUNC:
            return set()
        if kind is not Kind.OPEN and kind not in _CHANGE_OF_DATA:
            return set()
        found = {file.target for name, file in self.files.items() if name != "infd"}
        found.update(walk.target for walk in self.walks if walk.target)
        return found

    def crosses(self, mount: str) -> bool:
        """Say whether it would move or link a file into a mount, or out of it.

        The kernel looks at that before it looks at the names, once it has found the
        folders of both.
        """
        if self.call.row.kind not in (Kind.RENAME, Kind.LINK) or len(self.walks) != 2:  # noqa: PLR2004  from here to there
            return False
        if any(walk.error or walk.parent is None for walk in self.walks):
            return False
        within = {f"{walk.location}/".startswith(f"{mount}/") for walk in self.walks}
        return len(within) > 1

    def touched(self) -> set[str]:
        """Return the inodes that the call may change or change the entries of."""
        found = {file.target for file in self.files.values()}
        for walk in self.walks:
            if walk.parent:
                found.add(walk.parent)
            if walk.target:
                found.add(walk.target)
        return found


def follows(call: Call, argument: str) -> bool:
    """Say whether a symbolic link at the end of a path argument is followed."""
    kind = call.row.kind
    if kind is Kind.OPEN:
        flags = call.number("flags")
        exclusive = flags & os.O_CREAT and flags & os.O_EXCL
        return not (flags & os.O_NOFOLLOW or exclusive)
    if kind in _LAST_LINK_STAYS:
        return False
    if kind is Kind.LINK:
        followed = call.number("flags") & _AT_SYMLINK_FOLLOW
        return argument == "oldpath" and bool(followed)
    return not call.number("flags") & _AT_SYMLINK_NOFOLLOW


class Meanings:
    """Finds the objects that calls concern, for the processes of one execution."""

    def __init__(
        self,
        names: Names,
        resolver: Resolver,
        sandbox: Sandbox,
        semaphores: Semaphores,
    ) -> None:
        self._names = names
        self._semaphores = semaphores
        self._resolver = resolver
        self._sandbox = sandbox

    def of(self, call: Call, process: int, descriptors: Descriptors) -> Pending:
        """Return what a call would mean if it were made now, while all stand still."""
        args = call.args.copy()
        pending = Pending(call, args)
        row = call.row
        paths, numbers, special = _plan(row)
        for argument, relative in paths:
            self._look_up(pending, argument, relative, process, descriptors)
        for argument, shown in numbers:
            self._find(pending, argument, shown, process, descriptors)
        if special:
            self._look_closer(pending, descriptors)
        return pending

    def _look_closer(self, pending: Pending, descriptors: Descriptors) -> None:
        """Look at what only some calls have: ranges, second descriptors, targets."""
        call = pending.call
        row = call.row
        if row.kind in (Kind.GETCWD, Kind.EXIT):
            pending.inside = True
        elif row.kind is Kind.CLOSE and row.index("last") is not None:
            first, last = call.number("fd"), call.number("last")
            pending.inside = any(first <= n <= last for n in descriptors.numbers())
        elif row.kind is Kind.DUP and row.index("newfd") is not None:
            pending.inside |= descriptors.find(call.number("newfd")) is not None
        elif row.kind is Kind.MKNOD and (device := _leads_out(call)):
            # A name in the box for what is outside of it.
            pending.escape, pending.denial = device, errno.EPERM
        elif row.kind is Kind.EXEC and pending.walks:
            place = pending.walks[-1].location
            if os.access(place, os.X_OK) and not os.access(place, os.R_OK):
                # The kernel lets nobody look into it, but those with privilege.
                pending.escape, pending.hidden = (
                    str(pending.args.get("path") or place),
                    True,
                )
        target = pending.args.get("target")
        if isinstance(target, str):
            pending.args["target"] = self._sandbox.display(target)

    def _look_up(
        self,
        pending: Pending,
        argument: str,
        relative: str,
        process: int,
        descriptors: Descriptors,
    ) -> None:
        """Find what a path argument leads to."""
        call = pending.call
        path = call.args.get(argument)
        if path is None and not call.bad_address:
            # Some calls take no path for the descriptor itself.
            path = ""
        if not isinstance(path, str):
            return
        dirfd = call.number(relative)
        base = _base(process, dirfd)
        bounds = self._bounds(call, base)
        if path[:1] != "/" or bounds is not Bounds.NONE:
            pending.floats = True
        if bounds is Bounds.ROOT and not self._is_inside(base):
            # Paths would mean something else there, which is not looked up.
            pending.escape = path
            return
        if path == "":
            # With AT_EMPTY_PATH the descriptor itself is meant; without, the kernel
            # answers ENOENT, which reads nothing.
            walk = self._resolver.object_at(self._names, base)
            file = descriptors.find(dirfd)
            if file is not None:
                pending.args["file"] = file.path
        else:
            walk = self._resolver.walk(
                self._names,
                process,
                base,
                path,
                follow=follows(call, argument),
                bounds=bounds,
            )
            pending.args[argument] = _shown(path, base, self._sandbox)
        pending.walks += (walk,)
        if walk.inside:
            pending.inside = True
        if not walk.escaped or walk.error:
            return
        pending.semaphores += semaphore(walk.escaped)
        if not _would_change(call, argument):
            return
        real = _real(walk.escaped)
        if real in DEVICES and call.row.kind is Kind.OPEN:
            return
        inside = pending.inside
        if not self._semaphores.allows(call, argument, real, inside=inside):
            pending.escape = path or f"descriptor {dirfd}"

    def _bounds(self, call: Call, base: str) -> Bounds:
        """Return whether a lookup may leave the folder that it starts from."""
        how = call.read.get("resolve", 0)
        if how & RESOLVE_IN_ROOT:
            return Bounds.ROOT
        beneath = how & RESOLVE_BENEATH and self._is_inside(base)
        return Bounds.BENEATH if beneath else Bounds.NONE

    def _is_inside(self, base: str) -> bool:
        return self._resolver.object_at(self._names, base).inside

    def _find(
        self,
        pending: Pending,
        argument: str,
        shown: str,
        process: int,
        descriptors: Descriptors,
    ) -> None:
        """Find what a descriptor argument leads to."""
        number = pending.call.number(argument)
        file = descriptors.find(number)
        if file is not None:
            pending.files[argument] = file
            pending.inside = True
            pending.args[shown] = file.path
        elif number >= 0 and not foreign(self._names, process, number):
            pending.inside = True
            pending.escape = f"descriptor {number} of unknown origin"
        elif pending.call.row.kind in _CHANGING and not pending.walks:
            pending.escape = f"descriptor {number}"


@cache
def _plan(
    row: Row,
) -> tuple[tuple[tuple[str, str], ...], tuple[tuple[str, str], ...], bool]:
    """Return which arguments are paths, each with the descriptor it starts from.

    And which are descriptors, each with the name under which its file is shown, and
    whether there is more to a call than these.
    """
    paths = tuple(pair for pair in _PATHS if row.index(pair[0]) is not None)
    numbers = tuple(pair for pair in _FILES if row.index(pair[0]) is not None)
    more = any(row.index(name) is not None for name in ("last", "newfd", "target"))
    more = more or row.kind in (Kind.GETCWD, Kind.EXIT, Kind.MKNOD, Kind.EXEC)
    return paths, numbers, more


def _would_change(call: Call, argument: str) -> bool:
    kind = call.row.kind
    if kind is Kind.OPEN:
        flags = call.number("flags")
        if flags & _O_PATH:
            return False
        changing = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
        return bool(flags & changing)
    if kind is Kind.LINK and argument == "oldpath":
        # A second name inside for a file outside would let writes through.
        return True
    return kind in _CHANGING


def _leads_out(call: Call) -> str:
    """Return which device of the machine a call would make, or nothing."""
    mode, device = call.number("mode"), call.number("device")
    character = stat.S_ISCHR(mode)
    if (character and device in _MADE_DEVICES) or not (character or stat.S_ISBLK(mode)):
        return ""
    return f"device {os.major(device)}:{os.minor(device)}"


def _real(path: str) -> str:
    """Return where a path leads; itself where that cannot be looked at."""
    try:
        return os.path.realpath(path)
    except OSError:
        return path


def _base(process: int, dirfd: int) -> str:
    if dirfd == _AT_FDCWD:
        return f"/proc/{process}/cwd"
    return f"/proc/{process}/fd/{dirfd}"


def _shown(path: str, base: str, sandbox: Sandbox) -> str:
    if path[0] == "/":
        return sandbox.display(path)
    try:
        folder = sandbox.display(os.readlink(base))
    except OSError:
        return path
    return path if folder == "." else f"{folder}/{path}"
