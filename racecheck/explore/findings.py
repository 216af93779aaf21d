"""Looking into an execution that breaks something: confirmed, shrunk, and told."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from racecheck.explore.habits import StateKeptError
from racecheck.explore.shrink import EXECUTIONS, EXECUTIONS_OF_SLOW, Shrinker
from racecheck.explore.traces import broken, first_difference
from racecheck.explore.trials import Trials
from racecheck.model import Finding
from racecheck.scheduling import RecordedScheduler
from racecheck.storage import Token, encode

if TYPE_CHECKING:
    from collections.abc import Collection

    from racecheck.explore.runner import Runner
    from racecheck.model import Trace


_OTHER_VERDICT: Final = "the same steps, but another verdict"


def look_into(
    runner: Runner,
    trace: Trace,
    *,
    known: Collection[str],
    execution: int,
    reused: bool,
    fresh: bool,
    shrink: bool,
) -> tuple[list[Finding], str]:
    """Make findings of an execution that breaks what is not known to be broken.

    Each is run anew before it is told. Shrinking tries other executions of the
    scenario; what else they are seen to break is told as well.

    Args:
        runner: Runs the scenario.
        trace: The execution.
        known: The invariants that are known to be broken.
        execution: Which execution it is.
        reused: Whether it was made in processes that were used before.
        fresh: Whether no process may be used twice.
        shrink: Whether to make it simpler.

    Returns:
        The findings, and where an execution went otherwise when it was run again, or
        an empty string.

    Raises:
        StateKeptError: One went otherwise in processes that were used before.
    """
    again, difference = repeat(runner, trace)
    affordable = EXECUTIONS_OF_SLOW if runner.ran_out else EXECUTIONS
    if difference and reused:
        raise StateKeptError
    unknown = [name for name in broken(trace) if name not in known]
    if not difference and not set(unknown).issubset(broken(again)):
        difference = _OTHER_VERDICT
    if difference:
        return [
            _finding(name, trace, trace, execution, confirmed=False) for name in unknown
        ], difference
    run = partial(runner.run, reuse=not fresh)
    trials = Trials(run, again, runner.scenario.faults)
    told: dict[str, Finding] = {}
    while new := [each for each in trials.broken() if each not in {*known, *told}]:
        for name in new:
            found = next(each.trace for each in trials.outcomes if name in each.broken)
            shrunk = found
            if shrink:
                shrunk = Shrinker(trials, name, executions=affordable).shrink()
            anew, parted = (again, "") if shrunk is again else repeat(runner, shrunk)
            if parted and not fresh:
                raise StateKeptError
            if not parted and name not in broken(anew):
                parted = _OTHER_VERDICT
            if parted and found is again:
                # That one did go the same way again.
                anew, parted = again, ""
            if found.schedule != anew.schedule and found.detail is None:
                # It was found on the way, and nothing but its steps was kept.
                recorded = repeat(runner, found)[0]
                found = recorded if name in broken(recorded) else found
            told[name] = _finding(name, anew, found, execution, confirmed=not parted)
            difference = difference or parted
    return list(told.values()), difference


def repeat(runner: Runner, trace: Trace, *, reuse: bool = False) -> tuple[Trace, str]:
    """Run an execution again from its decisions.

    Args:
        runner: Runs the scenario.
        trace: The execution.
        reuse: Whether actors may run in processes that were used before. If not, the
            second execution has footprints and outputs.

    Returns:
        The second execution, and the first difference between the two, or an empty
        string.
    """
    recorded = RecordedScheduler(trace.schedule, [step.kind for step in trace.steps])
    seed = recorded.start_execution()
    assert seed is not None  # noqa: S101  it has one execution
    again = runner.run(
        recorded,
        seed,
        footprints=not reuse,
        outputs=not reuse,
        record=not reuse,
        reuse=reuse,
    )
    assert again is not None  # noqa: S101  a recording is never given up
    return again, first_difference(trace.steps, again.steps)


def _finding(
    name: str, trace: Trace, found: Trace, execution: int, *, confirmed: bool
) -> Finding:
    message = trace.reason
    for violation in trace.violations:
        if violation.invariant == name:
            message = violation.message
    return Finding(
        invariant=name,
        message=message,
        token=encode(Token.of(trace)),
        steps=len(trace.steps),
        context_switches=trace.schedule.context_switches(),
        found_steps=len(found.steps),
        found_context_switches=found.schedule.context_switches(),
        confirmed=confirmed,
        execution=execution,
        trace=trace,
        original=None if found.schedule == trace.schedule else found,
    )
