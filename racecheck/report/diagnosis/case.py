"""An execution as patterns look at it: who touched which name and which bytes.

Names are compared as the entries of footprints, never by their text, and who is who
counts only as far as two actors are not one.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from racecheck.model import Kind, Verdict, lane_of, show

if TYPE_CHECKING:
    from collections.abc import Iterator

    from racecheck.model import Step, Trace

_ENDS = frozenset({Kind.RETURN, Kind.EXIT, Kind.START, Kind.WAKE, Kind.STALL})
_LOOKS = frozenset({Kind.STAT, Kind.ACCESS, Kind.READLINK, Kind.LISTING})
_FILLS = frozenset({Kind.OPEN, Kind.WRITE, Kind.TRUNCATE, Kind.ALLOCATE, Kind.COPY})
_MOVES = frozenset({Kind.RENAME, Kind.LINK})


class Name(NamedTuple):
    """A name in a folder, as footprints know it."""

    folder: str
    text: str


@dataclass(frozen=True)
class Case:
    """An execution, with what it broke.

    Attributes:
        trace: The execution.
        invariant: The invariant that it breaks.
    """

    trace: Trace
    invariant: str

    @cached_property
    def at(self) -> int:
        """Index of the step after which the invariant was broken; else the last."""
        steps = [
            each.step
            for each in self.trace.violations
            if self._is_meant(each.invariant)
        ]
        if steps and steps[0] is not None:
            return steps[0]
        return len(self.trace.steps) - 1

    @cached_property
    def actor(self) -> str | None:
        """Whose operation it was that broke it, if it was anybody's."""
        for each in self.trace.violations:
            if self._is_meant(each.invariant):
                return each.actor
        return None

    @cached_property
    def holds(self) -> bool:
        """Whether there is a violation to explain, with steps that led to it."""
        return (
            bool(self.trace.steps)
            and self.trace.verdict is not Verdict.DEADLOCKED
            and any(self._is_meant(each.invariant) for each in self.trace.violations)
        )

    def _is_meant(self, invariant: str) -> bool:
        return invariant == self.invariant

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        """The calls up to the violation."""
        return tuple(
            step for step in self.trace.steps[: self.at + 1] if step.kind not in _ENDS
        )

    @cached_property
    def later(self) -> tuple[Step, ...]:
        """The calls after it."""
        return tuple(
            step for step in self.trace.steps[self.at + 1 :] if step.kind not in _ENDS
        )

    @cached_property
    def calls(self) -> tuple[Step, ...]:
        """All calls."""
        return self.steps + self.later

    @cached_property
    def failed(self) -> bool:
        """Whether what broke is that an operation did not succeed."""
        return any(
            each.actor == self.actor and each.last == self.at and not each.succeeded
            for each in self.trace.operations
        )

    @cached_property
    def acts(self) -> tuple[Step, ...]:
        """Steps that may be the one that broke it, the likeliest first.

        If an operation failed these are its calls that failed. Else it is the step
        itself, and what its actor had changed before.
        """
        own = [
            step
            for step in reversed(self.steps)
            if self.actor is None or step.actor == self.actor
        ]
        if self.failed:
            return tuple(step for step in own if step.failed and step.fault is None)
        last = self.trace.steps[self.at]
        if last.kind not in _ENDS:
            return (last,)
        return tuple(step for step in own if step.may_change)

    @cached_property
    def own(self) -> tuple[Step, ...]:
        """Steps of the operation whose return broke it; none if it was another step."""
        end = self.trace.steps[self.at]
        if end.kind is not Kind.RETURN:
            return ()
        return tuple(
            step
            for step in self.before(end)
            if (step.actor, step.operation) == (end.actor, end.operation)
        )

    @cached_property
    def at_end(self) -> bool:
        """Whether it was only found broken once all had ended."""
        return any(
            each.step is None
            for each in self.trace.violations
            if self._is_meant(each.invariant)
        )

    @cached_property
    def returns(self) -> bool:
        """Whether it was found broken as an operation of somebody returned."""
        return self.actor is not None and self.trace.steps[self.at].kind in _ENDS

    @cached_property
    def blamed(self) -> frozenset[int]:
        """The indices of `acts`."""
        return frozenset(step.index for step in self.acts)

    def before(self, step: Step) -> tuple[Step, ...]:
        """Return the calls before one."""
        return self.calls[: bisect_left(self._indices, step.index)]

    def after(self, step: Step) -> tuple[Step, ...]:
        """Return the calls after one."""
        return self.calls[bisect_right(self._indices, step.index) :]

    @cached_property
    def _indices(self) -> list[int]:
        return [step.index for step in self.calls]

    def lane(self, step: Step) -> str:
        """Return who took a step, as reports call them."""
        return lane_of(step.actor, step.task)

    def between(self, first: Step, last: Step) -> Iterator[Step]:
        """Yield the calls between two, not counting these."""
        start = bisect_right(self._indices, first.index)
        stop = bisect_left(self._indices, last.index)
        return iter(self.calls[start:stop])

    def linked_at(self, name: Name, step: Step) -> Step | bool:
        """Return who made the symbolic link that a name is before a step.

        Returns:
            The step that made it, True if it was there from the start, False if the
            name is none.
        """
        found: Step | bool = name in self._links
        for each in self.before(step):
            if name in bound(each):
                found = each if each.kind is Kind.SYMLINK else False
            elif name in removed(each):
                found = False
        return found

    @cached_property
    def _links(self) -> frozenset[Name]:
        """The names that are symbolic links at the start."""
        if self.trace.detail is None:
            return frozenset()
        start = self.trace.detail.start
        found = set()
        for path, node in start.items():
            if node.kind == "link":
                folder, _, text = path.rpartition("/")
                inside = start[folder].object if folder in start else "."
                found.add(Name(inside, text))
        return frozenset(found)


