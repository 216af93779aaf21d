"""Guards that a call which is not looked up again means what it meant before.

Whenever a step's call is taken for unchanged, it is looked up all the same here, and
both have to be equal. The programs are random, small enough to meet all the time.
"""

from __future__ import annotations

import contextlib
import os
import random
from collections import Counter
from functools import partial
from typing import TYPE_CHECKING

import pytest

from racecheck.engine import Machine
from racecheck.engine.arrivals import Arrivals
from racecheck.engine.changes import Changes
from tests.engine.lab import in_child
from tests.footprint.stage import Ordered, Stage

if TYPE_CHECKING:
    from collections.abc import Callable

    from racecheck.engine.pending import Pending
    from racecheck.engine.task import Task
    from racecheck.kernel.call import Call

pytestmark = [pytest.mark.processes, pytest.mark.slow]

_PROGRAMS = 60
_LENGTH = 8
_ACTORS = ("A", "B", "C")
_PATHS = ("a", "b", "d", "d/a", "d/b", "e", "e/a", "l", "s", "s/a", "s/../b", "t/b")


def fill() -> None:
    for name in ("a", "d/a"):
        os.makedirs(os.path.dirname(name) or ".", exist_ok=True)
        with open(name, "w", encoding="ascii") as file:
            file.write(name)
    os.mkdir("e")
    os.link("a", "e/a")
    os.symlink("a", "l")
    os.symlink("d", "s")
    os.symlink(f"{os.getcwd()}/e", "t")


def put(path: str, flags: int) -> None:
    descriptor = os.open(path, os.O_RDWR | flags, 0o644)
    os.write(descriptor, b"data")
    os.fstat(descriptor)
    os.close(descriptor)


CALLS: tuple[Callable[[str, str], object], ...] = (
    lambda one, _: put(one, os.O_CREAT),
    lambda one, _: put(one, os.O_TRUNC),
    lambda one, _: put(one, os.O_CREAT | os.O_EXCL),
    lambda one, _: os.stat(one),
    lambda one, _: os.lstat(one),
    lambda one, _: os.unlink(one),
    lambda one, _: os.mkdir(one),
    lambda one, _: os.rmdir(one),
    lambda one, _: os.chmod(one, 0o700),
    lambda one, _: os.truncate(one, 1),
    lambda one, _: os.listdir(one),
    lambda one, _: os.readlink(one),
    os.rename,
    os.rename,
    os.link,
    os.symlink,
)


def act(program: list[tuple[int, str, str]]) -> None:
    box = os.getcwd()
    for number, one, other in program:
        with contextlib.suppress(OSError):
            CALLS[number](f"{box}/{one}", f"{box}/{other}")


def meaning(pending: Pending) -> tuple[object, ...]:
    """Return what a call means, without the times of what its paths lead to."""
    walks = [
        (
            walk.error,
            walk.inside,
            walk.parent,
            walk.name,
            walk.target,
            walk.status and walk.status[:7],
            walk.location,
            walk.entries,
            walk.upward,
            walk.folders,
            walk.escaped,
            walk.reached,
        )
        for walk in pending.walks
    ]
    return pending.args, walks, pending.files, pending.inside, pending.escape


class Checking:
    """Looks at every call for which it was decided whether to look it up again."""

    def __init__(self) -> None:
        self.decided: Counter[bool] = Counter()
        self.wrong: list[str] = []
        self._concern = Changes.concern
        self._resolve = Arrivals.resolve
        self._unchanged = False

    def concern(self, changes: Changes, task: Task, pending: Pending) -> bool:
        concerned = self._concern(changes, task, pending)
        self.decided[concerned] += 1
        self._unchanged = not concerned
        return True

    def resolve(self, arrivals: Arrivals, task: Task, call: Call) -> Pending:
        now = self._resolve(arrivals, task, call)
        if self._unchanged:
            self._unchanged = False
            before = task.pending
            assert before is not None
            if meaning(before) != meaning(now):
                self.wrong.append(f"{call}: {meaning(before)}, now {meaning(now)}")
        return now


def test_a_call_that_is_not_looked_up_again_means_what_it_did(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    checking = Checking()

    def concern(changes: Changes, task: Task, pending: Pending) -> bool:
        return checking.concern(changes, task, pending)

    def resolve(arrivals: Arrivals, task: Task, call: Call) -> Pending:
        return checking.resolve(arrivals, task, call)

    monkeypatch.setattr(Changes, "concern", concern)
    monkeypatch.setattr(Arrivals, "resolve", resolve)

    def body() -> tuple[Counter[bool], list[str]]:
        with Machine() as machine:
            stage = Stage(machine)
            for seed in range(_PROGRAMS):
                chance = random.Random(seed)
                programs = {
                    name: [
                        (
                            chance.randrange(len(CALLS)),
                            chance.choice(_PATHS),
                            chance.choice(_PATHS),
                        )
                        for _ in range(_LENGTH)
                    ]
                    for name in _ACTORS
                }
                stage.prepare(
                    fill,
                    {name: partial(act, program) for name, program in programs.items()},
                )
                for _ in range(4):
                    order = [chance.choice(_ACTORS) for _ in range(200)]
                    stage.run(Ordered(order), reuse=True)
        return Counter(checking.decided), list(checking.wrong)

    decided, wrong = in_child(body)

    assert not wrong, wrong[0]
    # Both are frequent, or nothing has been tried here.
    assert min(decided[True], decided[False]) > _PROGRAMS
