"""Sound eviction: an evictor removes what it may, what it chose, and enough of it.

Each function here is one part, with a name of its own in verdicts. What an evictor
removes is told by the identity of the file and not by its name, because another file
may have come to that name since.
"""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING, Final

from racecheck.invariants.actors import actors_of
from racecheck.invariants.arguments import (
    check_name,
    check_path,
    check_pattern,
    check_who,
)
from racecheck.invariants.removals import Evictions, moved, removed, taken
from racecheck.invariants.steps import is_crash, may_have_changed
from racecheck.invariants.watch import ALL_ENDS
from racecheck.model import EMPTY, Footprint, Kind, Resource, Write

if TYPE_CHECKING:
    from racecheck.model import History, Invariant, Step, View

_LOOKS: Final = frozenset({Kind.STAT, Kind.OPEN, Kind.ACCESS, Kind.READLINK})


def no_live_temp_evicted(
    temps: str,
    *,
    role: str = "evictor",
    writers: str = "writer",
    name: str = "no_live_temp_evicted",
) -> Invariant:
    """Require that no evictor removes a temporary file whose writer still uses it.

    It is in use until the operation that made it has ended. To rename it away, or
    another file over it, is to remove it.

    Args:
        temps: What temporary files are called; `*` stays within one folder.
        role: Role or actor that evicts.
        writers: Role or actor whose temporary files they are.
        name: Name of the invariant, for a scenario that has several.

    Raises:
        ScenarioError: An argument makes no sense.
    """
    of = "no_live_temp_evicted"
    return _NoLiveTempEvicted(
        check_name(name),
        check_who(role, of=of, what="role"),
        temps=check_pattern(temps, of=of),
        writers=check_who(writers, of=of, what="writers"),
    )


def evicted_as_chosen(
    *, role: str = "evictor", name: str = "evicted_as_chosen"
) -> Invariant:
    """Require that what an evictor removes is the file that it has looked at.

    It looks at a file when it lists its folder, opens it or asks for its status; the
    last time counts. If there is another file at the name when it is removed, it was
    never chosen. To rename another file over it is to remove it, and to rename it away
    is not, until it is removed from there.

    Args:
        role: Role or actor that evicts.
        name: Name of the invariant, for a scenario that has several.

    Raises:
        ScenarioError: An argument makes no sense.
    """
    of = "evicted_as_chosen"
    return _EvictedAsChosen(check_name(name), check_who(role, of=of, what="role"))


def never_evicted(
    path: str, *, role: str = "evictor", name: str = "never_evicted"
) -> Invariant:
    """Require that an evictor never removes, renames or replaces what is at a path.

    Args:
        path: Path in the box: the entry that is in use.
        role: Role or actor that evicts.
        name: Name of the invariant, for a scenario that has several.

    Raises:
        ScenarioError: An argument makes no sense.
    """
    of = "never_evicted"
    return _NeverEvicted(
        check_name(name), check_who(role, of=of, what="role"), check_path(path, of=of)
    )


class _NoLiveTempEvicted(Evictions):
    def __init__(self, name: str, role: str, *, temps: str, writers: str) -> None:
        super().__init__(name, role)
        self._temps = temps
        self._writers = writers

    def judge(self, view: View, history: History, step: Step) -> str | None:
        for path, file in taken(view, step, self._temps):
            maker, _, number = file.rpartition("#")
            if self._is_at_work(history, maker, number):
                return (
                    f"expected no temporary file in use to be evicted, but "
                    f"{step.actor} removed {path!r} of {maker}"
                )
        return None

    def depends(self, view: View, history: History, step: Step) -> Footprint:
        """Keep what is evicted and the end of what made it in their order."""
        if step.kind in ALL_ENDS or is_crash(step):
            return Footprint(
                writes=(Write(self._under_way(step.actor, step.operation)),)
            )
        if step.failed or step.actor not in actors_of(history, self._role):
            return EMPTY
        return Footprint(
            tuple(
                self._under_way(maker, _operation(history, maker, number))
                for _, file in taken(view, step, self._temps)
                for maker, made, number in [file.rpartition("#")]
                if made and maker in actors_of(history, self._writers)
            )
        )

    def _under_way(self, actor: str, operation: int) -> Resource:
        return Resource("invariant", self._name, f"{actor} {operation}")

    def _is_at_work(self, history: History, maker: str, number: str) -> bool:
        """Say whether the operation with a step of a writer is under way."""
        if maker not in actors_of(history, self._writers):
            return False
        if any(end.actor == maker for end in history.ends):
            return False
        operation = _operation(history, maker, number)
        return not any(
            (ended.actor, ended.index) == (maker, operation)
            for ended in history.operations
        )


