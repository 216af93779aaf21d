"""What holds for all tests."""

from __future__ import annotations

import os
import signal
import tempfile
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

_KEPT = (signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD)


@pytest.fixture(autouse=True)
def signals_as_before() -> Iterator[None]:
    """Leave the handlers of signals to the next test as they were.

    A machine that a test has made in its own process handles SIGTERM from then on, and
    whatever is started later would inherit that.
    """
    before = {number: signal.getsignal(number) for number in _KEPT}
    yield
    for number, handler in before.items():
        if signal.getsignal(number) is not handler:
            signal.signal(number, handler)


def surroundings() -> tuple[dict[str, str], str | None]:
    """Return what later tests and their processes would inherit from this one."""
    kept = {k: v for k, v in os.environ.items() if k != "PYTEST_CURRENT_TEST"}
    return kept, tempfile.tempdir or tempfile.gettempdir()


@pytest.fixture(autouse=True)
def environment_as_before() -> Iterator[None]:
    """See that a test leaves the environment to the next one as it was."""
    before = surroundings()
    yield
    assert surroundings() == before
