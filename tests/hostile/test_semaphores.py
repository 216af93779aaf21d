"""Guards that actors change named semaphores of their own, and of nobody else.

They are files outside the sandbox, and others have theirs in the same folder.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from racecheck.model import Verdict
from racecheck.scenario import Scenario
from tests.engine.lab import run

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from racecheck.engine import Machine

pytestmark = [
    pytest.mark.processes,
    pytest.mark.skipif(not os.path.isdir("/dev/shm"), reason="there is no /dev/shm"),
]

libc = ctypes.CDLL(None, use_errno=True)
FOREIGN = Path("/dev/shm", f"sem.racecheck-test-foreign-{os.getpid()}")
NEW = FOREIGN.with_name(f"sem.racecheck-test-new-{os.getpid()}")


@pytest.fixture(autouse=True)
def _foreign() -> Iterator[None]:
    FOREIGN.write_text("of another program")
    FOREIGN.chmod(0o600)
    try:
        yield
    finally:
        for path in (FOREIGN, NEW):
            path.unlink(missing_ok=True)


def acting(act: Callable[[Path], object]) -> Scenario:
    made = Scenario("semaphores")

    @made.writer
    def one(box: Path) -> None:
        (box / "file").touch()
        with contextlib.suppress(OSError):
            act(box)

    return made


def replace_by_own(_: Path) -> None:
    NEW.touch()
    NEW.rename(FOREIGN)


CHANGES: dict[str, Callable[[Path], object]] = {
    "unlink": lambda _: FOREIGN.unlink(),
    "write": lambda _: FOREIGN.write_text("x"),
    "append": lambda _: os.open(FOREIGN, os.O_RDWR | os.O_APPEND),
    "create": lambda _: os.open(FOREIGN, os.O_WRONLY | os.O_CREAT),
    "truncate": lambda _: os.truncate(FOREIGN, 0),
    "chmod": lambda _: FOREIGN.chmod(0o777),
    "times": lambda _: os.utime(FOREIGN, (1, 1)),
    "rename": lambda _: FOREIGN.rename(NEW),
    "replace": lambda box: (box / "file").rename(FOREIGN),
    "link": lambda _: os.link(FOREIGN, NEW),
    "link into the box": lambda box: os.link(FOREIGN, box / "link"),
    "link out of the box": lambda box: os.link(box / "file", NEW),
    "symlink": lambda box: NEW.symlink_to(box / "file"),
    "folder": lambda _: NEW.mkdir(),
    "pipe": lambda _: os.mkfifo(NEW),
    "new name for the old": replace_by_own,
    "open": lambda _: libc.sem_open(f"/{FOREIGN.name[4:]}".encode(), 0),
}


@pytest.mark.parametrize("act", CHANGES.values(), ids=CHANGES)
def test_those_of_others_stay_as_they_are(act: Callable[[Path], object]) -> None:
    before = FOREIGN.stat()

    seen = run(acting(act))

    assert seen.trace.verdict is Verdict.UNKNOWN
    assert "escape" in seen.trace.reason
    after = FOREIGN.stat()
    assert FOREIGN.read_text() == "of another program"
    assert (after.st_ino, after.st_mode) == (before.st_ino, before.st_mode)
    assert (after.st_mtime_ns, after.st_nlink) == (before.st_mtime_ns, 1)
    assert not os.path.lexists(NEW)


def use(_: Path) -> None:
    name = f"/{NEW.name[4:]}".encode()
    libc.sem_open.restype = ctypes.c_void_p
    found = libc.sem_open(name, os.O_CREAT | os.O_EXCL, 0o600, 1)
    assert found
    again = libc.sem_open(name, 0)
    assert again
    for each in (found, again):
        assert libc.sem_close(ctypes.c_void_p(each)) == 0
    assert libc.sem_unlink(name) == 0
    assert libc.sem_open(name, 0) is None


def use_and_leave(_: Path) -> None:
    libc.sem_open.restype = ctypes.c_void_p
    assert libc.sem_open(f"/{NEW.name[4:]}".encode(), os.O_CREAT, 0o600, 1)


def ask_for_one_that_is_taken(_: Path) -> None:
    name = f"/{FOREIGN.name[4:]}".encode()
    assert not libc.sem_open(name, os.O_CREAT | os.O_EXCL, 0o600, 1)
    assert libc.sem_unlink(b"/racecheck-test-none") == -1


@pytest.mark.parametrize("act", [use, use_and_leave, ask_for_one_that_is_taken])
def test_own_ones_are_made_and_removed(act: Callable[[Path], object]) -> None:
    seen = run(acting(act))

    assert "escape" not in seen.trace.reason
    assert seen.trace.verdict is Verdict.PASSED
    assert not os.path.lexists(NEW)
    assert FOREIGN.exists()


def test_one_that_another_program_makes_after_it_was_asked_for_stays() -> None:
    def let_another_make_it(machine: Machine) -> None:
        remove = machine.semaphores.remove

        def after_all() -> None:
            NEW.write_text("of another program")
            remove()

        machine.semaphores.remove = after_all  # type: ignore[method-assign]

    def ask(_: Path) -> None:
        os.open(NEW, os.O_RDWR)

    run(acting(ask), change=let_another_make_it)

    assert NEW.read_text() == "of another program"
