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
from racecheck.invariants.removals import Evictions, matches, removed
from racecheck.model import Kind

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

    It is in use until the operation that made it has ended. To rename it away is to
    remove it.

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
    never chosen. To rename a file away is not to remove it.

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
    """Require that an evictor never removes or renames what is at a path.

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
        path = removed(step)
        if path is None or not matches(path, self._temps):
            return None
        maker, _, number = view.meant[0].rpartition("#")
        if maker not in actors_of(history, self._writers):
            return None
        if any(end.actor == maker for end in history.ends):
            return None
        steps = [each for each in history.steps if each.actor == maker]
        operation = steps[int(number)].operation
        if any(
            (ended.actor, ended.index) == (maker, operation)
            for ended in history.operations
        ):
            return None
        return (
            f"expected no temporary file in use to be evicted, but {step.actor} "
            f"removed {path!r} of {maker}"
        )


class _EvictedAsChosen(Evictions):
    # A listing tells nothing of which file is at a name, as far as other steps are
    # concerned: to replace one leaves the names as they are. Here it does.
    ends = frozenset({Kind.LISTING})

    def __init__(self, name: str, role: str) -> None:
        super().__init__(name, role)
        self._chosen: dict[tuple[str, str], str] = {}

    def start(self, view: View) -> None:  # noqa: ARG002  nothing is chosen yet
        self._chosen.clear()

    def judge(self, view: View, history: History, step: Step) -> str | None:
        del history
        if step.kind is Kind.LISTING:
            folder = str(step.args["file"])
            for each in filter(None, str(step.outputs.get("names", "")).split("\n")):
                path = posixpath.normpath(posixpath.join(folder, each))
                self._chosen[step.actor, path] = view.identity(path)
        elif step.kind in _LOOKS and step.args.get("path"):
            self._chosen[step.actor, str(step.args["path"])] = view.meant[0]
        elif step.kind is Kind.UNLINK:
            path = str(step.args["path"])
            chosen = self._chosen.get((step.actor, path))
            if chosen is not None and chosen != view.meant[0]:
                return (
                    f"expected the file that was looked at to be evicted, but "
                    f"{step.actor} removed {_told(view.meant[0])} at {path!r}, where "
                    f"it had found {_told(chosen)}"
                )
        return None


class _NeverEvicted(Evictions):
    def __init__(self, name: str, role: str, path: str) -> None:
        super().__init__(name, role)
        self._path = path

    def judge(self, view: View, history: History, step: Step) -> str | None:
        del view, history
        if removed(step) != self._path:
            return None
        return (
            f"expected {self._path!r} never to be evicted, but {step.actor} removed it"
        )


def _told(identity: str) -> str:
    """Return which file is meant, as a person reads it."""
    maker, made, number = identity.rpartition("#")
    if made:
        return f"the file that {maker} made in its step {number}"
    return f"the first {identity!r}" if identity else "nothing"
