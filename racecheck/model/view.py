"""How invariants look at files, whichever engine keeps them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence
    from collections.abc import Set as AbstractSet

    from racecheck.model.footprint import Resource
    from racecheck.model.history import ActorEnd, Operation
    from racecheck.model.program import Program
    from racecheck.model.step import Step


class Place(NamedTuple):
    """Where a path of a step led, however it was spelled.

    Attributes:
        folder: Which folder it ended in, as `View.identity`; nothing if it was outside,
            or ended in a folder as such.
        name: Its name there.
        path: The same as a path relative to the box, without links on the way, `.` or
            `..`; nothing if it was outside.
    """

    folder: str
    name: str
    path: str


class View(Protocol):
    """The files of the box as they are between two steps.

    Paths are relative to the box. Nothing raises for a path that is not there: it
    gives None, as that is a thing an invariant asks about.
    """

    @property
    def seen(self) -> AbstractSet[Resource]:
        """What the answers depended on since `forget_seen`."""
        ...

    def forget_seen(self) -> None:
        """Begin to note anew what answers depend on."""
        ...

    def read(self, path: str) -> bytes | None:
        """Return what a reader that opens the path now would read."""
        ...

    def readlink(self, path: str) -> str | None:
        """Return the text of a symbolic link, or None if the path is none."""
        ...

    def exists(self, path: str) -> bool:
        """Say whether the name is there, be it a dangling link."""
        ...

    def maker(self, path: str) -> str:
        """Return the actor that made what is at a path, or nothing if none did."""
        ...

    def identity(self, path: str) -> str:
        """Return which file is at a path, however it is called; nothing if none is.

        A link at the end is not followed. Files are named by their paths at the start,
        or by the actor and the step that made them: `serve-1#3`.
        """
        ...

    @property
    def meant(self) -> Sequence[str]:
        """Which files the paths of the last step meant as it was made, in order.

        As `identity`, but for calls that follow links; nothing where none was there. Of
        a listing it is the folder.
        """
        ...

    @property
    def places(self) -> Sequence[Place]:
        """Where the paths of the last step led, in the order of `meant`."""
        ...

    def glob(self, pattern: str) -> tuple[str, ...]:
        """Return the paths that match, sorted; `*` matches within one folder."""
        ...

    def tree(self, path: str) -> dict[str, str]:
        """Return all below a folder: path to type, mode and content digest."""
        ...


class History(Protocol):
    """What has happened so far in an execution."""

    @property
    def programs(self) -> Sequence[Program]:
        """The actors, in the order of their declaration."""
        ...

    @property
    def steps(self) -> Sequence[Step]:
        """The steps so far."""
        ...

    @property
    def operations(self) -> Sequence[Operation]:
        """The operations that have ended so far, in the order of their ends."""
        ...

    @property
    def ends(self) -> Sequence[ActorEnd]:
        """The actors that have ended so far."""
        ...

    def open_files(self, actor: str) -> Sequence[str]:
        """Return which files an actor has open, each descriptor's, as identities."""
        ...

    def live(self, role: str) -> int:
        """Count the actors of a role that have started and not ended."""
        ...
