"""A worker process: it loads one scenario, runs its executions and answers.

It is single-threaded and stays slim, since every actor is a fork of it.
"""

from __future__ import annotations

import os
import signal
import sys
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from racecheck.engine import Machine
from racecheck.errors import RacecheckError, ScenarioError
from racecheck.explore.explorer import explore
from racecheck.explore.messages import (
    Advanced,
    Answer,
    Explored,
    Failed,
    Replayed,
    Task,
    receive_task,
    send,
)
from racecheck.explore.runner import Runner
from racecheck.scenario import Budget, Scenario, load
from racecheck.scheduling import RecordedScheduler
from racecheck.storage import check_shape, decode, steps_digest

if TYPE_CHECKING:
    import socket
    from types import FrameType


def main(connection: socket.socket) -> None:
    """Serve one task and end."""
    signal.signal(signal.SIGTERM, _stop)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # What `setup` makes would have the modes of the caller's, and a replay others.
    os.umask(0o022)
    parent = os.getppid()
    task = receive_task(connection)
    if task is None or parent == 1:
        return

    def answer(message: Answer) -> None:
        send(connection, message)

    try:
        _serve(task, answer)
    except RacecheckError as error:
        answer(Failed(type(error).__name__, str(error)))
    except BrokenPipeError:
        return
    except Exception as error:  # noqa: BLE001  the caller reports it
        last = traceback.extract_tb(error.__traceback__)[-1]
        place = f"{Path(last.filename).name}:{last.lineno}"
        traceback.print_exc(file=sys.stderr)
        answer(Failed("EngineError", f"{type(error).__name__} at {place}: {error}"))


def _stop(number: int, frame: FrameType | None) -> NoReturn:
    del number, frame
    # The caller may ask again while all is being put away, which takes a moment.
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise SystemExit(1)


def _serve(task: Task, answer: object) -> None:
    assert callable(answer)  # noqa: S101  for the type checker
    scenario = _scenario(task)
    workdir = Path(task.workdir) if task.workdir else None
    with Machine(workdir=workdir, max_cpu_s=scenario.max_cpu_s) as machine:
        runner = Runner(machine, scenario)
        if task.token:
            answer(replay(runner, task.token))
            return
        result = explore(
            runner,
            seed=task.seed,
            budget=Budget(seconds=task.max_seconds, executions=task.max_executions),
            scheduler_name=task.scheduler,
            fresh=task.fresh,
            shrink=task.shrink,
            on_progress=lambda progress: answer(Advanced(progress)),
        )
    answer(Explored(result))


def replay(runner: Runner, text: str) -> Replayed:
    """Run the execution that a token stands for.

    Raises:
        TokenError: The token is damaged, or the scenario's shape has changed.
    """
    token = decode(text)
    check_shape(token, runner.scenario.name, runner.shape)
    scheduler = RecordedScheduler(token.schedule(runner.actors), token.kinds)
    seed = scheduler.start_execution()
    assert seed is not None  # noqa: S101  it has one execution
    trace = runner.run(scheduler, seed, footprints=True, outputs=True)
    assert trace is not None  # noqa: S101  a recording is never given up
    return Replayed(trace, scheduler.left, steps_digest(trace.steps) == token.digest)


def _scenario(task: Task) -> Scenario:
    if task.pickled:
        # Imported only where needed: it is large, and actors are forks of this process.
        import dill  # noqa: PLC0415

        scenario = dill.loads(task.pickled)  # noqa: S301  from our own caller
        assert isinstance(scenario, Scenario)  # noqa: S101
        return scenario
    for loaded in load([Path(task.file)]):
        if loaded.name == task.name:
            return loaded.scenario
    raise ScenarioError(f"{task.file} has no scenario {task.name!r} any more")
