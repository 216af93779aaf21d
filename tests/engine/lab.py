"""Runs scenarios for tests: with real processes, in a chosen order.

An execution sets timers, signal handlers and the environment of its process, and that
has to be single-threaded. So each `run` happens in a fork of the test's process, which
hands its traces back; what an explorer would start by exec is left to the tests that
are about it.
"""

from __future__ import annotations

import contextlib
import gc
import os
import pickle
import signal
import sys
import traceback
from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn, TypeVar

from racecheck.engine import Execution, Machine
from racecheck.errors import RacecheckError
from racecheck.explore.runner import Runner
from racecheck.model import EMPTY, Decision
from racecheck.scheduling import PlannedFaultsScheduler

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from racecheck.model import (
        Footprint,
        History,
        Operation,
        Scheduler,
        SchedulingPoint,
        Step,
        Trace,
        View,
    )
    from racecheck.scenario import Scenario

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Seen:
    """What came of one execution.

    Attributes:
        trace: The execution.
        files: The box as it was left: path to content, or to `-> text` of a link.
        unmet: Planned faults that met no step.
    """

    trace: Trace
    files: dict[str, str]
    unmet: int = 0

    def of(self, actor: str, *calls: str) -> list[Step]:
        """Return the steps of an actor, or only those of some calls or kinds."""
        return [
            step
            for step in self.trace.steps
            if step.actor == actor
            and (not calls or step.call in calls or step.kind in calls)
        ]

    def shown(self, actor: str, *calls: str) -> list[str]:
        """Return the same as lines."""
        return [str(step) for step in self.of(actor, *calls)]

    def operation(self, actor: str, index: int = 0) -> Operation:
        """Return an operation of an actor."""
        (found,) = (
            each
            for each in self.trace.operations
            if (each.actor, each.index) == (actor, index)
        )
        return found

    @property
    def printed(self) -> dict[str, str]:
        """What each actor wrote to its standard output and error."""
        return self.trace.outputs


class Script:
    """A scheduler that follows a few lines, and then lets each actor run to its end.

    `"one"` is a step of actor `one`; `"one to rename"` are its steps up to where it is
    about to rename, and `"one to end"` are all that it has.
    """

    def __init__(self, *lines: str, seed: int = 0) -> None:
        self._lines = lines
        self._left: list[str] = []
        self._seed = seed

    def start_execution(self) -> int | None:
        """Begin from the first line."""
        self._left = list(self._lines)
        return self._seed

    def choose(
        self, enabled: Sequence[SchedulingPoint], current: str | None
    ) -> Decision:
        """Choose the actor of the present line."""
        points = {point.actor: point for point in enabled}
        while self._left:
            actor, _, goal = self._left[0].partition(" to ")
            point = points.get(actor)
            if not goal:
                assert point is not None, f"{actor} cannot take a step"
                del self._left[0]
                return Decision(actor)
            if goal == "end":
                if point is not None:
                    return Decision(actor)
            else:
                assert point is not None, f"{actor} never came to {goal}"
                if goal not in (point.call, point.kind):
                    return Decision(actor)
            del self._left[0]
        return Decision(points.get(current or "", enabled[0]).actor)

    def record(self, step: Step) -> None:
        """Learn nothing: the script says it all."""

    def finish_execution(self, steps: Sequence[Step]) -> None:
        """See that the execution did not end before the script."""
        del steps
        left = [line for line in self._left if not line.endswith(" to end")]
        assert not left, f"the execution ended before {left}"


@dataclass(frozen=True, slots=True)
class Named:
    """What the engine calls things after a step.

    Attributes:
        step: The step.
        inodes: Name of the inode at each path of the box.
        descriptors: Name of the inode behind each descriptor of each actor.
    """

    step: Step
    inodes: dict[str, str | None]
    descriptors: dict[str, dict[int, str]]


class _Watcher:
    """An observer that notes the names after each step."""

    def __init__(self, execution: Execution, box: Path) -> None:
        self.seen: list[Named] = []
        self._execution = execution
        self._box = box

    def start(self, view: View, history: History | None) -> None:
        """Look at nothing."""

    def on_step(self, view: View, history: History, step: Step) -> Footprint:
        """Note all names."""
        del view, history
        find = self._execution.names.find
        inodes = {
            str(path.relative_to(self._box)): find(path.lstat())
            for path in sorted(self._box.rglob("*"))
        }
        descriptors = {}
        for actor in self._execution._actors:
            table = actor.process.descriptors.table()
            descriptors[actor.name] = {
                number: file.target for number, file in table.items()
            }
        self.seen.append(Named(step, inodes, descriptors))
        return EMPTY

    def on_return(
        self, view: View, history: History, operation: Operation
    ) -> Footprint:
        """Look at nothing."""
        del view, history, operation
        return EMPTY

    def keep(self) -> object:
        """Note the names after each step anew."""

    def resume(self, kept: object) -> None:
        """Note the names after each step anew."""

    def on_end(self, view: View, history: History) -> None:
        """Look at nothing."""


