"""Exploring scenarios and replaying executions, in worker processes."""

from __future__ import annotations

import os
from contextlib import nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from racecheck.api.carrying import pickled
from racecheck.api.workers import shared_pool
from racecheck.errors import CannotRunError, EngineError, RacecheckError, ScenarioError
from racecheck.explore.client import Pool
from racecheck.explore.messages import Explored, Replayed, Task
from racecheck.explore.options import ENGINES, Options, ReplayResult
from racecheck.model import Coverage, ScenarioResult, Verdict
from racecheck.storage import Token, check_shape, decode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from racecheck.model import Progress
    from racecheck.scenario import Loaded, Scenario

__all__ = ["Options", "ReplayResult", "explore", "explore_all", "replay", "replay_one"]

_TOKEN_SIZE: Final = 1024


def explore(scenario: Scenario, options: Options | None = None) -> ScenarioResult:
    """Explore one scenario and return what came of it.

    The scenario is carried to a worker process as it is, closures included.

    Raises:
        RacecheckError: It cannot be run; the class says whose fault that is.
    """
    options = options or Options()
    if len(scenario.variants()) > 1:
        names = ", ".join(each.name for each in scenario.variants())
        raise ScenarioError(f"{scenario.name} has variants; explore one: {names}")
    (scenario,) = scenario.variants()
    scenario.check()
    task = _task(scenario, "", options, pickled=pickled(scenario))
    alone = options.jobs == 1
    with nullcontext(shared_pool()) if alone else Pool(options.jobs) as pool:
        for _, answer in pool.run([task], _ignore):
            return _explored(answer)
    raise EngineError(f"{scenario.name}: no answer")


def explore_all(
    scenarios: Sequence[Loaded],
    options: Options,
    on_progress: Callable[[Progress], None] | None = None,
    on_result: Callable[[ScenarioResult], object] | None = None,
) -> Iterator[ScenarioResult]:
    """Explore scenarios and yield what came of each, in their order.

    One that cannot be run gives `unknown` with the reason, so that the others still
    are; what keeps every scenario from running is raised.

    Args:
        scenarios: The scenarios.
        options: How to explore them.
        on_progress: Called now and then with how far one of them is.
        on_result: Called with each result as it comes, before its turn.

    Raises:
        CannotRunError: This machine does not let racecheck control processes.
    """
    tasks = [_task(each.scenario, str(each.file), options) for each in scenarios]
    by_name = {each.name: each.scenario for each in scenarios}
    done: dict[str, ScenarioResult] = {}
    waiting = [task.name for task in tasks]
    with Pool(options.jobs) as pool:
        for task, answer in pool.run(tasks, on_progress or _ignore):
            if isinstance(answer, CannotRunError):
                raise answer
            if isinstance(answer, RacecheckError):
                done[task.name] = _unknown(by_name[task.name], answer, options)
            else:
                done[task.name] = _explored(answer)
            if on_result is not None:
                on_result(done[task.name])
            while waiting and waiting[0] in done:
                result = done[waiting.pop(0)]
                yield result
                if options.stop_first and not result.as_expected:
                    return


def replay(
    token: str, scenarios: Sequence[Loaded], options: Options | None = None
) -> ReplayResult:
    """Run the execution that a token stands for, and nothing else.

    Raises:
        TokenError: The token is damaged, or is of no scenario that is given here, or
            the shape of its scenario has changed.
        RacecheckError: It cannot be run.
    """
    options = options or Options()
    read = decode(token)
    for loaded in scenarios:
        if loaded.name == read.scenario:
            break
    else:
        raise ScenarioError(
            f"the token is of scenario {read.scenario!r}, which is not among these"
        )
    options = replace(options, engine=engine_of(read, loaded.scenario))
    return _replayed(_task(loaded.scenario, str(loaded.file), options, token=token))


def replay_one(
    token: str, scenario: Scenario, options: Options | None = None
) -> ReplayResult:
    """Run the execution that a token stands for, of a scenario that is in no file.

    Raises:
        TokenError: The token is damaged, or the shape of its scenario has changed.
        RacecheckError: It cannot be run.
    """
    options = options or Options()
    options = replace(options, engine=engine_of(decode(token), scenario))
    scenario.check()
    carried = pickled(scenario)
    return _replayed(_task(scenario, "", options, pickled=carried, token=token))


def engine_of(token: Token, scenario: Scenario) -> str:
    """Return the engine whose execution a token is, as its shape tells.

    Raises:
        TokenError: It is of no engine's.
    """
    for engine in (scenario.engine, *ENGINES):
        if engine != "stress" and token.shape == scenario.shape(engine):
            return engine
    check_shape(token, scenario.name, scenario.shape())
    return scenario.engine


def _replayed(task: Task) -> ReplayResult:
    for _, answer in shared_pool().run([task], _ignore):
        if isinstance(answer, RacecheckError):
            raise answer
        if isinstance(answer, Replayed):
            return ReplayResult(
                trace=answer.trace,
                left=answer.left,
                same=answer.same,
                engine=task.engine,
            )
    raise EngineError(f"{task.name}: no answer")


def _task(
    scenario: Scenario,
    file: str,
    options: Options,
    *,
    pickled: bytes = b"",
    token: str = "",
) -> Task:
    budget = options.budget_of(scenario)
    engine = options.engine or scenario.engine
    return Task(
        file=file,
        pickled=pickled,
        name=scenario.name,
        seed=options.seed,
        max_executions=budget.executions,
        max_seconds=budget.seconds,
        scheduler=options.scheduler,
        fresh=options.fresh,
        shrink=options.shrink,
        curve=options.curve,
        workdir=str(options.workdir.resolve()) if options.workdir else "",
        # Blanks in it mean nothing, but its size does: actors are forked from memory
        # that has it in it. Python keeps what is as large as this apart from small
        # objects, so that those of actors lie where they lay, whatever the token.
        token=token and token.ljust(_TOKEN_SIZE),
        engine=engine,
        # A worker has one, which is not what this engine is for.
        cpus=_all_processors() if engine == "stress" else (),
    )


def _all_processors() -> tuple[int, ...]:
    try:
        return tuple(sorted(os.sched_getaffinity(0)))
    except (AttributeError, OSError):
        return ()


def _explored(answer: object) -> ScenarioResult:
    if isinstance(answer, RacecheckError):
        raise answer
    if not isinstance(answer, Explored):
        raise EngineError(f"unexpected answer {type(answer).__name__}")
    return answer.result


def _unknown(
    scenario: Scenario, error: RacecheckError, options: Options
) -> ScenarioResult:
    return ScenarioResult(
        name=scenario.name,
        engine=options.engine or scenario.engine,
        verdict=Verdict.UNKNOWN,
        reason=str(error),
        expected=tuple(sorted(scenario.expect)),
        as_expected=False,
        coverage=Coverage.CUT,
        assumptions=(),
        bounds={},
        scheduler=options.scheduler,
        seed=options.seed,
        executions=0,
        steps=0,
        seconds=0.0,
        findings=(),
    )


def _ignore(progress: Progress) -> None:
    del progress
