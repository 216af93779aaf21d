"""The files of a simulated box as invariants see them, with what answers depend on."""

from __future__ import annotations

import glob
from typing import TYPE_CHECKING, Any

from racecheck.engine.folder_view import FolderView
from racecheck.model import Place, Resource
from racecheck.simulated.footprints import WHOLE
from racecheck.simulated.interception import originals

if TYPE_CHECKING:
    from collections.abc import Sequence
    from collections.abc import Set as AbstractSet

    from racecheck.simulated.footprints import Footprints, Walk
    from racecheck.simulated.stage import Stage


class _Calls:
    """The calls of pyfakefs that looking takes, none of them a step."""

    O_RDONLY = 0
    O_NONBLOCK = 0

    def __init__(self, system: Any) -> None:
        self._system = system

    def __getattr__(self, name: str) -> Any:
        original = originals[name]
        return lambda *args: original(self._system, *args)


class SimulatedView:
    """A view of the simulated box; see `View`.

    Attributes:
        meant: See `View.meant`.
        places: See `View.places`.
        seen: See `View.seen`.
    """

    def __init__(self, stage: Stage, footprints: Footprints) -> None:
        self.meant: Sequence[str] = ()
        self.places: Sequence[Place] = ()
        self.seen: AbstractSet[Resource] = set()
        self._stage = stage
        self._footprints = footprints
        self._found: set[Resource] = set()
        box = stage.box_path.replace(stage.separator, "/")
        self._view = FolderView(box, _Calls(stage.system), identify=self._identify)

    def went(self, walks: Sequence[Walk]) -> None:
        """Take note of where the paths of the next step lead."""
        stage = self._stage
        self.meant = [
            stage.name_of(walk.file) if walk.file is not None else "" for walk in walks
        ]
        self.places = [self._place(walk) for walk in walks]

    def _place(self, walk: Walk) -> Place:
        box = self._footprints.walk(self._stage.box_path, follow=True).path
        path = walk.path
        if path == box:
            inside = "."
        elif path.startswith(f"{box}{self._stage.separator}"):
            inside = path[len(box) + 1 :].replace(self._stage.separator, "/")
        else:
            inside = ""
        if walk.name is None or not inside:
            return Place("", "", inside)
        return Place(walk.name.object, walk.name.name, inside)

    def forget_seen(self) -> None:
        """See `View.forget_seen`."""
        self._found = set()
        self.seen = self._found

    def read(self, path: str) -> bytes | None:
        """See `View.read`."""
        with self._stage.looking():
            self._note(path, follow=True, data=True)
            return self._view.read(path)

    def readlink(self, path: str) -> str | None:
        """See `View.readlink`."""
        with self._stage.looking():
            self._note(path, follow=False)
            return self._view.readlink(path)

    def exists(self, path: str) -> bool:
        """See `View.exists`."""
        with self._stage.looking():
            self._note(path, follow=False)
            return self._view.exists(path)

    def maker(self, path: str) -> str:
        """See `View.maker`."""
        with self._stage.looking():
            return self._view.maker(path)

    def identity(self, path: str) -> str:
        """See `View.identity`."""
        with self._stage.looking():
            self._note(path, follow=False)
            return self._view.identity(path)

    def glob(self, pattern: str) -> tuple[str, ...]:
        """See `View.glob`."""
        with self._stage.looking():
            folder, _, _ = pattern.rpartition("/")
            if glob.has_magic(folder):
                self._note_all(folder.split("*", 1)[0].rpartition("/")[0] or ".")
            else:
                self._note(folder or ".", follow=True, listing=True)
            return self._view.glob(pattern)

    def tree(self, path: str) -> dict[str, str]:
        """See `View.tree`."""
        with self._stage.looking():
            self._note_all(path)
            return self._view.tree(path)

    def _note_all(self, path: str) -> None:
        self._note(path, follow=True, listing=True)
        for each in self._view.tree(path):
            self._note(each, follow=False, data=True, listing=True)
            self._note(each, follow=True, data=True)

    def _note(
        self, path: str, *, follow: bool, data: bool = False, listing: bool = False
    ) -> None:
        stage = self._stage
        whole = stage.join(stage.box_path, *path.split("/"))
        walk = self._footprints.walk(whole, follow=follow)
        self._found.update(walk.entries)
        if walk.file is None:
            return
        name = stage.name_of(walk.file)
        if data:
            self._found.add(Resource("data", name, end=WHOLE))
            self._found.add(Resource("size", name))
            self._found.add(Resource("attributes", name))
        if listing:
            self._found.add(Resource("membership", name))

    def _identify(self, path: str) -> str:
        stage = self._stage
        whole = stage.join(stage.box_path, *path.split("/"))
        walk = self._footprints.walk(whole, follow=False)
        return "" if walk.file is None else stage.name_of(walk.file)
