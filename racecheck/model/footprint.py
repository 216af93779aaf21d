"""What a step read and changed: the data that the conflict relation is about."""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import msgspec

EXCLUSIVE = "-"
"""Label of a change that commutes with no other."""


class Resource(msgspec.Struct, frozen=True, array_like=True, order=True):
    """Something two steps can both touch.

    Objects are named by the step that created them (`serve-1#3`) or by their path at
    the start (`/head.img`), never by inode number, so that names mean the same in
    every execution.

    Attributes:
        kind: One of `entry`, `membership`, `parent`, `alive`, `links`, `attributes`,
            `size`, `data`, `lock`, `offset`, `references`, `times`, `order` (of the
            names in a listing that takes several calls), `waits` (for locks that
            belong to processes), `missing`, `way`, `named` (what a path leads to, for
            lookups that find nothing), `invariant`.
        object: Identity of the directory, inode or open file description.
        name: Name of the entry within its directory, for `entry`; path from the
            directory, for `missing` and `way`; name of any entry, for `named`.
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
        if self.kind in ("missing", "way", "named"):
            return f"what {self.name!r} leads to in {self.object}"
        if self.kind == "data":
            return f"bytes {self.start}-{self.end} of {self.object}"
        return f"{self.kind} of {self.object}"


class Write(msgspec.Struct, frozen=True, array_like=True, order=True):
    """A change of one resource.

    Attributes:
        resource: What was changed.
        label: Changes with equal labels commute; `EXCLUSIVE` commutes with nothing.
    """

    resource: Resource
    label: str = EXCLUSIVE


class Index(NamedTuple):
    """A footprint as its conflicts are looked up.

    Attributes:
        reads: What was read.
        exclusive: What was changed in a way that commutes with nothing.
        labelled: What was changed otherwise, with the labels.
        touched: All of these.
        read_ranges: What of `reads` has a range.
        write_ranges: Changes of what has a range.
    """

    reads: frozenset[Resource]
    exclusive: frozenset[Resource]
    labelled: dict[Resource, str]
    touched: frozenset[Resource]
    read_ranges: tuple[Resource, ...]
    write_ranges: tuple[Write, ...]


class Footprint(msgspec.Struct, frozen=True, array_like=True, dict=True):
    """All that a step's result and effect depended on, and all that it changed."""

    reads: tuple[Resource, ...] = ()
    writes: tuple[Write, ...] = ()

    @cached_property
    def index(self) -> Index:
        """The same, for looking up: an exploration compares each pair of steps."""
        reads = frozenset(self.reads)
        exclusive = frozenset(w.resource for w in self.writes if w.label == EXCLUSIVE)
        labelled = {w.resource: w.label for w in self.writes if w.label != EXCLUSIVE}
        return Index(
            reads,
            exclusive,
            labelled,
            reads | exclusive | labelled.keys(),
            tuple(resource for resource in self.reads if resource.end),
            tuple(write for write in self.writes if write.resource.end),
        )


EMPTY = Footprint()
