"""Guards what actors are told of themselves: repeatable, different where it has to be.

Two real processes never have the same process id, random bytes or addresses. If actors
had, temp names made of those would collide: a race that is not there. In a replay each
has to get what it got before.
"""

from __future__ import annotations

import fcntl
import os
import random
import secrets
import sys
import tempfile
import threading
import uuid
from pathlib import Path

import pytest

from racecheck.kernel.rows import FS_IOC_GETFLAGS, FS_IOC_SETFLAGS
from racecheck.scenario import Me, Scenario, command
from tests.engine.lab import Script, Seen, run, run_all

pytestmark = pytest.mark.processes

NODUMP = (0x40).to_bytes(8, "little")


def values(seen: Seen) -> dict[str, object]:
    return {each.actor: each.value for each in seen.trace.operations}


def test_process_ids_are_small_and_the_same_in_every_execution() -> None:
    made = Scenario("identity")

    @made.writer(count=2)
    def write(box: Path) -> list[int]:
        (box / f"temp.{os.getpid()}").touch()
        return [os.getpid(), threading.get_native_id(), os.getppid()]

    @made.reader
    def read() -> int:
        return os.getpid()

    for seen in run_all(made, [Script(), Script()]):
        assert values(seen) == {
            "write-1": [1001, 1001, 1],
            "write-2": [1002, 1002, 1],
            "read": 1003,
        }
        assert set(seen.files) == {"temp.1001", "temp.1002"}
    assert [actor.pid for actor in seen.trace.actors] == [1001, 1002, 1003]


def test_actors_can_be_given_one_process_id() -> None:
    made = Scenario("identity", same_pid=True)

    @made.writer(count=2)
    def write(box: Path) -> int:
        (box / f"temp.{os.getpid()}").touch()
        return os.getpid()

    seen = run(made)

    assert values(seen) == {"write-1": 1001, "write-2": 1001}
    assert set(seen.files) == {"temp.1001"}


def test_programs_of_any_language_are_told_the_same_process_id() -> None:
    made = Scenario("identity")
    made.actor(command(["sh", "-c", "echo $$ > {box}/$$; echo $PPID"]), name="shell")
    made.actor(
        command([sys.executable, "-S", "-E", "-c", "import os; print(os.getpid())"]),
        name="python",
    )

    seen = run(made)

    assert seen.files == {"1001": "1001\n"}
    assert seen.printed == {"shell": "1\n", "python": "1002\n"}


def draw() -> list[object]:
    """Take random values of every origin; all come from getrandom in the end."""
    with tempfile.NamedTemporaryFile() as file:
        name = Path(file.name).name
    return [
        os.urandom(8).hex(),
        os.getrandom(8).hex(),
        secrets.token_hex(8),
        str(uuid.uuid4()),
        random.Random().random(),
        random.SystemRandom().random(),
        random.random(),
        name,
        Path("/dev/urandom").open("rb").read(8).hex(),
    ]


def test_random_bytes_are_those_of_the_seed_and_of_the_actor() -> None:
    made = Scenario("identity")
    made.actor(draw, name="draw", count=2, repeat=2)

    first, again, other = run_all(made, [Script(), Script(), Script(seed=1)])

    drawn = [each.value for each in first.trace.operations]
    assert drawn == [each.value for each in again.trace.operations]
    assert all(isinstance(each, list) for each in drawn)
    everything = [
        value
        for seen in (first, other)
        for each in seen.trace.operations
        for value in each.value  # type: ignore[attr-defined]  # checked above
    ]
    assert len(set(everything)) == len(everything) == 2 * 2 * 2 * 9


