"""No downgrade: what was published is never replaced by something older."""

from __future__ import annotations

from typing import TYPE_CHECKING

from racecheck.errors import ScenarioError
from racecheck.invariants.arguments import check_function, check_name, check_path
from racecheck.invariants.rules import StateRule

if TYPE_CHECKING:
    from collections.abc import Callable

    from racecheck.model import Invariant, View


def no_downgrade(
    path: str,
    version: Callable[[bytes], int | None],
    *,
    name: str = "no_downgrade",
) -> Invariant:
    """Require that the version of what is at a path never goes down.

    A path that is gone for a while, or holds something without a version, does not
    make what comes after it any newer.

    Args:
        path: Path in the box.
        version: Gives the version of the bytes of a file, or None where they have none.
        name: Name of the invariant, for a scenario that has several.

    Raises:
        ScenarioError: An argument makes no sense.
    """
    of = "no_downgrade"
    check_function(version, of=of, what="version", takes=("the bytes of a file",))
    return _NoDowngrade(check_name(name), check_path(path, of=of), version)


class _NoDowngrade(StateRule):
    def __init__(
        self, name: str, path: str, version: Callable[[bytes], int | None]
    ) -> None:
        super().__init__(name)
        self._path = path
        self._version = version
        self._newest: int | None = None

    def begin(self, view: View) -> str | None:
        self._newest = None
        self.has_judged = False
        return self.judge(view)

    def judge(self, view: View) -> str | None:
        data = view.read(self._path)
        found = None if data is None else self._version(data)
        if found is None:
            return None
        self.has_judged = True
        if not isinstance(found, int):
            raise ScenarioError(f"a version is a number or None, not {found!r}")
        if self._newest is not None and found < self._newest:
            return (
                f"expected {self._path!r} to stay at version {self._newest} or a newer "
                f"one, but found version {found}"
            )
        self._newest = found
        return None
