"""Footprints as short texts, for tables of what is expected."""

from __future__ import annotations

from typing import TYPE_CHECKING

from racecheck.footprint.fdinfo import FOREVER
from racecheck.model.footprint import EXCLUSIVE

if TYPE_CHECKING:
    from racecheck.model import Footprint, Resource

_LETTERS = {
    "entry": "e",
    "membership": "m",
    "parent": "p",
    "alive": "v",
    "links": "l",
    "attributes": "a",
    "size": "s",
    "data": "b",
    "lock": "k",
    "times": "t",
    "order": "n",
    "missing": "f",
}
_OF_PLACES = frozenset({"way", "named"})


def brief(footprint: Footprint) -> tuple[set[str], set[str]]:
    """Return reads and writes, without times and what all paths of the box read.

    `e(d,x)` is the entry `x` of `d`, `b(x,0-3)` are bytes 0 to 2 of `x`, and `b(x,3-)`
    those from 3 on. A label stands behind a colon. `f(.,d/x)` is that nothing is found
    at `d/x`; what else goes with places is left out (see `test_places.py`).
    """
    reads = {
        _short(read)
        for read in footprint.reads
        if read.kind != "times" and read.kind not in _OF_PLACES
    }
    writes = {
        _short(write.resource) + ("" if write.label == EXCLUSIVE else f":{write.label}")
        for write in footprint.writes
        if write.resource.kind not in _OF_PLACES | {"missing"}
    }
    return reads - {"a(.)"}, writes


def _short(resource: Resource) -> str:
    inner = resource.object
    if resource.name:
        inner += f",{resource.name}"
    if resource.end:
        end = "" if resource.end == FOREVER else resource.end
        inner += f",{resource.start}-{end}"
    return f"{_LETTERS.get(resource.kind, resource.kind)}({inner})"
