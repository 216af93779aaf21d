"""Guards that nothing passes unseen: what is not controlled is refused, and named.

Each of these gives *unknown* and says why, since a pass that took something for granted
would be a false one.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import platform
import re
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
import pytest

from racecheck.api import Options, explore
from racecheck.errors import ScenarioError
from racecheck.kernel.numbers import numbers
from racecheck.model import Verdict
from racecheck.scenario import Scenario, command
from tests.engine.lab import Seen, run

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from racecheck.engine import Machine

pytestmark = pytest.mark.processes


def syscall(name: str, *args: int | bytes) -> int:
    """Make a call by its name, and return its result or minus its errno."""
    return raw_syscall(numbers()[name], *args)


def raw_syscall(number: int, *args: int | bytes) -> int:
    libc = ctypes.CDLL(None, use_errno=True)
    libc.syscall.restype = ctypes.c_long
    typed = [ctypes.c_long(arg) if isinstance(arg, int) else arg for arg in args]
    result: int = libc.syscall(ctypes.c_long(number), *typed)
    return -ctypes.get_errno() if result == -1 else result


def alone(function: Callable[..., object]) -> Scenario:
    """Return a scenario of one actor, in a box with one file."""
    made = Scenario("closed")

    @made.setup
    def setup(box: Path) -> None:
        (box / "file").write_text("inside")

    made.actor(function, name="one")
    return made


def unknown(seen: Seen, *names: str) -> Seen:
    """Check that there is no verdict, and that the reason names what was done."""
    assert seen.trace.verdict is Verdict.UNKNOWN, seen.trace
    for name in names:
        assert name in seen.trace.reason
    assert "one" in seen.trace.reason
    return seen


# --- calls ----------------------------------------------------------------------------


def test_a_call_that_racecheck_has_never_heard_of_is_named() -> None:
    def one() -> int:
        return raw_syscall(999)

    seen = unknown(run(alone(one)), "call 999")

    assert seen.operation("one").value == -38


def test_a_call_without_a_row_is_named() -> None:
    def one(box: Path) -> None:
        (box / "file").rename(box / "moved")

    def forget_rename(machine: Machine) -> None:
        # The table of this process alone, which ends with the test.
        number = numbers()["rename"]
        del machine.table._rows[number], machine.table._single[number]

    unknown(run(alone(one), change=forget_rename), "rename")


def test_a_command_without_a_row_is_named() -> None:
    def one(box: Path) -> int:
        descriptor = os.open(box / "file", os.O_RDONLY)
        return syscall("fcntl", descriptor, 1024, 0)  # F_SETLEASE

    unknown(run(alone(one)), "fcntl")


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("io_uring_setup", 38),
        ("io_setup", 38),
        ("unshare", 1),
        ("mount", 1),
        ("chroot", 1),
        ("open_by_handle_at", 1),
        ("ptrace", 1),
    ],
)
def test_ways_around_are_refused(name: str, error: int) -> None:
    def one() -> int:
        return syscall(name, 8, 0, 0)

    seen = unknown(run(alone(one)), name)

    assert seen.operation("one").value == -error


def test_shared_writable_mappings_are_named_and_private_ones_are_not() -> None:
    def shared(box: Path) -> None:
        descriptor = os.open(box / "file", os.O_RDWR)
        mmap.mmap(descriptor, 6)[0:1] = b"I"

    def private(box: Path) -> None:
        descriptor = os.open(box / "file", os.O_RDWR)
        mmap.mmap(descriptor, 6, access=mmap.ACCESS_COPY)[0:1] = b"I"
        mmap.mmap(os.open(box / "file", os.O_RDONLY), 6, access=mmap.ACCESS_READ)

    unknown(run(alone(shared)), "shared writable mapping")
    assert run(alone(private)).trace.verdict is Verdict.PASSED


def test_a_mapping_that_becomes_writable_later_is_named() -> None:
    def one(box: Path) -> None:
        descriptor = os.open(box / "file", os.O_RDWR)
        address = syscall(
            "mmap", 0, 4096, mmap.PROT_READ, mmap.MAP_SHARED, descriptor, 0
        )
        syscall("mprotect", address, 4096, mmap.PROT_READ | mmap.PROT_WRITE)
        ctypes.memset(address, ord("I"), 1)

    seen = unknown(run(alone(one)), "shared writable mapping")

    assert seen.files == {"file": "Inside"}


COMPILED = pytest.mark.compiler

FOREIGN = """
#include <sys/syscall.h>
#include <unistd.h>

