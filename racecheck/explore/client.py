"""The caller's side: starts worker processes, hands out scenarios, collects answers."""

from __future__ import annotations

import compileall
import contextlib
import fcntl
import os
import selectors
import socket
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final, NamedTuple, Self

import msgspec

from racecheck import errors
from racecheck.errors import CannotRunError, EngineError, RacecheckError
from racecheck.explore.messages import Advanced, Answers, Failed, send, send_start
from racecheck.explore.processors import Processors

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from types import TracebackType

    from racecheck.explore.messages import Answer, Task
    from racecheck.model import Progress

_BOOT: Final = str(Path(__file__).with_name("boot.py"))
_STOP_WITHIN_S: Final = 5.0
_LOOK_UP_EVERY_S: Final = 0.2
"""How long an interrupt can go unheeded that is none of the kernel's."""


class Start(NamedTuple):
    """What a worker is started with, which every task of its finds.

    Attributes:
        path: Where it imports from.
        folder: Its working folder.
        modules: What it imports before its first task.
        coverage: How this process is measured, or empty if it is not.
    """

    path: tuple[str, ...]
    folder: str
    modules: tuple[str, ...]
    coverage: str

    @classmethod
    def of(cls, task: Task) -> Start:
        """Return what a task needs, here and now."""
        try:
            folder = str(Path.cwd())
        except OSError:
            folder = ""
        # It takes longer to import than most explorations do.
        modules = ("dill",) if task.pickled else ()
        return cls(tuple(_import_path()), folder, modules, _coverage())


