"""Tests of checks keep nothing: what one finds would be the first try of the next."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from racecheck import suite

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(autouse=True, scope="module")
def around() -> Iterator[suite.Suite]:
    made = suite.Suite()
    suite.enter(made)
    yield made
    suite.leave(made)
