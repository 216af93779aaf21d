"""A footprint while it is being put together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from racecheck.model import EMPTY, Footprint, Resource, Write
from racecheck.model.footprint import EXCLUSIVE

if TYPE_CHECKING:
    from racecheck.footprint.walk import Walk

NAMES: Final = "m"
"""Label of a change of a folder's names: others may change at the same time."""
COUNT: Final = "l"
"""Label of one more or one less, by a step that does not look at the count."""
EMPTIED: Final = "t0"
"""Label of a truncation to nothing, which is the same done twice."""
SHARED: Final = "sh"
"""Label of taking or letting go a shared lock."""


class Draft:
    """The reads and writes of one step, each once and in the order they were noted.

    Attributes:
        with_entries: Whether lookups that find nothing are noted by their entries too.
    """

    __slots__ = ("_reads", "_writes", "with_entries")

    def __init__(self, *, with_entries: bool = False) -> None:
        self.with_entries = with_entries
        self._reads: dict[Resource, None] = {}
        self._writes: dict[Resource, str] = {}

    def read(
        self, kind: str, what: str, *, name: str = "", start: int = 0, end: int = 0
    ) -> None:
        """Note something that the step's result, effect or footprint depended on."""
        self._reads[Resource(kind, what, name, start, end)] = None

    def write(
        self,
        kind: str,
        what: str,
        label: str = EXCLUSIVE,
        *,
        name: str = "",
        start: int = 0,
        end: int = 0,
    ) -> None:
        """Note a change; a second one of the same thing makes it exclusive."""
        resource = Resource(kind, what, name, start, end)
        known = self._writes.get(resource, label)
        self._writes[resource] = label if known == label else EXCLUSIVE

    def walk(self, walk: Walk, *, last: bool = True) -> None:
        """Note what a lookup depended on.

        Args:
            walk: The lookup.
            last: Whether the call looked at the entry that the path ends with; it did
                at everything before.
        """
        for folder in walk.folders:
            self.read("attributes", folder)
        for folder in walk.upward:
            self.read("parent", folder)
        entries = walk.entries
        for folder, name in entries if last or not walk.reached else entries[:-1]:
            self.read("entry", folder, name=name)

    def build(self) -> Footprint:
        """Return the footprint."""
        if not self._reads and not self._writes:
            return EMPTY
        # Whatever conflicts with a read conflicts with an exclusive change as well.
        covered = self._writes
        return Footprint(
            tuple(read for read in self._reads if covered.get(read) != EXCLUSIVE),
            tuple(Write(resource, label) for resource, label in covered.items()),
        )


def merge(*footprints: Footprint) -> Footprint:
    """Return the footprint of several things done as one step."""
    draft = Draft()
    for footprint in footprints:
        for read in footprint.reads:
            draft.read(
                read.kind, read.object, name=read.name, start=read.start, end=read.end
            )
        for change in footprint.writes:
            it = change.resource
            draft.write(
                it.kind,
                it.object,
                change.label,
                name=it.name,
                start=it.start,
                end=it.end,
            )
    return draft.build()