int main(void) {
    long result = 20; /* getpid of 32-bit x86 */
    __asm__ volatile("int $0x80" : "+a"(result) : : "memory");
    if (result != -38) return 2;
    return syscall(0x40000000 + SYS_getpid) == -1 ? 0 : 3; /* x32 */
}
"""


@pytest.fixture(scope="session")
def foreign(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program that makes calls by two other tables than that of x86-64."""
    if platform.machine() != "x86_64":
        pytest.skip("only x86-64 has other call tables beside its own")
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler")
    folder = tmp_path_factory.mktemp("foreign")
    source = folder / "foreign.c"
    source.write_text(FOREIGN)
    subprocess.run([compiler, "-o", folder / "foreign", source], check=True)
    return folder / "foreign"


@COMPILED
def test_calls_by_another_table_are_refused_and_named(foreign: Path) -> None:
    made = Scenario("closed")
    made.actor(command([str(foreign)]), name="one")

    seen = unknown(run(made), "call 20 of another architecture")

    assert seen.operation("one").status == 0
    assert f"call {0x40000000 + 39} of another architecture" in seen.trace.reason


# --- outside the box ------------------------------------------------------------------


def write_outside(outside: Path) -> None:
    (outside / "file").write_text("changed")


def create_outside(outside: Path) -> None:
    (outside / "new").touch()


def append_outside(outside: Path) -> None:
    with (outside / "file").open("a") as file:
        file.write("more")


def create_through_a_link(box: Path, outside: Path) -> None:
    (box / "link").symlink_to(outside / "new")
    (box / "link").write_text("changed")


def write_through_a_folder(box: Path, outside: Path) -> None:
    (box / "link").symlink_to(outside)
    (box / "link" / "file").write_text("changed")


def write_from_above(box: Path, outside: Path) -> None:
    up = "../" * len(box.parts)
    os.chdir(box)
    Path(f"{up}{outside}", "file").write_text("changed")


def write_from_a_folder(outside: Path) -> None:
    folder = os.open(outside, os.O_RDONLY)
    os.open("file", os.O_WRONLY | os.O_TRUNC, dir_fd=folder)


def write_by_descriptor(outside: Path) -> None:
    descriptor = os.open(outside / "file", os.O_PATH)
    os.open(f"/proc/self/fd/{descriptor}", os.O_WRONLY | os.O_TRUNC)


def write_in_the_working_folder(outside: Path) -> None:
    os.chdir(outside)
    Path("file").write_text("changed")


def write_its_memory() -> None:
    os.open("/proc/self/mem", os.O_WRONLY)


def rename_in(box: Path, outside: Path) -> None:
    (outside / "file").rename(box / "new")


def rename_out(box: Path, outside: Path) -> None:
    (box / "file").rename(outside / "new")


def rename_there(outside: Path) -> None:
    (outside / "file").rename(outside / "new")


def link_in(box: Path, outside: Path) -> None:
    (box / "new").hardlink_to(outside / "file")


def link_out(box: Path, outside: Path) -> None:
    (outside / "new").hardlink_to(box / "file")


def symlink_outside(outside: Path) -> None:
    (outside / "new").symlink_to("file")


def unlink_outside(outside: Path) -> None:
    (outside / "file").unlink()


def rmdir_outside(outside: Path) -> None:
    (outside / "folder").rmdir()


def mkdir_outside(outside: Path) -> None:
    (outside / "new").mkdir()


def mkfifo_outside(outside: Path) -> None:
    os.mkfifo(outside / "new")


def truncate_outside(outside: Path) -> None:
    os.truncate(outside / "file", 0)


def chmod_outside(outside: Path) -> None:
    (outside / "file").chmod(0o777)


def fchmod_outside(outside: Path) -> None:
    os.fchmod(os.open(outside / "file", os.O_RDONLY), 0o777)


def chown_outside(outside: Path) -> None:
    os.chown(outside / "file", os.getuid(), os.getgid())


def utime_outside(outside: Path) -> None:
    os.utime(outside / "file", (1, 1))


def futime_outside(outside: Path) -> None:
    os.utime(os.open(outside / "file", os.O_RDONLY), (1, 1))


def setxattr_outside(outside: Path) -> None:
    os.setxattr(outside / "file", "user.name", b"value")


def bind_outside(outside: Path) -> None:
    socket.socket(socket.AF_UNIX).bind(str(outside / "new"))


