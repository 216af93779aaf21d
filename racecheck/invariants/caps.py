"""Caps of a cache: kept in the end, and never the reason to evict too much."""

from __future__ import annotations

from typing import TYPE_CHECKING

from racecheck.errors import ScenarioError
from racecheck.invariants.arguments import (
    check_count,
    check_name,
    check_pattern,
    check_who,
)
from racecheck.invariants.removals import Evictions, matches, moved, removed
from racecheck.invariants.rules import Rule
from racecheck.invariants.steps import may_have_changed
from racecheck.invariants.wording import amount
from racecheck.model import Kind

if TYPE_CHECKING:
    from racecheck.model import History, Invariant, Step, View


def no_needless_eviction(
    entries: str,
    *,
    cap: int,
    temps: str,
    role: str = "evictor",
    name: str = "no_needless_eviction",
) -> Invariant:
    """Require that an entry is only evicted while there are more than the cap allows.

    Temporary files are no entries, however many there are: whoever counts them and
    cannot remove them evicts good entries for ever. To rename an entry away is not to
    evict it, until it is removed from there.

    Args:
        entries: What entries are called; `*` stays within one folder.
        cap: How many there may be.
        temps: What temporary files are called, which `entries` may match as well.
        role: Role or actor that evicts.
        name: Name of the invariant, for a scenario that has several.

    Raises:
        ScenarioError: An argument makes no sense.
    """
    of = "no_needless_eviction"
    return _NoNeedlessEviction(
        check_name(name),
        check_who(role, of=of, what="role"),
        entries=check_pattern(entries, of=of),
        temps=check_pattern(temps, of=of),
        cap=check_count(cap, of=of, what="cap"),
    )


def cap_holds(
    pattern: str,
    *,
    files: int | None = None,
    nbytes: int | None = None,
    name: str = "cap_holds",
) -> Invariant:
    """Require that there is no more than a cap allows once everybody has ended.

    Args:
        pattern: What counts, orphans included; `*` stays within one folder.
        files: How many files there may be.
        nbytes: How large they may be in all.
        name: Name of the invariant, for a scenario that has several.

    Raises:
        ScenarioError: An argument makes no sense.
    """
    of = "cap_holds"
    if (files is None) == (nbytes is None):
        raise ScenarioError("cap_holds takes a number of files or of bytes")
    what = "files" if nbytes is None else "nbytes"
    cap = check_count(files if nbytes is None else nbytes, of=of, what=what)
    return _CapHolds(
        check_name(name), check_pattern(pattern, of=of), cap, by_size=nbytes is not None
    )


class _NoNeedlessEviction(Evictions):
    def __init__(
        self, name: str, role: str, *, entries: str, temps: str, cap: int
    ) -> None:
        super().__init__(name, role)
        self._entries = entries
        self._temps = temps
        self._cap = cap
        self._before = self._now = 0
        # How many there were as an evictor renamed one of them away.
        self._aside: dict[str, int] = {}

    def start(self, view: View) -> None:
        self._aside.clear()
        self._before = self._now = self._count(view)

    def after_step(self, view: View, history: History, step: Step) -> str | None:
        # Counted each time, so that the order of this and of an eviction matters.
        if may_have_changed(step):
            self._before, self._now = self._now, self._count(view)
        return super().after_step(view, history, step)

    def judge(self, view: View, history: History, step: Step) -> str | None:
        del history
        for gone in removed(view, step):
            path = gone.place.path
            before = self._aside.pop(gone.file, None)
            if self._is_fewer() and (
                step.kind is not Kind.RENAME or self._is_entry(path)
            ):
                before = self._before
            if before is not None and before <= self._cap:
                return (
                    f"expected nothing to be evicted from {amount(before, 'file')} "
                    f"under a cap of {self._cap}, but {step.actor} removed {path!r}"
                )
        self._follow(view, step)
        return None

    def _follow(self, view: View, step: Step) -> None:
        """Take note of entries that are renamed away, or brought back."""
        if step.kind is Kind.LINK and self._is_entry(view.places[1].path):
            self._aside.pop(view.meant[0], None)
        for gone, now in moved(view, step):
            if self._is_entry(now.path):
                self._aside.pop(gone.file, None)
            elif self._is_fewer():
                self._aside.setdefault(gone.file, self._before)

    def _is_fewer(self) -> bool:
        return self._now < self._before

    def _count(self, view: View) -> int:
        return sum(map(self._is_entry, view.glob(self._entries)))

    def _is_entry(self, path: str) -> bool:
        return matches(path, self._entries) and not matches(path, self._temps)


class _CapHolds(Rule):
    def __init__(self, name: str, pattern: str, cap: int, *, by_size: bool) -> None:
        super().__init__(name)
        self._pattern = pattern
        self._cap = cap
        self._by_size = by_size

    def at_end(self, view: View, history: History) -> str | None:
        del history
        found = view.glob(self._pattern)
        unit = "byte" if self._by_size else "file"
        total = (
            sum(len(view.read(path) or b"") for path in found)
            if self._by_size
            else len(found)
        )
        if total <= self._cap:
            return None
        return (
            f"expected at most {amount(self._cap, unit)} in the end, but found "
            f"{total}: {', '.join(found)}"
        )
