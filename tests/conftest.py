"""What holds for all tests."""

from __future__ import annotations

import signal
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
