"""Guards what F_GETLK tells of the lock that is in the way."""

from __future__ import annotations

import fcntl
import itertools
import os
import struct
from typing import TYPE_CHECKING

import pytest

from racecheck.scenario import Scenario
from tests.engine.lab import run
from tests.locks.kinds import OFD, POSIX, Lock, create, record

if TYPE_CHECKING:
    from pathlib import Path

    from racecheck.scenario import Me

pytestmark = pytest.mark.processes

PARTS = {"one": (0, 4), "two": (2, 4), "three": (8, 4)}


def asking(lock: Lock) -> Scenario:
    """Return three who hold shared locks, and one who asks about an exclusive one."""
    made = Scenario("locks")

    def hold(box: Path, me: Me) -> None:
        lock.take(create(box / "lock"), fcntl.LOCK_SH, PARTS[me.name])
        (box / me.name).mkdir()

    for name in PARTS:
        made.actor(hold, name=name)

    @made.actor
    def ask(box: Path) -> list[int]:
        asked = record(fcntl.F_WRLCK, 1, 20)
        found = fcntl.fcntl(create(box / "lock"), fcntl.F_GETLK, asked)
        return list(struct.unpack("=hh4xqqi4x", found))

    return made


@pytest.mark.parametrize(("lock", "pid"), [(POSIX, 1001), (OFD, -1)])
def test_one_lock_is_told_of_in_whatever_order_they_were_taken(
    lock: Lock, pid: int
) -> None:
    for order in itertools.permutations(PARTS):
        script = [f"{name} to mkdir" for name in order]
        seen = run(asking(lock), *script, "ask to end")

        found = seen.operation("ask").value

        # The first that begins, and the holder by the id that programs are shown.
        assert found == [fcntl.F_RDLCK, os.SEEK_SET, 0, 4, pid]


def test_no_lock_is_told_of_where_none_is_in_the_way() -> None:
    made = Scenario("locks")

    @made.actor
    def hold(box: Path) -> list[int]:
        number = create(box / "lock")
        fcntl.lockf(number, fcntl.LOCK_EX, 4, 0)
        asked = record(fcntl.F_WRLCK, 0, 4)
        found = fcntl.fcntl(number, fcntl.F_GETLK, asked)
        return list(struct.unpack("=hh4xqqi4x", found))

    found = run(made, "hold to end").operation("hold").value

    assert isinstance(found, list)
    assert found[0] == fcntl.F_UNLCK
