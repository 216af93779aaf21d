"""What a step read and changed: the data that the conflict relation is about."""

from __future__ import annotations

import msgspec


class Resource(msgspec.Struct, frozen=True, array_like=True, order=True):
    """Something two steps can both touch.

    Objects are named by the step that created them (`serve-1#3`) or by their path at
    the start (`/head.img`), never by inode number, so that names mean the same in
    every execution.

    Attributes:
        kind: One of `entry`, `membership`, `parent`, `alive`, `links`, `attributes`,
            `size`, `data`, `lock`, `offset`, `references`, `times`, `invariant`.
        object: Identity of the directory, inode or open file description.
        name: Name of the entry within its directory, for `entry` only.
        start: First byte, for `data` and byte-range locks.
        end: Byte after the last one, for `data` and byte-range locks.
    """

    kind: str
    object: str
    name: str = ""
    start: int = 0
    end: int = 0

    def __str__(self) -> str:
        """Return it as reports show it."""
        if self.kind == "entry":
            return f"name {self.name!r} in {self.object}"
        if self.kind == "data":
            return f"bytes {self.start}-{self.end} of {self.object}"
        return f"{self.kind} of {self.object}"


class Write(msgspec.Struct, frozen=True, array_like=True, order=True):
    """A change of one resource.

    Attributes:
        resource: What was changed.
        label: Changes with equal labels commute; `-` commutes with nothing.
    """

    resource: Resource
    label: str = "-"


class Footprint(msgspec.Struct, frozen=True, array_like=True):
    """All that a step's result and effect depended on, and all that it changed."""

    reads: tuple[Resource, ...] = ()
    writes: tuple[Write, ...] = ()


EMPTY = Footprint()