def test_names_drawn_before_make_no_difference_to_an_actor_with_the_same_id(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Who has drawn names as process 1001 draws on from there.
    names = tempfile._RandomNameSequence()  # type: ignore[attr-defined]
    next(names)
    monkeypatch.setattr(names, "_rng_pid", 1001)
    monkeypatch.setattr(tempfile, "_name_sequence", names)
    made = Scenario("identity")
    made.actor(draw, name="draw")

    first, other = run_all(made, [Script(), Script(seed=1)])

    ((one,), (two,)) = (seen.trace.operations for seen in (first, other))
    assert isinstance(one.value, list)
    assert isinstance(two.value, list)
    assert not set(one.value) & set(two.value)


def test_an_executed_program_gets_random_bytes_of_its_actor() -> None:
    made = Scenario("identity")
    code = "import os; print(os.urandom(8).hex(), hash('text'), id(object()))"
    made.actor(command([sys.executable, "-S", "-c", code]), name="python", count=2)

    first, second = (run(made).printed for _ in range(2))

    one, other = (first[name].split() for name in ("python-1", "python-2"))
    assert one[0] != other[0]
    assert [first[name].split()[0] for name in first] == [
        second[name].split()[0] for name in second
    ]


def test_an_actor_draws_numbers_of_its_own_from_me() -> None:
    made = Scenario("identity")

    @made.actor(count=2)
    def act(me: Me) -> list[object]:
        return [me.name, me.index, me.role, me.random.random()]

    first, again, other = run_all(made, [Script(), Script(), Script(seed=1)])

    assert values(first) == values(again)
    numbers = [
        each.value[3]  # type: ignore[index]  # a list
        for seen in (first, other)
        for each in seen.trace.operations
    ]
    assert len(set(numbers)) == 4
    assert [value[:3] for value in values(first).values()] == [  # type: ignore[index]  # lists
        ["act-1", 0, "actor"],
        ["act-2", 1, "actor"],
    ]


def test_an_actor_starts_from_a_clean_state() -> None:
    made = Scenario("identity")

    @made.actor
    def act(box: Path) -> list[object]:
        descriptors = sorted(map(int, os.listdir("/proc/self/fd")))
        mask = os.umask(0)
        return [descriptors[:-1], mask, os.getcwd() == str(box), os.read(0, 1).decode()]

    old = os.umask(0o077)
    try:
        seen = run(made)
    finally:
        os.umask(old)

    # The last is that of the listing itself.
    assert values(seen) == {"act": [[0, 1, 2], 0o022, True, ""]}


def test_each_execution_starts_from_the_box_that_setup_left() -> None:
    made = Scenario("identity")

    @made.setup
    def setup(box: Path) -> None:
        (box / "folder").mkdir(mode=0o750)
        (box / "folder" / "file").write_text("text")
        (box / "folder" / "file").chmod(0o640)
        (box / "link").symlink_to("folder/file")

    @made.actor
    def act(box: Path) -> list[object]:
        status = (box / "folder" / "file").stat()
        found = [sorted(os.listdir(box)), oct(status.st_mode), int(status.st_mtime)]
        (box / "link").unlink()
        (box / "folder" / "file").write_text("changed")
        (box / "folder").chmod(0)
        (box / "new").touch()
        return found

    first, second = run_all(made, [Script(), Script()])

    assert values(first) == values(second)
    assert values(first)["act"] == [["folder", "link"], "0o100640", 1_700_000_000]


def test_folders_that_stay_lose_what_an_actor_has_given_them() -> None:
    made = Scenario("identity")

    @made.setup
    def setup(box: Path) -> None:
        box.chmod(0o750)

    @made.actor
    def act(box: Path) -> list[object]:
        os.setxattr(box, "user.seen", b"1", os.XATTR_CREATE)
        found: list[object] = [sorted(os.listxattr(box)), oct(box.stat().st_mode)]
        box.chmod(0o700)
        folder = os.open(box, os.O_RDONLY)
        found.append(fcntl.ioctl(folder, FS_IOC_GETFLAGS, bytes(8)))
        fcntl.ioctl(folder, FS_IOC_SETFLAGS, NODUMP)
        return found

    first, second = run_all(made, [Script(), Script()])

    assert values(first) == values(second)
    assert values(first)["act"] == [["user.seen"], "0o40750", bytes(8)]
