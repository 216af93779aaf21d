"""Which actor the present thread acts for; everything that is intercepted asks this."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from random import Random
    from typing import Protocol, TypeVar

    from racecheck.model import Kind, Value

    T = TypeVar("T")

    class Acting(Protocol):
        """Somebody whose calls on files are the simulated ones."""

        random: Random
        pid: int
        dead: bool

        def step(
            self,
            call: str,
            kind: Kind,
            args: dict[str, Value],
            perform: Callable[[], T],
            *,
            size: int = 0,
        ) -> T:
            """Take a step, when it is its turn."""
            ...

        def now(self) -> int:
            """Return the virtual time, in nanoseconds."""
            ...

        def sleep(self, seconds: float) -> None:
            """Wait for some virtual time."""
            ...

        def refuse(self, what: str) -> None:
            """Take note of something that is not simulated."""
            ...


_local = threading.local()


def acting() -> Acting | None:
    """Return whom the present thread acts for; None for racecheck's own."""
    found: Acting | None = getattr(_local, "actor", None)
    return found


def is_inside() -> bool:
    """Say whether the present thread is inside a call that is a step already."""
    return bool(getattr(_local, "inside", False))


@contextmanager
def acts_for(actor: Acting) -> Iterator[None]:
    """Let the present thread act for somebody."""
    before = acting()
    _local.actor = actor
    try:
        yield
    finally:
        _local.actor = before


@contextmanager
def inside() -> Iterator[None]:
    """Let calls be part of a step, and no steps of their own."""
    before = is_inside()
    _local.inside = True
    try:
        yield
    finally:
        _local.inside = before