def path_of(step: Step, which: str = "path") -> str:
    """Return a path of a call, as it was given."""
    value = step.args.get(which)
    return show(value) if value else ""


def name_of(step: Step, which: str = "path") -> Name | None:
    """Return the name that a path of a call ends in, or None if it has none.

    A path that leads through links ends, for this, at its own last component.
    """
    text = path_of(step, which).rstrip("/").rpartition("/")[2]
    if not text:
        return None
    for resource in (
        *(write.resource for write in step.footprint.writes),
        *step.footprint.reads,
    ):
        if resource.kind == "entry" and resource.name == text:
            return Name(resource.object, text)
    return None


def entries(step: Step) -> frozenset[Name]:
    """Return the names that a step looked up, or changed."""
    return changed(step) | {
        Name(resource.object, resource.name)
        for resource in step.footprint.reads
        if resource.kind == "entry"
    }


def changed(step: Step) -> frozenset[Name]:
    """Return the names that a step made, removed or gave to something else."""
    return frozenset(
        Name(write.resource.object, write.resource.name)
        for write in step.footprint.writes
        if write.resource.kind == "entry"
    )


def bound(step: Step) -> frozenset[Name]:
    """Return the names that mean something new after a step."""
    if step.kind in _MOVES:
        target = name_of(step, "newpath")
        return changed(step) & {target} if target else frozenset()
    if step.kind in (Kind.UNLINK, Kind.RMDIR):
        return frozenset()
    return changed(step)


def removed(step: Step) -> frozenset[Name]:
    """Return the names that mean nothing after a step."""
    if step.kind is Kind.RENAME:
        source = name_of(step, "oldpath")
        return changed(step) & {source} if source else frozenset()
    return changed(step) if step.kind in (Kind.UNLINK, Kind.RMDIR) else frozenset()


def sees(step: Step, name: Name) -> bool:
    """Say whether a step looked at a name, or at the list that it stands in."""
    for resource in step.footprint.reads:
        if resource.kind == "entry" and (resource.object, resource.name) == name:
            return True
        if resource.kind == "membership" and resource.object == name.folder:
            return step.kind is Kind.LISTING
    return False


def looks(step: Step) -> bool:
    """Say whether a step only looks: it opens for reading, or asks what is there."""
    return step.kind in _LOOKS or (step.kind is Kind.OPEN and not opens_to_write(step))


def opens_to_write(step: Step) -> bool:
    """Say whether a step opens, or would have opened, a file to write it."""
    flags = show(step.args.get("flags"))
    return step.kind is Kind.OPEN and any(
        flag in flags for flag in ("O_WRONLY", "O_RDWR", "O_CREAT")
    )


def opens_to_read(step: Step) -> bool:
    """Say whether a step opened a file, and no folder, to read it."""
    return (
        step.kind is Kind.OPEN
        and not step.failed
        and not opens_to_write(step)
        and "O_DIRECTORY" not in show(step.args.get("flags"))
    )


def makes_anew(step: Step) -> bool:
    """Say whether a step makes a name only if there is none: the usual lock."""
    if step.kind in (Kind.SYMLINK, Kind.MKDIR, Kind.LINK):
        return True
    return step.kind is Kind.OPEN and "O_EXCL" in show(step.args.get("flags"))


def makes(step: Step) -> bool:
    """Say whether a step makes a file or a link, or opens a file to write it."""
    return step.kind is Kind.SYMLINK or opens_to_write(step)


def filled(step: Step) -> frozenset[str]:
    """Return the inodes whose bytes a step changed."""
    if step.kind not in _FILLS:
        return frozenset()
    return frozenset(
        write.resource.object
        for write in step.footprint.writes
        if write.resource.kind in ("data", "size")
    )


def minds(step: Step, invariant: str) -> bool:
    """Say whether an invariant looks at what a step changed."""
    return any(
        write.resource.kind == "invariant" and write.resource.object == invariant
        for write in step.footprint.writes
    )
