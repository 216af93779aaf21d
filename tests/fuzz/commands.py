"""Runs commands in this process, and checks what all of them have to hold to."""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from click.testing import CliRunner
from hypothesis import HealthCheck, settings

from racecheck.cli import main

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

EXAMPLES = int(os.environ.get("RACECHECK_EXAMPLES", "100"))
FUZZ = settings(
    max_examples=EXAMPLES,
    deadline=None,
    # Each example has a folder of its own inside of the one that the test got.
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
OK, BAD_INPUT = 0, 2

SCENARIO = """
from racecheck.scenario import Scenario

one = Scenario("one")
one.writer(lambda: None, name="write")
"""


@contextlib.contextmanager
def modules_kept() -> Iterator[None]:
    before = set(sys.modules)
    try:
        yield
    finally:
        for name in set(sys.modules) - before:
            if name.startswith(("scenario", "given")):
                del sys.modules[name]


def refused_or_taken(*args: str, taken: Collection[int] = (OK,)) -> int:
    """Run a command; check how it ended, and return its status."""
    with modules_kept():
        done = CliRunner().invoke(main, args)
    shown = f"{args}: {done.output}"
    assert done.exit_code in (*taken, BAD_INPUT), shown
    assert "Traceback" not in done.output, shown
    assert "internal error" not in done.output, shown
    if done.exit_code == BAD_INPUT:
        lines = done.stderr.splitlines()
        usage = [
            line for line in lines if line.startswith(("Usage:", "Try ", "Error:"))
        ]
        assert len(lines) == 1 or usage, shown
    assert not Path("/tmp/racecheck-was-here").exists()
    return done.exit_code