ESCAPES = [value for value in list(vars().values()) if callable(value)]
ESCAPES = ESCAPES[ESCAPES.index(write_outside) : ESCAPES.index(bind_outside) + 1]


@pytest.mark.parametrize("escape", ESCAPES, ids=lambda escape: escape.__name__)
def test_nothing_outside_the_box_is_changed(
    escape: Callable[..., object], tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("outside")
    (tmp_path / "folder").mkdir()
    made = Scenario("closed")

    @made.setup
    def setup(box: Path) -> dict[str, Path]:
        (box / "file").write_text("inside")
        return {"outside": tmp_path}

    made.actor(escape, name="one")

    before = state(tmp_path)
    seen = unknown(run(made))

    assert state(tmp_path) == before
    # It failed over what was refused, which is not for it to answer for.
    assert seen.operation("one").exception in (
        "builtins.PermissionError",
        "builtins.OSError",
    )
    assert seen.files.get("file") == "inside"


def state(folder: Path) -> dict[str, tuple[int, ...]]:
    """Return all that could be changed of some files, except times of reading."""
    found: dict[str, tuple[int, ...]] = {}
    for path in [folder, *folder.rglob("*")]:
        status = path.lstat()
        found[str(path)] = (
            *(status.st_ino, status.st_mode, status.st_nlink, status.st_size),
            *(status.st_mtime_ns, status.st_ctime_ns),
        )
    return found


def test_a_folder_swapped_for_a_link_leads_nobody_outside(tmp_path: Path) -> None:
    made = Scenario("closed")

    @made.setup
    def setup(box: Path) -> None:
        (box / "folder").mkdir()

    @made.actor
    def one(box: Path) -> None:
        (box / "folder" / "new").touch()

    @made.actor
    def two(box: Path) -> None:
        (box / "folder").rmdir()
        (box / "folder").symlink_to(tmp_path)

    # When `one` comes to its open, all is well; when it makes it, it is not.
    unknown(run(made, "one to open", "two to end"), "outside")

    assert list(tmp_path.iterdir()) == []


def test_reading_outside_and_writing_to_devices_is_no_escape() -> None:
    def one() -> None:
        Path("/etc/passwd").read_text()
        Path("/dev/null").write_text("gone")
        with Path("/dev/zero").open("r+b", buffering=0) as file:
            file.read(1)

    assert run(alone(one)).trace.uncontrolled == ()


# --- tasks and signals ----------------------------------------------------------------


def test_processes_left_behind_are_named() -> None:
    def one() -> None:
        if os.fork() == 0:
            signal.pause()

    seen = unknown(run(alone(one)), "one ended and left running: one:1 (python)")

    assert seen.trace.violations == ()


@pytest.fixture
def bystander() -> Iterator[subprocess.Popen[bytes]]:
    """A process that has nothing to do with any scenario."""
    process = subprocess.Popen(["sleep", "600"])
    yield process
    process.kill()
    process.wait()


def test_no_signal_leaves_the_scenario(bystander: subprocess.Popen[bytes]) -> None:
    def one() -> list[str]:
        said = []
        # A negative id stands for a group, and -1 for everybody.
        for target in (bystander.pid, -bystander.pid, -1):
            try:
                os.kill(target, signal.SIGKILL)
            except OSError as error:
                said.append(type(error).__name__)
        return said

    seen = unknown(run(alone(one)), f"one sends SIGKILL to process {bystander.pid}")

    assert seen.operation("one").value == ["ProcessLookupError"] * 3
    assert bystander.poll() is None


def test_no_signal_leaves_by_a_descriptor(bystander: subprocess.Popen[bytes]) -> None:
    def one() -> None:
        process = os.open(f"/proc/{bystander.pid}", os.O_RDONLY)
        signal.pidfd_send_signal(process, signal.SIGKILL)

    unknown(run(alone(one)), "pidfd_send_signal: one sends SIGKILL")

    assert bystander.poll() is None


def test_a_signal_to_the_group_reaches_only_what_the_actor_started() -> None:
    made = Scenario("closed")

    @made.actor
    def one() -> list[object]:
        heard: list[object] = []
        signal.signal(signal.SIGTERM, lambda number, _: heard.append(number))
        child = os.fork()
        if child == 0:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            os.kill(0, signal.SIGTERM)
            os._exit(7)
        heard.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        return heard

    @made.actor
    def two(box: Path) -> None:
        (box / "file").touch()

    seen = run(made)

    assert seen.operation("one").value == [15, -15]
    assert seen.files == {"file": ""}
    assert seen.trace.verdict is Verdict.PASSED


def test_an_actor_may_signal_itself_and_ask_for_others() -> None:
    made = Scenario("closed")

    @made.actor
    def one(box: Path) -> list[object]:
        heard: list[object] = []
        signal.signal(signal.SIGUSR1, lambda number, _: heard.append(number))
        os.kill(os.getpid(), signal.SIGUSR1)
        signal.raise_signal(signal.SIGUSR1)
        # All actors have been started by the first step of any.
        os.stat(box)
        os.kill(1002, 0)
        try:
            os.kill(1003, 0)
        except ProcessLookupError:
            heard.append("gone")
        return heard

    @made.actor
    def two(box: Path) -> None:
        os.stat(box)

    seen = run(made)

    assert seen.operation("one").value == [10, 10, "gone"]
    assert seen.trace.uncontrolled == ()


def test_a_signal_to_another_actor_is_refused_and_named() -> None:
    made = Scenario("closed")

    @made.actor
    def one(box: Path) -> None:
        os.stat(box)
        os.kill(1002, signal.SIGTERM)

    @made.actor
    def two(box: Path) -> None:
        (box / "file").touch()

    seen = unknown(run(made), "one sends SIGTERM to process 1002")

    assert seen.operation("one").exception == "builtins.PermissionError"
    assert seen.files == {"file": ""}


def test_an_actor_that_stops_itself_is_named() -> None:
    def one() -> None:
        os.kill(os.getpid(), signal.SIGSTOP)

    unknown(run(alone(one)), "one was stopped by signal 19")


def test_an_actor_that_is_killed_from_elsewhere_is_no_pass() -> None:
    def one(box: Path) -> None:
        (box / "new").touch()
        os.kill(os.getpid(), signal.SIGKILL)

    seen = run(alone(one))

    assert seen.trace.verdict is Verdict.VIOLATED
    (violation,) = {each.invariant for each in seen.trace.violations}
    assert violation == "no_unexpected_errors"


def test_descriptors_handed_over_are_named() -> None:
    def one(box: Path) -> None:
        here, _there = socket.socketpair()
        socket.send_fds(here, [b"x"], [os.open(box / "file", os.O_RDONLY)])

    unknown(run(alone(one)), "sendmsg")


def test_sockets_in_the_box_are_named() -> None:
    # Binding makes a name in the box, which no other call would tell of.
    def one(box: Path) -> None:
        os.chdir(box)
        socket.socket(socket.AF_UNIX).bind("socket")

    unknown(run(alone(one)), "bind")


def test_every_reason_is_given_once() -> None:
    def one() -> None:
        for _ in range(5):
            syscall("io_uring_setup", 8, 0)
            syscall("chroot", b"/")

    seen = unknown(run(alone(one)), "io_uring_setup", "chroot")

    assert len(seen.trace.uncontrolled) == 2
    assert len(re.findall("chroot", seen.trace.reason)) == 1


# --- what was there before ------------------------------------------------------------


def with_setup(setup: Callable[[Path], object]) -> Scenario:
    made = Scenario("before")
    made.setup(setup)
    made.writer(lambda box: (box / "file").touch(), name="one", count=2)
    return made


def start_helper(box: Path) -> None:
    subprocess.Popen(["sleep", "600"], cwd=box)


def start_daemon(box: Path) -> None:
    subprocess.run(["sh", "-c", "sleep 600 >/dev/null & exit"], cwd=box, check=True)


@pytest.mark.parametrize("setup", [start_helper, start_daemon])
def test_a_process_that_setup_leaves_running_is_named_and_ended(
    setup: Callable[[Path], object], tmp_path: Path
) -> None:
    options = Options(workdir=tmp_path)

    with pytest.raises(ScenarioError, match=r"setup left a process running.*: sleep"):
        explore(with_setup(setup), options)

    assert os.listdir(tmp_path) == []
    for process in psutil.process_iter(["cmdline", "cwd"]):
        place = process.info["cwd"] or ""
        assert not place.startswith(str(tmp_path)), process


def test_a_process_that_setup_has_waited_for_is_no_harm(tmp_path: Path) -> None:
    def setup(box: Path) -> None:
        subprocess.run(["touch", "made"], cwd=box, check=True)
        # It has ended, though nobody asked how.
        subprocess.Popen(["true"]).returncode = 0
        time.sleep(0.2)

    result = explore(with_setup(setup), Options(workdir=tmp_path))

    assert result.verdict is Verdict.PASSED
