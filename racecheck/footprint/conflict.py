"""Whether two steps of different actors depend on each other.

They do if one of them changed what the other read, or if both changed the same thing
and not in the same way. Otherwise they can be taken in either order: each gives the
same result, has the same footprint, and the box is the same afterwards.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from racecheck.model.footprint import EXCLUSIVE, Resource

if TYPE_CHECKING:
    from collections.abc import Iterator

    from racecheck.model import Footprint, Write
    from racecheck.model.footprint import Index


def conflicts(first: Footprint, second: Footprint) -> bool:
    """Say whether two footprints of different actors conflict."""
    one, other = first.index, second.index
    if not (
        one.exclusive.isdisjoint(other.touched)
        and other.exclusive.isdisjoint(one.touched)
        and (not one.labelled or other.reads.isdisjoint(one.labelled))
        and (not other.labelled or one.reads.isdisjoint(other.labelled))
    ):
        return True
    if one.labelled and other.labelled:
        for resource, label in one.labelled.items():
            if other.labelled.get(resource, label) != label:
                return True
    # Ranges need not be equal to have something in common.
    return bool(one.write_ranges or other.write_ranges) and _overlap(one, other)


def dependence(first: Footprint, second: Footprint) -> tuple[Resource, ...]:
    """Return what two footprints conflict on, in order, ranges cut to what they share.

    It is empty exactly if they do not conflict.
    """
    return tuple(sorted(set(_shared(first, second))))


def _overlap(one: Index, other: Index) -> bool:
    for ours in one.write_ranges:
        for resource in other.read_ranges:
            if _meet(ours.resource, resource):
                return True
        for theirs in other.write_ranges:
            if _clash(ours, theirs):
                return True
    for theirs in other.write_ranges:
        for resource in one.read_ranges:
            if _meet(theirs.resource, resource):
                return True
    return False


def _meet(one: Resource, other: Resource) -> bool:
    return one == other or (
        one.end > other.start
        and other.end > one.start
        and one.object == other.object
        and one.kind == other.kind
    )


def _clash(ours: Write, theirs: Write) -> bool:
    return (ours.label != theirs.label or ours.label == EXCLUSIVE) and _meet(
        ours.resource, theirs.resource
    )


def _shared(first: Footprint, second: Footprint) -> Iterator[Resource]:
    for one, other in ((first, second), (second, first)):
        for write in one.writes:
            for read in other.reads:
                if _meet(write.resource, read):
                    yield _common(write.resource, read)
    for ours in first.writes:
        for theirs in second.writes:
            if _clash(ours, theirs):
                yield _common(ours.resource, theirs.resource)


def _common(one: Resource, other: Resource) -> Resource:
    if one == other:
        return one
    start, end = max(one.start, other.start), min(one.end, other.end)
    return Resource(one.kind, one.object, one.name, start, end)
