"""What the tests around a check say of it: options, marks, the token to replay.

A test runner puts a `Suite` into `current` and tells it which test runs; checks look
there. This module imports nothing, so that a test runner can do so at no cost.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path


class Suite:
    """A run of tests with checks among them.

    Attributes:
        seed: Seed of explorations, or None for what is configured.
        budget: Budget as people write it, or None.
        quick: Whether a tenth of the budget is enough for what shall pass.
        token: The execution to replay instead of exploring, or empty.
        reports: Folder for reports, or None for none.
        failures: Folder of the executions that failed, or None to keep none.
        marks: Options that the running test was marked with.
        replay_with: Returns the command that replays a token in the running test.
        told: What came of the checks that it has made, a line each.
        checks: Checks that the running test has made.
        replays: Those of them that were of the token.
    """

    def __init__(
        self,
        *,
        seed: int | None = None,
        budget: str | None = None,
        quick: bool = False,
        token: str = "",
        reports: Path | None = None,
        failures: Path | None = None,
    ) -> None:
        self.seed = seed
        self.budget = budget
        self.quick = quick
        self.token = token
        self.reports = reports
        self.failures = failures
        self.replay_with: Callable[[str], str] | None = None
        self.begin_test({})

    @property
    def is_asked(self) -> bool:
        """Whether there is an option that has to make sense."""
        return bool(self.token) or self.seed is not None or self.budget is not None

    def begin_test(self, marks: Mapping[str, object]) -> None:
        """Take note that another test begins."""
        self.marks = marks
        self.told: list[str] = []
        self.checks = 0
        self.replays = 0


_suites: list[Suite] = []


def enter(suite: Suite) -> None:
    """Let checks look at a suite from here on."""
    _suites.append(suite)


def leave(suite: Suite) -> None:
    """Let checks look at what was there before."""
    _suites.remove(suite)


def current() -> Suite | None:
    """Return the suite that checks are part of, or None outside of any."""
    return _suites[-1] if _suites else None
