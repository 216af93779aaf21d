"""A worker process: for each task it forks one that runs the executions and answers.

It is single-threaded and stays slim, since every actor is a fork of it.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import os
import signal
import socket
import sys
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Final, NoReturn, TypeVar

import msgspec

from racecheck.engine import Machine, companions, measuring
from racecheck.errors import (
    PASSING,
    EngineError,
    RacecheckError,
    ScenarioError,
    WorkerEndError,
)
from racecheck.explore.curve import with_curves
from racecheck.explore.explorer import explore
from racecheck.explore.messages import (
    Advanced,
    Answer,
    Explored,
    Failed,
    Replayed,
    Task,
    receive_start,
    receive_task,
    send,
)
from racecheck.explore.runner import Runner
from racecheck.explore.team import Team
from racecheck.invariants.wording import described
from racecheck.model import ScenarioResult, Trace, Verdict
from racecheck.scenario import Budget, Scenario, load
from racecheck.scheduling import RecordedScheduler
from racecheck.storage import check_shape, decode, steps_digest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType

    from racecheck.model import Progress

T = TypeVar("T", ScenarioResult, Trace)

_PR_SET_PDEATHSIG: Final = 1
_ASKED: Final[list[int]] = []
"""Signals by which this process was asked to end."""


def main(connection: socket.socket, loaded: Callable[[], None]) -> None:
    """Serve tasks, each in a process of its own, until the caller is gone.

    All tasks are served by forks of this process, which does nothing else. So each
    starts from equal memory, whatever was done before it, and without the time that
    starting takes.

    Args:
        connection: Where tasks come from, and answers go.
        loaded: Called once a task's scenario is loaded.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # What `setup` makes would have the modes of the caller's, and a replay others.
    os.umask(0o022)
    modules, coverage = receive_start(connection)
    measuring.begin(coverage)
    for name in modules:
        importlib.import_module(name)
    serving = _Serving()
    signal.signal(signal.SIGTERM, serving.stop)
    while connection.recv(1, socket.MSG_PEEK):
        if serving.fork() == 0:
            _serve_one(connection, loaded, serving.has_answered)
            measuring.finish()
            return
        serving.wait()


class _Serving:
    """The process that serves the present task, as seen by the one that forked it."""

    def __init__(self) -> None:
        self._child = 0
        # Its exit status does not tell: a scenario can end it with any.
        self._answered = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)

    def fork(self) -> int:
        """Fork; returns 0 in the process that is to serve."""
        # A signal that came before the child is known would not be passed on.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
        parent = os.getpid()
        self._child = os.fork()
        if self._child == 0:
            signal.signal(signal.SIGTERM, _stop)
            libc = ctypes.CDLL(None)
            libc.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
            if os.getppid() != parent:
                os._exit(1)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        return self._child

    def has_answered(self) -> None:
        """Take note, in the process that serves, that it has."""
        os.eventfd_write(self._answered, 1)

    def wait(self) -> None:
        """Wait for it, and end as it did unless it has answered and ended well."""
        _, status = os.waitpid(self._child, 0)
        self._child = 0
        code = os.waitstatus_to_exitcode(status)
        if code < 0:
            # The caller tells of signals by their number.
            with contextlib.suppress(OSError):
                signal.signal(-code, signal.SIG_DFL)
            os.kill(os.getpid(), -code)
        try:
            os.eventfd_read(self._answered)
        except BlockingIOError:
            raise SystemExit(code) from None
        if code:
            raise SystemExit(code)

    def stop(self, number: int, frame: FrameType | None) -> None:
        """Pass the request to end on, or end where there is nobody to pass it to."""
        if not self._child:
            _stop(number, frame)
        os.kill(self._child, signal.SIGTERM)


def _serve_one(
    connection: socket.socket, loaded: Callable[[], None], done: Callable[[], None]
) -> None:
    """Serve the next task.

    Args:
        connection: Where it comes from, and its answer goes.
        loaded: Called once its scenario is loaded.
        done: Called once it is answered.
    """
    task = receive_task(connection)
    if task is None:
        return

    own = os.getpid()

    def answer(message: Answer) -> None:
        if os.getpid() != own:
            # What the scenario's own code has forked has nothing to say.
            os._exit(1)
        send(connection, message)
        if not isinstance(message, Advanced):
            done()

    try:
        _serve(task, loaded, answer)
    except RacecheckError as error:
        answer(Failed(type(error).__name__, str(error)))
    except BrokenPipeError:
        return
    except PASSING:
        raise
    except BaseException as error:  # noqa: BLE001  the caller reports it
        last = traceback.extract_tb(error.__traceback__)[-1]
        place = f"{Path(last.filename).name}:{last.lineno}"
        traceback.print_exc(file=sys.stderr)
        name, _, text = described(error).partition(": ")
        answer(Failed("EngineError", f"{name} at {place}: {text}"))