class Worker:
    """One worker process, which does one task after another."""

    def __init__(self, cpu: int, start: Start) -> None:
        """Start a process.

        Args:
            cpu: The processor that it and its actors run on, or -1 for any.
            start: What it is started with.
        """
        _compile_package()
        self.cpu = cpu
        self.start = start
        self.task: Task | None = None
        self.helpers: list[int] = []
        ours, theirs = socket.socketpair()
        # Never one of the standard descriptors, which the caller may have closed.
        channel = fcntl.fcntl(theirs.fileno(), fcntl.F_DUPFD_CLOEXEC, 3)
        theirs.close()
        self.connection = ours
        self.answers = Answers()
        # Read if the worker dies; closed with it.
        self._log: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115  see close
        try:
            self._process = subprocess.Popen(  # noqa: S603  our own interpreter
                [sys.executable, "-I", "-S", _BOOT, str(channel), str(cpu)],
                stdin=subprocess.DEVNULL,
                stdout=self._log,
                stderr=self._log,
                pass_fds=[channel],
                start_new_session=True,
            )
        except OSError:
            ours.close()
            self._log.close()
            raise
        finally:
            os.close(channel)
        with contextlib.suppress(BrokenPipeError):
            path = "\0".join(start.path).encode()
            ours.sendall(len(path).to_bytes(4, "big") + path)
            send_start(ours, start.modules, start.coverage)

    @property
    def is_alive(self) -> bool:
        """Whether it can be given another task."""
        return self._process.poll() is None

    def give(self, task: Task) -> None:
        """Give it a task."""
        self.task = task
        # If it is gone, `receive` tells so.
        with contextlib.suppress(BrokenPipeError):
            send(self.connection, task)

    def receive(self) -> Iterator[Answer]:
        """Yield the answers that have arrived; raises if the worker is gone.

        Raises:
            EngineError: It died without an answer.
            RacecheckError: Its task ended in that error.
        """
        try:
            data = self.connection.recv(1 << 16)
        except ConnectionResetError:
            data = b""
        if not data:
            name = self.task.name if self.task else "no task"
            why = self._why()
            self._remove_its_folder()
            raise EngineError(f"{name}: the worker died{why}")
        for answer in self.answers.feed(data):
            if isinstance(answer, Failed):
                kind = getattr(errors, answer.error, EngineError)
                if kind is errors.ReplayDivergedError:
                    kind = RacecheckError
                raise kind(answer.message)
            yield answer

    def close(self) -> None:
        """End the process, which removes its folder first."""
        self.connection.close()
        if self._process.poll() is None:
            self._process.terminate()
            try:
                self._process.wait(_STOP_WITHIN_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
        self._process.wait()
        self._log.close()

    def _remove_its_folder(self) -> None:
        # Only needed here, where most callers never come to.
        from racecheck.engine.claim import remove_left_over  # noqa: PLC0415  as said
        from racecheck.engine.sandbox import default_workdir  # noqa: PLC0415  as said

        workdir = self.task.workdir if self.task else ""
        remove_left_over(Path(workdir or default_workdir()))

    def _why(self) -> str:
        status = self._process.wait()
        self._log.seek(0)
        lines = self._log.read().decode(errors="replace").split("\n")
        said = next((line.strip() for line in reversed(lines) if line.strip()), "")
        reason = f"signal {-status}" if status < 0 else f"exit status {status}"
        return f" ({reason}): {said}" if said else f" ({reason})"


class Pool:
    """Workers side by side, each on a processor of its own, kept from task to task."""

    def __init__(self, jobs: int) -> None:
        self._jobs = jobs
        self._processors = Processors()
        self._cpus: list[int] = []
        self._idle: list[Worker] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the workers that are idle."""
        while self._idle:
            self._idle.pop().close()

    def run(
        self, tasks: Sequence[Task], on_progress: Callable[[Progress], None]
    ) -> Iterator[tuple[Task, Answer | RacecheckError]]:
        """Do all tasks; yield each with its answer or its error, as they come."""
        left = list(tasks)
        busy: set[Worker] = set()
        latest = [worker.cpu for worker in reversed(self._idle)]
        self._cpus = self._processors.take(self._jobs, latest)
        with selectors.DefaultSelector() as selector:
            try:
                while left or busy:
                    while left and self._cpus:
                        task = left.pop(0)
                        worker = self._worker(task)
                        if not left and task.engine == "process" and not task.token:
                            # Nobody else needs what is free.
                            task = self._with_helpers(task, worker)
                        busy.add(worker)
                        selector.register(
                            worker.connection, selectors.EVENT_READ, worker
                        )
                        worker.give(task)
                    # Workers of xdist that are to end call `_thread.interrupt_main`,
                    # which wakes nobody.
                    for key, _ in selector.select(_LOOK_UP_EVERY_S):
                        worker = key.data
                        outcome = self._receive(worker, on_progress)
                        if outcome is None or worker.task is None:
                            continue
                        selector.unregister(worker.connection)
                        busy.remove(worker)
                        self._free(worker)
                        self._idle.append(worker)
                        yield worker.task, outcome
            finally:
                # What broke off in the middle of a task cannot do another one.
                for worker in busy:
                    self._free(worker)
                    worker.close()
                self._processors.give_back()
                for worker in self._idle[: -self._jobs - 1]:
                    self._idle.remove(worker)
                    worker.close()

    def _with_helpers(self, task: Task, worker: Worker) -> Task:
        """Return a task with all processors that are free for its worker's helpers."""
        worker.helpers, self._cpus = self._cpus, []
        bits = {1 << cpu for cpu in worker.helpers if cpu >= 0}
        return msgspec.structs.replace(task, helpers=sum(bits)) if bits else task

    def _free(self, worker: Worker) -> None:
        self._cpus += [worker.cpu, *worker.helpers]
        worker.helpers = []

    def _worker(self, task: Task) -> Worker:
        """Return a worker for a task: an idle one if it would do, else a new one."""
        cpu = self._cpus.pop(0)
        start = Start.of(task)
        for worker in self._idle:
            if worker.cpu == cpu:
                self._idle.remove(worker)
                if worker.is_alive and worker.start == start:
                    return worker
                worker.close()
                break
        try:
            return Worker(cpu, start)
        except OSError as error:
            # The next attempt may do better, and would wait for a processor for ever.
            self._cpus.insert(0, cpu)
            what = f" {error.filename}" if error.filename else ""
            raise CannotRunError(
                f"cannot start a worker{what}: {error.strerror}"
            ) from error

    @staticmethod
    def _receive(
        worker: Worker, on_progress: Callable[[Progress], None]
    ) -> Answer | RacecheckError | None:
        try:
            for answer in worker.receive():
                if not isinstance(answer, Advanced):
                    return answer
                on_progress(answer.progress)
        except RacecheckError as error:
            return error
        return None


@cache
def _compile_package() -> None:
    """Leave nothing of this package for workers to compile.

    What a process has compiled itself moves all that it allocates later. Workers write
    no bytecode, so whether they find it would depend on who has imported what before,
    and a subject that uses addresses would not be replayed.
    """
    if not sys.dont_write_bytecode:
        compileall.compile_dir(Path(__file__).parents[1], quiet=2)


def _coverage() -> str:
    """Return how this process is measured, if it is and its children are to be.

    It is what `patch = subprocess` of coverage leaves in the environment, in the form
    in which a measurement is begun with it.
    """
    if config := os.environ.get("COVERAGE_PROCESS_CONFIG"):
        return f":data:{config}"
    file = os.environ.get("COVERAGE_PROCESS_START")
    return str(Path(file).absolute()) if file else ""


def _import_path() -> list[str]:
    """Return where this process imports from, the package itself included."""
    package = str(Path(__file__).parents[2])
    found = [path for path in sys.path if path]
    if not sys.path or "" in sys.path:
        found.insert(0, str(Path.cwd()))
    return found if package in found else [*found, package]
