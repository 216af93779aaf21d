"""Tests of checks keep nothing, since what one finds would be the other's first try."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from racecheck import suite

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(autouse=True)
def around() -> Iterator[suite.Suite]:
    made = suite.Suite()
    suite.enter(made)
    yield made
    suite.leave(made)
