"""Source untouched: what is only to be read stays as it was."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from racecheck.errors import ScenarioError
from racecheck.invariants.arguments import check_name, check_path
from racecheck.invariants.rules import StateRule
from racecheck.invariants.wording import amount

if TYPE_CHECKING:
    from racecheck.model import Invariant, View


def source_untouched(path: str, *, name: str = "source_untouched") -> Invariant:
    """Require that a folder, or a file, is at every step what it was at the start.

    Args:
        path: Path in the box. It has to be there at the start, so that a misspelt one
            is no pass.
        name: Name of the invariant, for a scenario that has several.

    Raises:
        ScenarioError: An argument makes no sense.
    """
    return _SourceUntouched(check_name(name), check_path(path, of="source_untouched"))


class _SourceUntouched(StateRule):
    def __init__(self, name: str, path: str) -> None:
        super().__init__(name)
        self._path = path
        self._before: dict[str, str] = {}

    def begin(self, view: View) -> str | None:
        self._before = self._look(view)
        if not self._before:
            raise ScenarioError(
                f"source_untouched expects {self._path!r} at the start, found nothing"
            )
        return None

    def judge(self, view: View) -> str | None:
        before, now = self._before, self._look(view)
        if now == before:
            return None
        path, *others = sorted(
            path for path in before | now if before.get(path) != now.get(path)
        )
        if path not in now:
            how = f"{path!r} is gone"
        elif path not in before:
            how = f"{path!r} appeared as {now[path]}"
        else:
            how = f"{path!r} changed from {before[path]} to {now[path]}"
        more = f" and {amount(len(others), 'other change')}" if others else ""
        return f"expected {self._path!r} as it was at the start, but {how}{more}"

    def _look(self, view: View) -> dict[str, str]:
        """Return all that is there; nothing if not even the path itself is."""
        # Trees of an empty folder and of nothing look the same, and files have none.
        link = view.readlink(self._path)
        kind = "" if link is None else f"link to {link}, "
        data = view.read(self._path)
        if data is not None:
            digest = hashlib.blake2b(data, digest_size=8).hexdigest()
            return {self._path: f"{kind}file {digest}"}
        found = dict(view.tree(self._path))
        if view.exists(self._path):
            found[self._path] = f"{kind}{found.get(self._path, 'folder')}"
        return found
