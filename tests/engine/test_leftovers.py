"""Guards that a run leaves nothing, whatever ends it: no process, no folder for long.

Every run here works in a folder of its own, by which its processes are known: the
harness and its workers start there, and actors stand in a box below it.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import random
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import psutil
import pytest

from racecheck.api import Options, explore
from racecheck.engine import Machine, claim, machine, sandbox, watchdog
from racecheck.errors import EngineError
from racecheck.scenario import Budget, Scenario
from tests.engine.circumstances import heeding_signals
from tests.engine.endless import ENDLESS
from tests.engine.lab import in_child

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType

pytestmark = [pytest.mark.processes, pytest.mark.slow]

HARNESS = Path(__file__).with_name("harness.py")
ROOT = Path(__file__).parents[2]
DEADLINE_S = 240.0
KILLS = 200 if os.environ.get("RACECHECK_TEST_LONG") else 20
AT_ONCE = 5
ENDLESSLY = ("endless.py", "endless", "1000000", "work", "random")


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A folder for one run, of whose processes nothing is left in any case."""
    (tmp_path / "endless.py").write_text(f"{ENDLESS}\nendless = declare('endless')")
    (tmp_path / "work").mkdir()
    yield tmp_path
    for process in processes(tmp_path):
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()


def processes(folder: Path) -> list[psutil.Process]:
    """Return the processes that stand in a folder or below it, zombies left out."""
    found = []
    for process in psutil.process_iter():
        try:
            place = os.readlink(f"/proc/{process.pid}/cwd")
            if Path(place).is_relative_to(folder):
                found.append(process)
        except OSError:
            continue
    return found


def wait_for(condition: Callable[[], object], what: str) -> None:
    """Wait until something is so; that it never is ends the test."""
    until = time.monotonic() + DEADLINE_S
    while not condition():
        assert time.monotonic() < until, what
        time.sleep(0.01)


def start(folder: Path) -> subprocess.Popen[bytes]:
    """Start an exploration that goes on until it is ended."""
    with heeding_signals():
        return subprocess.Popen(
            [sys.executable, HARNESS, "explore", *ENDLESSLY],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )


def workers(harness: subprocess.Popen[bytes]) -> list[psutil.Process]:
    try:
        found: list[psutil.Process] = psutil.Process(harness.pid).children()
    except psutil.NoSuchProcess:
        return []
    return found


def kill(victim: str, harness: subprocess.Popen[bytes]) -> None:
    children = workers(harness)
    if victim != "worker" or not children:
        harness.kill()
    if victim != "harness":
        for child in children:
            with contextlib.suppress(psutil.NoSuchProcess):
                child.kill()


def boxes(folder: Path) -> list[Path]:
    return sorted((folder / "work").iterdir())


def nobody_is_left(folder: Path) -> None:
    wait_for(lambda: not processes(folder), f"processes are left in {folder}")


def until_it_acts(folder: Path, harness: subprocess.Popen[bytes]) -> None:
    """Wait until actors are at work."""

    def acts() -> bool:
        assert harness.poll() is None, "the harness has ended by itself"
        return any((box / "sandbox" / "box" / "file").exists() for box in boxes(folder))

    wait_for(acts, "nobody acts")


def run_again(folder: Path) -> None:
    """Do another run in the same folder, which removes what the others have left."""
    made = Scenario("leftovers/next")
    made.actor(lambda box: (box / "file").exists(), name="one")
    explore(made, Options(workdir=folder / "work", budget=Budget(executions=1)))


@pytest.mark.parametrize("victim", ["harness", "worker", "both"])
def test_nothing_is_left_of_a_run_that_is_killed_at_any_moment(
    victim: str, folder: Path
) -> None:
    moments = random.Random(victim)
    for _ in range(KILLS // AT_ONCE):
        running = [start(folder) for _ in range(AT_ONCE)]
        if moments.random() < 0.7:
            until_it_acts(folder, running[0])
        for harness in running:
            time.sleep(moments.random() / 10)
            kill(victim, harness)
        for harness in running:
            harness.wait(DEADLINE_S)
        nobody_is_left(folder)

    run_again(folder)

    assert boxes(folder) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_run_that_is_asked_to_end_removes_its_folder_at_once(
    number: signal.Signals, folder: Path
) -> None:
    moments = random.Random(number)
    for _ in range(3):
        harness = start(folder)
        until_it_acts(folder, harness)
        time.sleep(moments.random() / 10)
        harness.send_signal(number)
        assert harness.wait(DEADLINE_S) != 0
        nobody_is_left(folder)
        assert boxes(folder) == []


INTERRUPTED = """
import _thread, sys, threading, time
from pathlib import Path
from racecheck.api import Options, explore
from racecheck.scenario import Scenario

work = Path("work")
busy = Scenario("busy", max_cpu_s=1000)

@busy.actor
def compute(box):
    (box / "file").touch()
    while True:
        pass

def interrupt():
    while not any(work.glob("*/sandbox/box/file")):
        time.sleep(0.01)
    _thread.interrupt_main()

threading.Thread(target=interrupt).start()
try:
    explore(busy, Options(workdir=work))
except KeyboardInterrupt:
    print([path.name for path in work.iterdir()])
"""


def test_an_interrupt_that_is_no_signal_ends_a_run(folder: Path) -> None:
    # So the processes of xdist are asked to end.
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        text=True,
        timeout=DEADLINE_S,
        check=True,
    )
    assert done.stdout == "[]\n"


