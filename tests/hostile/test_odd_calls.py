"""Guards that odd calls of an actor get the kernel's answer, and no error of ours."""

from __future__ import annotations

import ctypes
import json
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from racecheck.engine import actor as inside
from racecheck.kernel.numbers import numbers
from racecheck.model import Verdict
from racecheck.scenario import Scenario
from tests.engine.lab import Seen, run

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = pytest.mark.processes

ROOT = Path(__file__).parents[2]
_NOBODY = 65534


def outcome(act: Callable[[], object]) -> Seen:
    """Run an actor that makes a call, and tells which error it got."""
    made = Scenario("odd")

    @made.actor
    def one(box: Path) -> str:
        (box / "file").touch()
        try:
            act()
        except OSError as error:
            return str(error.strerror)
        return "nothing"

    return run(made)


def call(name: str, *args: int) -> None:
    """Make a call that Python has no function for, or not with such arguments."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.syscall(numbers()[name], *map(ctypes.c_long, args)) == -1:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))


# --- signals --------------------------------------------------------------------------


def test_whether_its_own_process_lives_may_be_asked_by_descriptor() -> None:
    def act() -> None:
        child = os.fork()
        if child == 0:
            signal.pause()
        for process in (os.getpid(), child):
            signal.pidfd_send_signal(os.pidfd_open(process), 0)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)

    seen = outcome(act)

    assert seen.trace.verdict is Verdict.PASSED
    assert seen.trace.unordered == ()
    assert seen.operation("one").value == "nothing"


def test_who_asks_so_for_others_is_named() -> None:
    seen = outcome(lambda: signal.pidfd_send_signal(os.open("/proc/1", os.O_RDONLY), 0))

    assert seen.trace.verdict is Verdict.PASSED
    assert seen.trace.unordered == ("whether another process lives, asked by one",)


# --- addresses ------------------------------------------------------------------------


@pytest.mark.parametrize("address", [7, 1 << 40, -1, -(1 << 47)])
@pytest.mark.parametrize("name", ["select", "pselect6", "poll", "ppoll"])
def test_sets_that_cannot_be_read_are_bad(name: str, address: int) -> None:
    if name not in numbers():
        pytest.skip("this machine has no such call")
    args = (3, address, address, 0, 0)
    if "poll" in name:
        args = (address, 3, 0, 0, 0)

    seen = outcome(lambda: call(name, *args))

    assert seen.trace.verdict is Verdict.PASSED
    assert seen.operation("one").value == "Bad address"


def test_no_set_is_larger_than_descriptors_can_be() -> None:
    seen = outcome(lambda: call("pselect6", -1, 7, 7, 7, 0, 0))

    assert seen.trace.verdict is Verdict.PASSED
    assert seen.operation("one").value == "Invalid argument"


# --- messages -------------------------------------------------------------------------


@pytest.mark.parametrize("number", [inside.MARKER, inside.COVERED])
@pytest.mark.parametrize(("address", "count"), [(0, 9), (7, 1 << 44), (None, 7)])
def test_what_is_no_message_goes_to_no_descriptor(
    number: int, address: int | None, count: int
) -> None:
    text = ctypes.create_string_buffer(b"garbage")
    where = ctypes.addressof(text) if address is None else address

    seen = outcome(lambda: call("write", number, where, count))

    assert seen.trace.verdict is Verdict.PASSED
    assert seen.operation("one").value == "Bad file descriptor"


# --- without privilege ----------------------------------------------------------------

SCENARIOS = '''
"""Actors that keep others from looking at what is theirs."""

import os
import shutil
import subprocess

from racecheck.scenario import Scenario


def odd(act):
    made = Scenario(act.__name__, budget=4)

    @made.actor(raises=OSError)
    def one(box):
        (box / "file").touch()
        act(box)

    @made.actor(raises=OSError)
    def two(box):
        (box / "file").touch()

    return made


@odd
def hide_the_box(box):
    os.makedirs(box / "a" / "b")
    os.chmod(box / "a", 0)
    os.chmod(box, 0)
    os.chmod(box.parent, 0)


@odd
def hide_what_is_listed(box):
    os.makedirs(box / "a" / "b")
    (box / "a" / "file").touch()
    os.chmod(box / "a", 0o400)


@odd
def run_the_unreadable(box):
    shutil.copy("/bin/true", box / "true")
    os.chmod(box / "true", 0o111)
    subprocess.run([box / "true"], check=True)
'''


def without_privilege(folder: Path, *command: str) -> bool:
    """Run a command as a user who owns a folder; say whether it could be run."""
    user = os.stat(folder).st_uid
    packages = [each for each in sys.path if each.endswith("-packages")]
    path = os.pathsep.join([str(ROOT), *packages])
    try:
        done = subprocess.run(
            command,
            env={"PATH": os.environ["PATH"], "PYTHONPATH": path},
            cwd=folder,
            user=user,
            extra_groups=[] if os.geteuid() == 0 else None,
            capture_output=True,
            text=True,
            check=False,
        )
    except PermissionError:
        return False
    if "No module named" in done.stderr:
        return False
    assert "Traceback" not in done.stderr
    return True


def interpreters() -> list[str]:
    """Return where the interpreter may be that another user can run, too."""
    name = f"python{sys.version_info.major}.{sys.version_info.minor}"
    return [sys.executable, f"/usr/bin/{name}", f"/usr/local/bin/{name}"]


@pytest.fixture
def found() -> Iterator[dict[str, dict[str, object]]]:
    """Results of the scenarios, by name, run by somebody without privilege."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "workdir").mkdir()
        (folder / "scenario_odd.py").write_text(SCENARIOS)
        for path in (folder / "workdir", folder):
            if os.geteuid() == 0:
                os.chown(path, _NOBODY, -1)
        args = ("--workdir", "workdir", "--json", "answer.json")
        for interpreter in filter(os.path.exists, interpreters()):
            command = (interpreter, "-m", "racecheck", "run", "scenario_odd.py", *args)
            if without_privilege(folder, *command):
                break
        else:
            pytest.skip("another user cannot read what is needed")
        assert os.listdir(folder / "workdir") == []
        answer = json.loads((folder / "answer.json").read_text())
        yield {each["name"]: each for each in answer["scenarios"]}


@pytest.mark.slow
def test_what_is_hidden_from_who_has_no_privilege_stops_nobody(
    found: dict[str, dict[str, object]],
) -> None:
    assert found["hide_the_box"]["verdict"] == "passed", found
    assert found["hide_what_is_listed"]["verdict"] == "passed", found
    unreadable = found["run_the_unreadable"]
    assert unreadable["verdict"] == "unknown"
    assert "execve of an unreadable program by one" in str(unreadable["reason"])
