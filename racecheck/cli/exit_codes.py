"""What the exit status of a command says."""

from __future__ import annotations

from typing import TYPE_CHECKING

from racecheck.model import Coverage, Verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from racecheck.model import ScenarioResult

OK = 0
VIOLATED = 1
NO_VERDICT = 3
INTERRUPTED = 130

_NONE = (Verdict.DIVERGED, Verdict.UNKNOWN)
_BROKEN = (Verdict.VIOLATED, Verdict.DEADLOCKED)


def exit_code_of_run(
    results: Sequence[ScenarioResult], *, require_complete: bool
) -> int:
    """Return the exit status of an exploration of several scenarios.

    A surprise comes before a missing verdict: it is certain whatever the others are.

    Args:
        results: What came of the scenarios.
        require_complete: Whether anything less than all executions is no verdict.
    """
    certain = [result for result in results if result.verdict not in _NONE]
    if any(not result.as_expected for result in certain):
        return VIOLATED
    if len(certain) < len(results):
        return NO_VERDICT
    incomplete = any(result.coverage is not Coverage.COMPLETE for result in results)
    return NO_VERDICT if require_complete and incomplete else OK


def exit_code_of_replay(verdict: Verdict) -> int:
    """Return the exit status of one execution, whatever its scenario expects."""
    if verdict in _BROKEN:
        return VIOLATED
    return NO_VERDICT if verdict in _NONE else OK