def test_a_worker_that_is_asked_to_end_twice_still_removes_its_folder(
    folder: Path,
) -> None:
    for _ in range(5):
        harness = start(folder)
        until_it_acts(folder, harness)
        (worker,) = workers(harness)
        for _ in range(20):
            worker.terminate()
        harness.wait(DEADLINE_S)
        nobody_is_left(folder)
        assert boxes(folder) == []


ASKED_IN_DEL = """
import os, signal
from racecheck.scenario import Scenario

class Gone:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGTERM)

if getattr(signal.getsignal(signal.SIGTERM), "__name__", "") == "_stop":
    Gone()

quick = Scenario("quick")
quick.actor(lambda box: (box / "file").exists(), name="one")
"""


def test_a_worker_ends_that_was_asked_where_no_exception_gets_out(
    folder: Path,
) -> None:
    (folder / "scenario.py").write_text(ASKED_IN_DEL)
    done = subprocess.run(
        [sys.executable, "-m", "racecheck", "run", "--workdir", "work", "scenario.py"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "the worker died (exit status 1)" in done.stdout
    assert boxes(folder) == []


def test_a_worker_that_is_killed_is_told_of_and_nothing_is_left(folder: Path) -> None:
    made = Scenario("leftovers/worker")

    @made.setup
    def setup(box: Path) -> None:
        del box
        os.kill(os.getpid(), signal.SIGKILL)

    made.actor(lambda box: (box / "file").exists(), name="one")

    with pytest.raises(EngineError, match=r"the worker died \(signal 9\)"):
        explore(made, Options(workdir=folder / "work"))

    assert boxes(folder) == []


def test_a_run_leaves_the_folders_of_others_alone(folder: Path) -> None:
    harness = start(folder)
    until_it_acts(folder, harness)
    before = boxes(folder)
    (folder / "work" / "racecheck-mine").mkdir()
    (folder / "work" / "other").mkdir()

    run_again(folder)

    assert harness.poll() is None
    assert {*before, folder / "work" / "racecheck-mine"} < {*boxes(folder)}
    harness.terminate()
    harness.wait()


@contextlib.contextmanager
def meanwhile(name: str, body: Callable[[], object]) -> Iterator[None]:
    """Do something once, before the next call of a function of `os` or `fcntl`."""
    module = fcntl if name == "flock" else os
    real = getattr(module, name)

    def call(*args: Any, **keywords: Any) -> Any:  # noqa: ANN401  of either
        setattr(module, name, real)
        body()
        return real(*args, **keywords)

    setattr(module, name, call)
    try:
        yield
    finally:
        setattr(module, name, real)


@pytest.mark.parametrize("call", ["open", "flock", "link", "unlink"])
def test_who_is_about_to_lock_a_folder_has_one_in_the_end(
    call: str, tmp_path: Path
) -> None:
    with meanwhile(call, lambda: claim.remove_left_over(tmp_path)):
        number, lock = claim._make_folder(tmp_path)

    assert number == 0
    claim.remove_left_over(tmp_path)
    folder = tmp_path / "racecheck-0000"
    assert os.path.samestat(os.fstat(lock), (folder / "lock").stat())
    assert boxes_of(folder) == ["lock"]
    os.close(lock)
    claim.remove_left_over(tmp_path)
    assert boxes_of(tmp_path) == []


@pytest.mark.parametrize("call", ["open", "flock", "link"])
def test_two_never_have_one_folder(call: str, tmp_path: Path) -> None:
    # It is removed, and made anew by another one, between two calls of the first.
    others: list[tuple[int, int]] = []

    def other() -> None:
        claim.remove_left_over(tmp_path)
        others.append(claim._make_folder(tmp_path))

    with meanwhile(call, other):
        mine = claim._make_folder(tmp_path)

    assert {mine[0], others[0][0]} == {0, 1}
    for number, lock in (mine, *others):
        there = tmp_path / f"racecheck-000{number}" / "lock"
        assert os.path.samestat(os.fstat(lock), there.stat())
        os.close(lock)


def test_who_removes_his_folder_leaves_one_alone_that_another_has_made_meanwhile(
    tmp_path: Path,
) -> None:
    mine = sandbox.Sandbox(tmp_path)
    others: list[sandbox.Sandbox] = []
    rmdir = os.rmdir

    def last(path: Any, **keywords: Any) -> None:  # noqa: ANN401  of either
        # Without its lock it was taken for one that was left, and its name is free.
        if Path(path) == mine.folder and os.rmdir is last:
            patched.undo()
            claim.remove_left_over(tmp_path)
            others.append(sandbox.Sandbox(tmp_path))
        rmdir(path, **keywords)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(os, "rmdir", last)
        mine.remove()

    (other,) = others
    assert other.folder == mine.folder
    assert boxes_of(other.folder) == ["lock", "output", "sandbox"]
    assert other.root.joinpath("box").is_dir()
    other.remove()
    assert boxes_of(tmp_path) == []


def test_folders_are_claimed_where_there_are_no_hard_links(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)

    number, lock = claim._make_folder(tmp_path)

    assert boxes_of(tmp_path / f"racecheck-000{number}") == ["lock"]
    os.close(lock)


@pytest.mark.parametrize("left", [(), ("lock.new",), ("lock",), ("lock", "sandbox")])
def test_what_is_left_of_making_and_removing_a_folder_is_removed_at_once(
    left: tuple[str, ...], tmp_path: Path
) -> None:
    folder = tmp_path / "racecheck-0000"
    folder.mkdir(mode=0o700)
    for name in left:
        if name == "sandbox":
            (folder / name / "deep").mkdir(parents=True)
        else:
            (folder / name).touch()

    claim.remove_left_over(tmp_path)

    assert boxes_of(tmp_path) == []


def test_a_folder_that_is_half_removed_has_its_lock(tmp_path: Path) -> None:
    box = sandbox.Sandbox(tmp_path)
    (box.box / "file").touch()
    seen: list[bool] = []
    real = os.rmdir

    def rmdir(path: str) -> None:
        seen.append((box.folder / "lock").exists())
        real(path)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "rmdir", rmdir)
        box.remove()

    assert len(seen) > 3
    # The last one is the folder itself.
    assert seen == [True] * (len(seen) - 1) + [False]


@pytest.mark.parametrize("call", ["rmdir", "unlink"])
def test_a_folder_in_which_somebody_is_still_at_work_is_removed(
    call: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    box = sandbox.Sandbox(tmp_path)
    file = box.box / "file"
    file.touch()
    real = getattr(os, call)
    seen: list[str] = []

    def work(path: str) -> None:
        if path == str(box.box if call == "rmdir" else file) and path not in seen:
            seen.append(path)
            (file.touch if call == "rmdir" else file.unlink)()
        real(path)

    monkeypatch.setattr(os, call, work)
    box.remove()

    assert seen
    assert boxes_of(tmp_path) == []


def test_the_lock_of_a_folder_that_is_gone_says_nothing_of_the_one_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A folder's name is used again. Between a look at its lock and the attempt to get
    # that, its owner can end and another one begin.
    first = sandbox.Sandbox(tmp_path)
    real = fcntl.flock
    others: list[sandbox.Sandbox] = []

    def flock(descriptor: int, operation: int) -> None:
        if not others:
            others.append(first)
            first.remove()
            others.append(sandbox.Sandbox(tmp_path))
        real(descriptor, operation)

    monkeypatch.setattr(fcntl, "flock", flock)
    claim.remove_left_over(tmp_path)

    _, second = others
    assert second.folder == first.folder
    assert second.box.is_dir()
    second.remove()


def test_folders_are_removed_whatever_an_actor_did_to_them(tmp_path: Path) -> None:
    box = sandbox.Sandbox(tmp_path)
    deep = box.box
    for _ in range(50):
        deep /= "deep"
        deep.mkdir()
    (deep / "file").touch()
    (box.box / "link").symlink_to("/")
    deep.chmod(0)
    box.box.chmod(0)
    box.root.chmod(0o500)

    box.remove()

    assert boxes_of(tmp_path) == []


def boxes_of(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


class Asked(BaseException):
    """The process was asked to end."""


def asked(number: int, frame: FrameType | None) -> NoReturn:
    del number, frame
    raise Asked


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize(
    ("module", "name"),
    [
        (socket, "recv_fds"),
        (os, "waitpid"),
        (os, "set_inheritable"),
        (os, "mkdir"),
        (machine, "Resolver"),
        (watchdog.Watchdog, "__enter__"),
    ],
    ids=str,
)
def test_who_is_asked_to_end_as_it_begins_leaves_nothing(
    module: Any,  # noqa: ANN401  of any kind
    name: str,
    number: signal.Signals,
    tmp_path: Path,
) -> None:
    real = getattr(module, name)

    def call(*args: Any, **keywords: Any) -> Any:  # noqa: ANN401  of any kind
        done = real(*args, **keywords)
        os.kill(os.getpid(), number)
        return done

    def body() -> str:
        signal.signal(number, asked)
        setattr(module, name, call)
        try:
            with Machine(workdir=tmp_path):
                return "never asked"
        except (Asked, SystemExit):
            return f"asked, {len(signal.pthread_sigmask(signal.SIG_BLOCK, ()))} blocked"

    blocked = len(signal.pthread_sigmask(signal.SIG_BLOCK, ()))
    assert in_child(body) == f"asked, {blocked} blocked"
    assert boxes_of(tmp_path) == []
