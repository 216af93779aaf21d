"""What a recording adds to a trace so that a report can show it: code, files, locks.

Explorations do without. It is taken when an execution is run again to confirm it.
"""

from __future__ import annotations

import msgspec

from racecheck.model.history import Frame


class Content(msgspec.Struct, frozen=True, array_like=True):
    """What a file held: an earlier content with one piece of it replaced.

    Attributes:
        base: Position of the earlier content in `Detail.contents`; -1 for none.
        start: First byte that differs from it.
        removed: So many bytes of the earlier one are gone from there on.
        data: What is there instead.
        length: Bytes of the file, which can be more than are kept.
    """

    base: int
    start: int
    removed: int
    data: bytes
    length: int


class Node(msgspec.Struct, frozen=True, array_like=True):
    """One name in the box, and what it leads to.

    Attributes:
        kind: `file`, `folder`, `link`, or `other`.
        mode: Its permissions.
        object: Name of the inode; two names with the same one are hard links.
        content: Position in `Detail.contents`, for files that can be read; else -1.
        target: Text of a symbolic link.
    """

    kind: str
    mode: int
    object: str
    content: int = -1
    target: str = ""


class Held(msgspec.Struct, frozen=True, array_like=True):
    """A file lock that somebody has.

    Attributes:
        lane: Task that took it.
        path: The file, as it was opened.
        type: `flock`, `POSIX` or `OFD`.
        exclusive: Whether it excludes shared ones.
        start: First byte of its range.
        end: Byte after the last one; 0 if it has no range, or no end.
        step: Index of the step at which it was taken.
    """

    lane: str
    path: str
    type: str
    exclusive: bool
    start: int
    end: int
    step: int


class Moment(msgspec.Struct, frozen=True, array_like=True):
    """One step: where in its program it was taken, and what was different after it.

    Attributes:
        stack: Position in `Detail.stacks`, or -1.
        program: Position in `Detail.programs`, or -1 if it was a function's.
        changed: The names that are new or lead to something else, with what.
        gone: The names that are gone.
        locks: All locks then held, or None if they are as before.
        printed: What actors had printed since the step before, by actor.
        waiting: Who then waited and for what, or None if that is as before.
    """

    stack: int = -1
    program: int = -1
    changed: dict[str, Node] = {}
    gone: tuple[str, ...] = ()
    locks: tuple[Held, ...] | None = None
    printed: dict[str, str] = {}
    waiting: dict[str, str] | None = None


class Detail(msgspec.Struct, frozen=True, kw_only=True):
    """What was recorded of an execution beside its steps.

    Attributes:
        moments: One a step.
        stacks: Stacks of Python functions, each as positions in `frames`, innermost
            first.
        frames: Places in the source.
        sources: Lines of the source, by file and number.
        programs: Other programs, as their command lines.
        printed: What actors had printed before the first step, by actor.
        start: The box before the first step, by path.
        contents: What files held.
        left_out: Why files or stacks are missing, or empty.
    """

    moments: tuple[Moment, ...] = ()
    stacks: tuple[tuple[int, ...], ...] = ()
    frames: tuple[Frame, ...] = ()
    sources: dict[str, dict[int, str]] = {}
    programs: tuple[str, ...] = ()
    printed: dict[str, str] = {}
    start: dict[str, Node] = {}
    contents: tuple[Content, ...] = ()
    left_out: str = ""
