"""Guards that signals do to programs what they do without racecheck."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING

import pytest

from racecheck.model import Kind, Verdict
from racecheck.scenario import Scenario, command
from racecheck.scheduling import RandomWalkScheduler
from tests.engine.lab import run, run_all

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.processes

QUESTIONS = ("calls", "restarted", "information", "threads", "groups", "orphan")


@pytest.mark.compiler
@pytest.mark.parametrize("question", QUESTIONS)
def test_a_c_program_is_told_of_signals_what_the_kernel_tells_it(
    question: str, compile_c: Callable[[str], Path], tmp_path: Path
) -> None:
    program = str(compile_c("signals"))
    # As a job of its own, so that what it sends to its group stays there.
    subprocess.run(
        [program, question, tmp_path / "out"], check=True, start_new_session=True
    )
    expected = (tmp_path / "out").read_text()
    scenario = Scenario("signals")
    scenario.writer(command([program, question, "{box}/out"]), name="one")

    for seen in run_all(scenario, [RandomWalkScheduler(seed) for seed in range(3)]):
        assert seen.trace.verdict is Verdict.PASSED, seen.trace.reason
        assert seen.files["out"] == expected


def ends_of_children(box: Path) -> list[int]:
    """End children in all the ways that Python has, and say how they ended."""
    program = [sys.executable, "-I", "-S", "-c", "import signal; signal.pause()"]
    found = []
    for end in ("terminate", "kill", "group"):
        child = subprocess.Popen(program, cwd=box, start_new_session=end == "group")
        if end == "group":
            assert os.getpgid(child.pid) == child.pid
            os.killpg(child.pid, signal.SIGINT)
        else:
            getattr(child, end)()
        found.append(child.wait())
    return found


def handlers(box: Path) -> list[str]:
    """Send signals to threads, and return who handled or waited for which."""
    told: list[str] = []

    def handle(number: int, frame: object) -> None:
        del frame
        told.append(f"{signal.Signals(number).name} {threading.current_thread().name}")

    signal.signal(signal.SIGUSR1, handle)
    signal.signal(signal.SIGUSR2, handle)
    first = threading.get_ident()

    def interrupt() -> None:
        (box / "interrupted").write_text("now")
        signal.pthread_kill(first, signal.SIGUSR1)
        os.kill(os.getpid(), signal.SIGUSR2)

    thread = threading.Thread(target=interrupt)
    thread.start()
    time.sleep(1)
    thread.join()
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
    os.kill(os.getpid(), signal.SIGUSR1)
    told.append(signal.Signals(signal.sigwait([signal.SIGUSR1])).name)
    assert signal.sigtimedwait([signal.SIGUSR1], 60) is None
    return sorted(told)


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        (ends_of_children, [-signal.SIGTERM, -signal.SIGKILL, -signal.SIGINT]),
        (handlers, ["SIGUSR1", "SIGUSR1 MainThread", "SIGUSR2 MainThread"]),
    ],
)
def test_a_python_program_sends_signals_and_handles_them(
    program: Callable[[Path], object], expected: list[object]
) -> None:
    scenario = Scenario("signals")
    scenario.writer(program, name="one")

    for seen in run_all(scenario, [RandomWalkScheduler(seed) for seed in range(3)]):
        assert seen.trace.verdict is Verdict.PASSED, seen.trace.reason
        assert seen.operation("one").value == expected


def end_a_child(box: Path) -> None:
    """Fork a child that makes two folders, and end it at some time."""
    pid = os.fork()
    if pid == 0:
        (box / "first").mkdir()
        (box / "second").mkdir()
        os._exit(0)
    (box / "decided").touch()
    os.kill(pid, signal.SIGTERM)
    os.waitpid(pid, 0)


@pytest.mark.parametrize(
    ("lines", "made"),
    [
        (["one:1", "one to end"], {"decided"}),
        (["one:1", "one:1", "one to end"], {"decided", "first"}),
        (["one:1 to end", "one to end"], {"decided", "first", "second"}),
    ],
)
def test_who_is_ended_by_a_signal_does_not_make_the_call_that_it_has_come_to(
    lines: list[str], made: set[str]
) -> None:
    scenario = Scenario("signals")
    scenario.writer(end_a_child, name="one")

    seen = run(scenario, *lines)

    assert seen.trace.verdict is Verdict.PASSED, seen.trace.reason
    assert set(seen.files) == made


def test_a_handler_runs_before_the_call_which_is_then_made() -> None:
    scenario = Scenario("signals")

    @scenario.writer(name="one")
    def one(box: Path) -> None:
        pid = os.fork()
        if pid == 0:
            signal.signal(signal.SIGTERM, lambda *_: (box / "handled").touch())
            (box / "ready").touch()
            os.mkdir(box / "made")
            os.mkdir(box / "more")
            os._exit(0)
        (box / "decided").touch()
        os.kill(pid, signal.SIGTERM)
        os.waitpid(pid, 0)

    seen = run(scenario, "one to openat", "one:1 to mkdir", "one to end")

    assert seen.trace.verdict is Verdict.PASSED, seen.trace.reason
    child = [step for step in seen.trace.steps if step.task == 1]
    kinds = [step.kind for step in child]
    # What the kernel runs has only taken note of the signal before the call, which is
    # then made all the same; Python's handler comes next.
    assert kinds[kinds.index(Kind.WAKE) + 1] is Kind.MKDIR
    made = [step.args["path"] for step in child if step.kind is Kind.MKDIR]
    assert made == ["made", "more"]
    assert "handled" in seen.files


def test_an_ended_child_can_be_sent_signals_until_it_is_waited_for() -> None:
    scenario = Scenario("signals")

    @scenario.writer(name="one")
    def one(box: Path) -> str:
        pid = os.fork()
        if pid == 0:
            os._exit(0)
        (box / "meanwhile").touch()
        os.kill(pid, signal.SIGTERM)
        os.waitpid(pid, 0)
        try:
            os.kill(pid, signal.SIGTERM)
        except ProcessLookupError:
            return "gone"
        return "there"

    seen = run(scenario, "one:1 to end", "one to end")

    assert seen.trace.verdict is Verdict.PASSED, seen.trace.reason
    assert seen.operation("one").value == "gone"