class _EvictedAsChosen(Evictions):
    # A listing tells nothing of which file is at a name, as far as other steps are
    # concerned: to replace one leaves the names as they are. Here it does.
    ends = frozenset({Kind.LISTING})

    def __init__(self, name: str, role: str) -> None:
        super().__init__(name, role)
        # What each evictor has found at which name of which folder.
        self._chosen: dict[tuple[str, str, str], str] = {}

    def start(self, view: View) -> None:  # noqa: ARG002  nothing is chosen yet
        self._chosen.clear()

    def judge(self, view: View, history: History, step: Step) -> str | None:
        del history
        if step.kind is Kind.LISTING:
            folder, path = view.meant[0], view.places[0].path
            for each in filter(None, str(step.outputs.get("names", "")).split("\n")):
                found = view.identity(posixpath.normpath(posixpath.join(path, each)))
                self._chosen[step.actor, folder, each] = found
        elif step.kind in _LOOKS:
            for place, file in zip(view.places, view.meant, strict=True):
                if place.name:
                    self._chosen[step.actor, place.folder, place.name] = file
        for gone in removed(view, step):
            place = gone.place
            chosen = self._chosen.get((step.actor, place.folder, place.name))
            if chosen is not None and chosen != gone.file:
                return (
                    f"expected the file that was looked at to be evicted, but "
                    f"{step.actor} removed {_told(gone.file)} at {place.path!r}, where "
                    f"it had found {_told(chosen)}"
                )
        self._follow(view, step)
        return None

    def _follow(self, view: View, step: Step) -> None:
        """Keep what was chosen with what the evictor renames."""
        carried = {}
        for gone, now in moved(view, step):
            place = gone.place
            chosen = self._chosen.pop((step.actor, place.folder, place.name), None)
            carried[step.actor, now.folder, now.name] = chosen
        for key, chosen in carried.items():
            self._chosen.pop(key, None)
            if chosen is not None:
                self._chosen[key] = chosen


class _NeverEvicted(Evictions):
    def __init__(self, name: str, role: str, path: str) -> None:
        super().__init__(name, role)
        self._path = path
        self._there = ""

    def start(self, view: View) -> None:
        self._there = view.identity(self._path)

    def after_step(self, view: View, history: History, step: Step) -> str | None:
        if not may_have_changed(step):
            return None
        before, self._there = self._there, view.identity(self._path)
        # All stand still, so that whatever became of it is of this step.
        if (
            not before
            or before == self._there
            or step.actor not in actors_of(history, self._role)
        ):
            return None
        return (
            f"expected {self._path!r} never to be evicted, but {step.actor} removed it"
        )


def _operation(history: History, maker: str, number: str) -> int:
    """Return the operation of an actor that one of its steps belongs to."""
    steps = [each for each in history.steps if each.actor == maker]
    return steps[int(number)].operation


def _told(identity: str) -> str:
    """Return which file is meant, as a person reads it."""
    maker, made, number = identity.rpartition("#")
    if made:
        return f"the file that {maker} made in its step {number}"
    return f"the first {identity!r}" if identity else "nothing"
