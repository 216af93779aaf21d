"""What a simulated call reads and changes, as coarse as can be and never too little.

The resources are those of `racecheck.model.Resource`. Files are whole: no ranges of
bytes are told apart. A call reads every name on its way, and one that failed has
changed nothing.
"""

from __future__ import annotations

import stat
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from racecheck.model import Footprint, Kind, Resource, Write

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from racecheck.model import Value
    from racecheck.simulated.stage import Stage

WHOLE: Final = 1 << 62
"""End of the range of all bytes."""

_MOST_LINKS: Final = 40
_NAMES: Final = "names"
_SPACE: Final = Resource("size", "the disk")
_CREATES: Final = 0o100
_TRUNCATES: Final = 0o1000
_FOLLOWS: Final = frozenset(
    {
        *(Kind.OPEN, Kind.STAT, Kind.ACCESS, Kind.LISTING, Kind.CHDIR, Kind.TRUNCATE),
        *(Kind.CHMOD, Kind.UTIMES),
    }
)
_CHANGES_NAMES: Final = frozenset(
    {
        *(Kind.RENAME, Kind.UNLINK, Kind.RMDIR, Kind.MKDIR, Kind.SYMLINK, Kind.LINK),
    }
)
_CHANGES_DATA: Final = frozenset({Kind.WRITE, Kind.TRUNCATE})
_CHANGES_STATUS: Final = frozenset({Kind.CHMOD, Kind.UTIMES})


class Walk(NamedTuple):
    """The way to a path.

    Attributes:
        entries: The names on it, each with the folder that it is in.
        file: What is at its end, or None.
        name: Its own name, and the folder that it is in, if there is that.
        path: Where it ends: a path from the root without links, or empty.
    """

    entries: tuple[Resource, ...]
    file: Any
    name: Resource | None
    path: str = ""


class Touched(NamedTuple):
    """What a call is about to touch, before it is made.

    Attributes:
        walks: The ways to its paths.
        file: What its descriptor stands for, or None.
    """

    walks: tuple[Walk, ...]
    file: Any


