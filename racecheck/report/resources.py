"""What steps touch, as people call it: by path, not by inode."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from racecheck.model import Resource, Trace

_WORDS = {
    "membership": "the list of names in",
    "attributes": "the attributes of",
    "size": "the size of",
    "lock": "the lock of",
    "links": "the link count of",
    "alive": "whether there still is",
    "parent": "the parent of",
    "offset": "the file position of",
    "times": "the times of",
}


def describe_resource(trace: Trace, resource: Resource, at: int) -> str:
    """Return what a resource is, in words.

    Args:
        trace: The execution.
        resource: The resource.
        at: Index of a step that touches it; what it is called is taken from there.
    """
    name = _path(trace, resource.object, at)
    if resource.kind == "entry":
        inside = "" if name in {".", ""} else f"{name}/"
        return f"the name {inside}{resource.name}"
    if resource.kind in ("missing", "way", "named"):
        return f"the name {resource.name}"
    if resource.kind == "data":
        end = "the end" if resource.end > 1 << 40 else str(resource.end)
        return f"bytes {resource.start} to {end} of {name}"
    return f"{_WORDS.get(resource.kind, f'{resource.kind} of')} {name}"


def _path(trace: Trace, name: str, at: int) -> str:
    """Return the path that an inode had before a step, or what traces call it."""
    detail = trace.detail
    if detail is None:
        return name
    paths = {path for path, node in detail.start.items() if node.object == name}
    last = min(paths, default="")
    for moment in detail.moments[:at]:
        paths.difference_update(moment.gone)
        for path, node in moment.changed.items():
            if node.object == name:
                paths.add(path)
            else:
                paths.discard(path)
        last = min(paths, default=last)
    return last or name