def _stop(number: int, frame: FrameType | None) -> NoReturn:
    del frame
    _ASKED.append(number)
    # The caller may ask again while all is being put away, which takes a moment.
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise WorkerEndError(1)


def _end_if_asked() -> None:
    """End, if the exception was lost that should have done so.

    None gets out of `__del__` or of the callback of a weak reference, and whoever
    imports something is often in one.
    """
    if _ASKED:
        raise WorkerEndError(1)


def _serve(task: Task, loaded: Callable[[], None], answer: object) -> None:
    assert callable(answer)  # noqa: S101  for the type checker
    companions.adopt()
    scenario = _scenario(task)
    loaded()
    _end_if_asked()
    companions.refuse(f"{task.name}: its file")
    workdir = Path(task.workdir) if task.workdir else None
    budget = Budget(seconds=task.max_seconds, executions=task.max_executions)

    def on_progress(progress: Progress) -> None:
        answer(Advanced(progress))

    if scenario.engine == "simulated" != task.engine:
        raise EngineError(
            f"{scenario.name} is about a simulated {scenario.simulation.platform}, "
            f"which the {task.engine} engine is not"
        )
    if task.engine == "stress":
        # What an engine needs is loaded with it: actors are forks of this process.
        from racecheck.explore.stress import explore_under_stress  # noqa: PLC0415

        found = explore_under_stress(
            scenario,
            workdir=workdir,
            cpus=task.cpus,
            seed=task.seed,
            budget=budget,
            on_progress=on_progress,
        )
        answer(_without_left(Explored(found)))
        return
    with _runner(task, scenario, workdir) as runner:
        result: Answer
        if task.token:
            result = replay(runner, task.token)
        else:
            # A simulated machine is no more than one process.
            helpers = 0 if task.engine == "simulated" else task.helpers
            with Team(runner, helpers, runner.workdir) as team:
                found = explore(
                    runner,
                    seed=task.seed,
                    budget=budget,
                    scheduler_name=task.scheduler,
                    fresh=task.fresh,
                    shrink=task.shrink,
                    on_progress=on_progress,
                    team=team,
                )
            if task.curve:
                found = with_curves(runner, found, reuse=not task.fresh)
            result = Explored(found)
    # Only once nothing is left of it: the caller may look, or give the next task.
    answer(_without_left(result))


def _without_left(answer: Answer) -> Answer:
    """End what is left of the scenario; with that there is no pass.

    An invariant runs in this process, so that what it starts is under no control.
    """
    names = companions.end_left()
    if not names:
        return answer
    left = f"an invariant left a process running: {', '.join(names)}"
    match answer:
        case Explored(found):
            return Explored(_no_pass(found, left, as_expected=False))
        case Replayed(trace, where, same):
            return Replayed(_no_pass(trace, left), where, same)
    return answer


def _no_pass(judged: T, left: str, **fields: bool) -> T:
    """Return what was judged with what is to be said of it, and unknown for passed."""
    reason = "; ".join(filter(None, [judged.reason, left]))
    if judged.verdict is not Verdict.PASSED:
        return msgspec.structs.replace(judged, reason=reason)
    unknown = Verdict.UNKNOWN
    return msgspec.structs.replace(judged, verdict=unknown, reason=reason, **fields)


@contextlib.contextmanager
def _runner(task: Task, scenario: Scenario, workdir: Path | None) -> Iterator[Runner]:
    """Give what runs the executions of a task, on the machine that it is about."""
    if task.engine == "simulated":
        # As above.
        from racecheck.explore.simulated import SimulatedRunner  # noqa: PLC0415
        from racecheck.simulated import Stage  # noqa: PLC0415

        with Stage(scenario.simulation) as stage:
            yield SimulatedRunner(stage, scenario)
        return
    with Machine(workdir=workdir, max_cpu_s=scenario.max_cpu_s) as machine:
        # From here on it is the machine that is asked.
        _end_if_asked()
        yield Runner(machine, scenario)


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
    trace = runner.run(scheduler, seed, footprints=True, outputs=True, record=True)
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
