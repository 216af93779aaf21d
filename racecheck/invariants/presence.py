"""Never missing: what was published stays to be found."""

from __future__ import annotations

import glob
from typing import TYPE_CHECKING

from racecheck.errors import ScenarioError
from racecheck.invariants.actors import actors_of
from racecheck.invariants.arguments import check_name, check_path, check_who
from racecheck.invariants.rules import StateRule

if TYPE_CHECKING:
    from racecheck.model import History, Invariant, Step, View


def never_missing(
    path: str,
    *,
    after: str | None = None,
    except_by: str | None = None,
    name: str = "never_missing",
) -> Invariant:
    """Require that a path is never gone once it has been seen.

    A symbolic link that leads to nothing counts as gone.

    Args:
        path: Path in the box.
        after: Actor or role from whose first success on it has to be there. What was
            seen before does not matter then: gaps are allowed until that moment, and
            none is from it on.
        except_by: Actor or role that may remove it. What it has removed may be missing
            until somebody puts it back.
        name: Name of the invariant, for a scenario that has several.

    Raises:
        ScenarioError: An argument makes no sense.
    """
    if after is not None:
        check_who(after, of="never_missing", what="after")
    if except_by is not None:
        if after is not None:
            raise ScenarioError("never_missing takes `after` or `except_by`, not both")
        check_who(except_by, of="never_missing", what="except_by")
    path = check_path(path, of="never_missing")
    return _NeverMissing(check_name(name), path, after, except_by)


class _NeverMissing(StateRule):
    def __init__(
        self, name: str, path: str, after: str | None, except_by: str | None
    ) -> None:
        super().__init__(name, after)
        self._path = path
        self._after_whom = after
        self._except_by = except_by
        self._seen = False
        self._removed = False

    def after_step(self, view: View, history: History, step: Step) -> str | None:
        before = self._seen
        broken = super().after_step(view, history, step)
        if broken is None or self._except_by is None:
            return broken
        if self._removed:
            return None
        # All stand still, so that it was this step if it was there before.
        self._removed = before and step.actor in actors_of(history, self._except_by)
        return None if self._removed else broken

    def begin(self, view: View) -> str | None:
        self._seen = self._removed = self.has_judged = False
        return self.judge(view) if self._gate.is_open else None

    def judge(self, view: View) -> str | None:
        link = view.readlink(self._path)
        if _leads_somewhere(view, self._path, is_link=link is not None):
            self._seen, self._removed = True, False
            self.has_judged = True
            return None
        if self._removed:
            return None
        if not self._seen and self._after_whom is None:
            return None
        since = (
            "since it was there"
            if self._seen
            else f"since {self._after_whom} succeeded"
        )
        found = "nothing" if link is None else f"a link to nothing, {link!r}"
        return f"expected {self._path!r} to stay {since}, but found {found}"


def _leads_somewhere(view: View, path: str, *, is_link: bool) -> bool:
    if not is_link:
        return view.exists(path)
    # The name of a dangling link exists, so it has to be followed. A link to an empty
    # folder cannot be told from one to nothing and is taken for that: a false alarm
    # is noticed.
    return view.read(path) is not None or bool(view.glob(f"{glob.escape(path)}/*"))