def watch(scenario: Scenario, *lines: str, workdir: Path | None = None) -> list[Named]:
    """Run one execution as `run` does, and return the names after each step."""

    def body() -> list[Named]:
        with Machine(workdir=workdir) as machine:
            runner = Runner(machine, scenario)
            execution = Execution(
                machine, runner.programs, seed=0, max_steps=scenario.max_steps
            )
            watcher = _Watcher(execution, machine.sandbox.box)
            script = Script(*lines)
            script.start_execution()
            execution.run(script, watcher)
            return watcher.seen

    return in_child(body)


def run(
    scenario: Scenario,
    *lines: str,
    seed: int = 0,
    workdir: Path | None = None,
    max_sleep_s: float = 5.0,
    change: Callable[[Machine], object] | None = None,
    record: bool = False,
) -> Seen:
    """Run one execution in the order that a script says, with the planned faults.

    Args:
        scenario: What to run.
        lines: The script; see `Script`.
        seed: Seed of the execution.
        workdir: Where the box is.
        max_sleep_s: Time that an actor may sleep in the kernel.
        change: Called with the machine before the execution.
        record: Whether to record what a report shows beside the steps.
    """
    (seen,) = run_all(
        scenario,
        [Script(*lines, seed=seed)],
        workdir=workdir,
        max_sleep_s=max_sleep_s,
        change=change,
        record=record,
    )
    return seen


def run_all(
    scenario: Scenario,
    schedulers: Sequence[Scheduler],
    *,
    workdir: Path | None = None,
    max_sleep_s: float = 5.0,
    change: Callable[[Machine], object] | None = None,
    record: bool = False,
) -> list[Seen]:
    """Run one execution with each scheduler, all on one machine."""

    def body() -> list[Seen]:
        found = []
        with Machine(
            workdir=workdir, max_cpu_s=scenario.max_cpu_s, max_sleep_s=max_sleep_s
        ) as machine:
            if change is not None:
                change(machine)
            runner = Runner(machine, scenario)
            for each in schedulers:
                planned = PlannedFaultsScheduler(each, scenario.faults)
                seed = planned.start_execution()
                assert seed is not None
                trace = runner.run(
                    planned, seed, footprints=True, outputs=True, record=record
                )
                assert trace is not None, "the execution was given up"
                files = _tree(machine.sandbox.box)
                found.append(Seen(trace, files, len(planned.unmet)))
        return found

    return in_child(body)


def in_child(body: Callable[[], T]) -> T:
    """Call a function in a fork of this process, and return or raise what it does."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        _answer(body, write)
    os.close(write)
    try:
        with os.fdopen(read, "rb") as file:
            data = file.read()
    finally:
        # A test that ran into its time limit comes here too; actors die with the child.
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    assert data, "the child died without an answer"
    answer: tuple[T, BaseException | None, str]
    answer = pickle.loads(data)  # noqa: S301  from our own child
    value, error, trace = answer
    if trace:
        raise AssertionError(f"in the child:\n{trace}")
    if error is not None:
        raise error
    return value


def _answer(body: Callable[[], object], write: int) -> NoReturn:
    """Be the child: call the function, tell what came of it, and end."""
    try:
        # A process of tests has loaded far more than a worker, and before it forks
        # actors all would be looked through for garbage.
        gc.freeze()
        # As a worker has it: what an actor does to its group stays in this process's.
        os.setsid()
        # What pytest has put there leads to files that actors close.
        sys.stdout = os.fdopen(1, "w", closefd=False)
        sys.stderr = os.fdopen(2, "w", closefd=False)
        sys.dont_write_bytecode = True
        try:
            answer: tuple[object, BaseException | None, str] = (body(), None, "")
        except RacecheckError as error:
            answer = (None, error, "")
        except BaseException:  # noqa: BLE001  told to the test, whatever it is
            answer = (None, None, traceback.format_exc())
        with os.fdopen(write, "wb") as file:
            pickle.dump(answer, file)
    finally:
        os._exit(0)


def _tree(box: Path) -> dict[str, str]:
    found = {}
    for path in sorted(box.rglob("*")):
        name = str(path.relative_to(box))
        if path.is_symlink():
            found[name] = f"-> {os.readlink(path)}"
        elif path.is_file():
            found[name] = path.read_text(errors="surrogateescape")
        elif path.is_dir():
            found[name] = "folder"
    return found
