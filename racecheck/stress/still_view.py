"""A view of the box that makes all stand still as soon as somebody looks."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from collections.abc import Set as AbstractSet

    from racecheck.model import Place, Resource, View


class StillView:
    """Passes on what it is asked, see `View`, and stops the actors before that.

    Who judges without looking at a file costs nobody any time.
    """

    def __init__(self, view: View, stop: Callable[[], None]) -> None:
        self._view = view
        self._stop = stop

    @property
    def seen(self) -> AbstractSet[Resource]:
        """See `View.seen`."""
        return self._view.seen

    def forget_seen(self) -> None:
        """See `View.forget_seen`."""
        self._view.forget_seen()

    def read(self, path: str) -> bytes | None:
        """See `View.read`."""
        self._stop()
        return self._view.read(path)

    def readlink(self, path: str) -> str | None:
        """See `View.readlink`."""
        self._stop()
        return self._view.readlink(path)

    def exists(self, path: str) -> bool:
        """See `View.exists`."""
        self._stop()
        return self._view.exists(path)

    def maker(self, path: str) -> str:
        """See `View.maker`."""
        return self._view.maker(path)

    def identity(self, path: str) -> str:
        """See `View.identity`."""
        return self._view.identity(path)

    @property
    def meant(self) -> Sequence[str]:
        """See `View.meant`."""
        return self._view.meant

    @property
    def places(self) -> Sequence[Place]:
        """See `View.places`."""
        return self._view.places

    def glob(self, pattern: str) -> tuple[str, ...]:
        """See `View.glob`."""
        self._stop()
        return self._view.glob(pattern)

    def tree(self, path: str) -> dict[str, str]:
        """See `View.tree`."""
        self._stop()
        return self._view.tree(path)