class Footprints:
    """Works out footprints on one stage."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage

    def walk(self, path: str, *, follow: bool) -> Walk:
        """Go the way to a path, link by link.

        Args:
            path: Where to, absolute or from the working folder.
            follow: Whether to follow a link at its end.
        """
        fs = self._stage.fs
        separator = self._stage.separator
        whole = path.replace("/", separator)
        if not fs.isabs(whole):
            whole = fs.joinpaths(fs.cwd, whole)
        drive, rest = fs.splitdrive(whole)
        found: list[Resource] = []
        folders = [fs.resolve(f"{drive}{separator}")]
        names: list[str] = []
        parts = [part for part in rest.split(separator) if part not in ("", ".")]
        links = 0
        name: Resource | None = None
        while parts:
            part = parts.pop(0)
            folder = folders[-1]
            if part == "..":
                folders = folders[:-1] or folders
                names = names[:-1]
                name = None
                continue
            if not stat.S_ISDIR(folder.st_mode):
                return Walk(tuple(found), None, None)
            key = part if fs.is_case_sensitive else part.lower()
            name = Resource("entry", self._stage.name_of(folder), key)
            found.append(name)
            called, entry = _child(folder, part, is_case_sensitive=fs.is_case_sensitive)
            if entry is None:
                if parts:
                    return Walk(tuple(found), None, None)
                path = separator.join([drive, *names, part])
                return Walk(tuple(found), None, name, path)
            if stat.S_ISLNK(entry.st_mode) and (parts or follow):
                links += 1
                if links > _MOST_LINKS:
                    return Walk(tuple(found), None, None)
                target = str(entry.contents).replace("/", separator)
                if fs.isabs(target):
                    folders = folders[:1]
                    names = []
                    target = fs.splitdrive(target)[1]
                parts = [
                    each for each in target.split(separator) if each not in ("", ".")
                ] + parts
                continue
            folders.append(entry)
            names.append(called)
        path = separator.join([drive, *names])
        return Walk(tuple(found), folders[-1], name, path)

    def before(self, kind: Kind, args: dict[str, Value], *, follow: bool) -> Touched:
        """Look at what a call is about to touch.

        Args:
            kind: Kind of the call.
            args: Its arguments, paths as the actor gives them.
            follow: Whether it follows a link at the end of its path.
        """
        paths = [
            value
            for key in ("path", "oldpath", "newpath", "file")
            if isinstance(value := args.get(key), str)
        ]
        follow = follow and kind in _FOLLOWS
        walks = tuple(self.walk(path, follow=follow) for path in paths)
        return Touched(walks, self._file_of(args.get("fd")))

    def after(
        self, kind: Kind, args: dict[str, Value], touched: Touched, *, failed: bool
    ) -> Footprint:
        """Return the footprint of a call that has been made."""
        reads = {entry for walk in touched.walks for entry in walk.entries}
        writes: set[Write] = set()
        files = [walk.file for walk in touched.walks if walk.file is not None]
        if touched.file is not None:
            files.append(touched.file)
        for file in files:
            reads |= self._reads(kind, file)
        # Whoever opens a file, or renames one, can be refused for what is open.
        if self._stage.is_windows and kind in (*_CHANGES_NAMES, Kind.OPEN):
            reads |= {Resource("references", self._name(file)) for file in files}
        if self._stage.is_limited:
            reads.add(_SPACE)
        if failed:
            return _footprint(reads, writes)
        writes |= set(self._writes(kind, args, touched, files))
        return _footprint(reads, writes)

    def ending(self, files: Iterable[Any]) -> Footprint:
        """Return what closing the files of an actor changes."""
        if not self._stage.is_windows:
            return _footprint(set(), set())
        return _footprint(
            set(), {Write(Resource("references", self._name(file))) for file in files}
        )

    def _reads(self, kind: Kind, file: Any) -> set[Resource]:
        name = self._name(file)
        if kind is Kind.LISTING or kind is Kind.RMDIR:
            return {Resource("membership", name)}
        if kind in (Kind.READ, Kind.WRITE, Kind.SEEK):
            return {Resource("data", name, end=WHOLE), Resource("size", name)}
        found = {Resource("attributes", name), Resource("links", name)}
        if kind is Kind.STAT and not stat.S_ISDIR(file.st_mode):
            found |= {Resource("data", name, end=WHOLE), Resource("size", name)}
        if kind is Kind.RENAME and stat.S_ISDIR(file.st_mode):
            found.add(Resource("membership", name))
        return found

    def _writes(
        self, kind: Kind, args: dict[str, Value], touched: Touched, files: list[Any]
    ) -> Iterator[Write]:
        flags = args.get("flags")
        flags = flags if isinstance(flags, int) else 0
        made = kind is Kind.OPEN and all(walk.file is None for walk in touched.walks)
        if kind in _CHANGES_NAMES or (made and flags & _CREATES):
            for walk in touched.walks:
                if walk.name is not None and not self._is_only_named(
                    kind, walk, touched
                ):
                    yield Write(walk.name)
                    yield Write(Resource("membership", walk.name.object), _NAMES)
            for file in files:
                yield Write(Resource("links", self._name(file)))
        changes_data = kind in _CHANGES_DATA or (
            kind is Kind.OPEN and not made and flags & _TRUNCATES
        )
        for file in files:
            name = self._name(file)
            if changes_data:
                yield Write(Resource("data", name, end=WHOLE))
                yield Write(Resource("size", name))
            if kind in _CHANGES_STATUS:
                yield Write(Resource("attributes", name))
            if self._stage.is_windows and kind in (Kind.OPEN, Kind.CLOSE, Kind.DUP):
                yield Write(Resource("references", name))
        if self._stage.is_limited and (changes_data or kind in _CHANGES_NAMES):
            yield Write(_SPACE)

    def _is_only_named(self, kind: Kind, walk: Walk, touched: Touched) -> bool:
        """Say whether a path of a call is no name that the call changes."""
        return kind is Kind.LINK and walk is touched.walks[0]

    def _file_of(self, descriptor: Value) -> Any:
        if not isinstance(descriptor, int):
            return None
        try:
            return self._stage.fs.get_open_file(descriptor).get_object()
        except OSError:
            return None

    def _name(self, file: Any) -> str:
        return self._stage.name_of(file)


def _child(folder: Any, part: str, *, is_case_sensitive: bool) -> tuple[str, Any]:
    """Return what a folder has under a name, and how that is spelled there."""
    if is_case_sensitive:
        return part, folder.entries.get(part)
    for name, entry in folder.entries.items():
        if name.lower() == part.lower():
            return name, entry
    return part, None


def _footprint(reads: set[Resource], writes: set[Write]) -> Footprint:
    return Footprint(tuple(sorted(reads)), tuple(sorted(writes)))
