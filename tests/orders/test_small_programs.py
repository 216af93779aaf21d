"""Guards that no order is missed in the programs in which orders are easily missed.

Each is the smallest of its kind. All its orders are run on the real kernel, whoever is
declared first, and the search has to find what came of them in as many executions as
there are inequivalent orders. docs/conflicts.md says what each of them is about.
"""

from __future__ import annotations

import fcntl
import itertools
import os
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import pytest

from racecheck.engine import Machine
from racecheck.kernel.numbers import numbers
from racecheck.scheduling import DPORScheduler
from tests.engine.lab import in_child
from tests.footprint.stage import Stage
from tests.orders.comparing import missed
from tests.orders.every import Found, every_order, search
from tests.orders.small import Small

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = pytest.mark.processes


class Case(NamedTuple):
    """Programs whose orders are counted.

    Attributes:
        name: What they are about.
        sorts: Inequivalent orders.
        outcomes: Different things that come of them.
        box: What fills the box.
        programs: What each actor does; `$BOX` stands for the path of the box.
    """

    name: str
    sorts: int
    outcomes: int
    box: str
    programs: tuple[str, ...]


def case(name: str, sorts: int, outcomes: int, box: str, *programs: str) -> Case:
    return Case(name, sorts, outcomes, box, programs)


UPGRADE = "open x RDWR 0; flock 0 SH; flock 0 EX"
STATE_OF_D = "folder d RDONLY|DIRECTORY 0; listfd 0"

PITFALLS = (
    case(
        "1 a folder on the way is made",
        *(2, 2, "mkdir d"),
        "mkdir d/s",
        "open d/s/x WRONLY|CREAT 0",
    ),
    case(
        "2 the folder that .. starts from is moved",
        *(3, 3, "mkdir d; mkdir d/s; mkdir e; fill d/x a"),
        "chdir d/s; stat ../x",
        "rename d/s e/s",
    ),
    case(
        "3 two folders are moved into each other",
        *(4, 4, "mkdir d; mkdir e"),
        "chdir d; rename $BOX/e q",
        "chdir e; rename $BOX/d q",
    ),
    case(
        "4 another name of a file goes while its links are counted",
        *(2, 2, "fill x a; link x y"),
        "stat x",
        "unlink y",
    ),
    case(
        "4 an open file is replaced while its links are counted",
        *(3, 3, "fill x a; fill y bc"),
        "open y RDONLY 0; fstat 0",
        "rename x y",
    ),
    case(
        "5 a folder gets a file and is removed",
        *(2, 2, "mkdir d"),
        "open d/x WRONLY|CREAT 0",
        "rmdir d",
    ),
    case(
        "5 a folder gets a file and is replaced",
        *(2, 2, "mkdir d; mkdir e"),
        "open d/x WRONLY|CREAT 0",
        "rename e d",
    ),
    case(
        "6 a working directory is removed before a name is made in it",
        *(3, 3, "mkdir d"),
        "chdir d; symlink t k",
        "rmdir d",
    ),
    case(
        "7 a read comes to the end of a file that grows",
        *(2, 2, "fill x ''"),
        "open x RDWR 0; pwrite 0 1 0",
        "open x RDONLY 0; read 0 2",
    ),
    case(
        "8 a gap that a write leaves is read",
        *(2, 2, "fill x ab"),
        "open x RDWR 0; pwrite 0 1 5",
        "open x RDONLY 0; pread 0 2 2",
    ),
    case(
        "9 a working directory is moved and asked for",
        *(3, 3, "mkdir d"),
        "chdir d; getcwd",
        "rename d e",
    ),
    case(
        "10 two locks that fail to be upgraded are lost",
        *(8, 7, "fill x a"),
        UPGRADE,
        UPGRADE,
    ),
    case(
        "11 a file is renamed to another of its names",
        *(1, 1, "fill x a; link x y"),
        "rename x y",
        "stat x",
    ),
    case(
        "14 an inode number is used again in another order",
        *(1, 1, "mkdir d; mkdir z; fill x a"),
        "open d/n RDWR|CREAT|EXCL 0; unlink x",
        "rmdir z; stat d",
    ),
    case(
        "15 a folder is moved into one below it that is removed",
        *(6, 4, "mkdir d; mkdir d/s"),
        "chdir d/s; rename $BOX/d s",
        "rmdir d/s; rename d q",
    ),
    case(
        "16 a name changes places in a listing of several calls",
        *(4, 4, "mkdir d; fill d/x a; fill d/y a; fill d/z a; fill x b"),
        f"{STATE_OF_D} 64",
        "rename x d/x",
    ),
    case(
        "16 two names change places in a listing of several calls",
        *(4, 3, "mkdir d; fill d/x a; fill d/y a; fill d/z a"),
        f"{STATE_OF_D} 64",
        "exchange d/x d/z",
    ),
    case(
        # The inodes in it are told too, though not by these programs.
        "16 a name changes places before a listing of one call",
        *(2, 1, "mkdir d; fill d/x a; fill d/y a; fill d/z a; fill x b"),
        f"{STATE_OF_D} 4096",
        "rename x d/x",
    ),
    case(
        # Time stands still while files are written, so there is one answer.
        "17 the times of two files are compared",
        *(1, 1, "fill x a; fill y a"),
        "open x RDWR 0; pwrite 0 1 0",
        "open y RDWR 0; pwrite 0 1 0",
        "stat x; stat y",
    ),
    case(
        # Names come sorted, so the order in which they were made is not seen.
        "18 names come in a folder that is listed",
        *(3, 2, "mkdir d"),
        "open d/x WRONLY|CREAT 0",
        f"open d/y WRONLY|CREAT 1; {STATE_OF_D} 4096",
    ),
    *(
        case(
            f"18 names come in a folder that is listed by {call}",
            *(3, 2, "mkdir d"),
            "open d/x WRONLY|CREAT 0",
            f"open d/y WRONLY|CREAT 1; {STATE_OF_D.replace('listfd', 'listfd.old')} 99",
        )
        # The older form of the call, which newer machines lack.
        for call in {"getdents"} & numbers().keys()
    ),
    case(
        "19 somebody waits for a lock",
        *(6, 3, "fill x a"),
        UPGRADE,
        "open x RDWR 0; write 0 1; wait 0 EX",
    ),
    case(
        "20 a step fails earlier and reads less",
        *(3, 3, "mkdir d; symlink t z"),
        "rename d z",
        "stat q; rmdir d",
        "unlink z",
    ),
    case(
        "21 a link leads through a folder that is moved",
        *(2, 2, "mkdir d; fill d/x a; symlink d z"),
        "open z/x RDONLY 0",
        "rename d q",
    ),
    case(
        "21 one file under two names",
        *(2, 2, "fill x ''; link x y"),
        "open y RDWR 0; write 0 2",
        "open x RDONLY 0; fstat 0",
    ),
    case(
        "21 a file that is open loses its name",
        *(3, 3, "fill x a"),
        "unlink x",
        "open x RDONLY 0; fstat 0",
    ),
    case(
        "21 a folder that is open is removed",
        *(4, 3, "mkdir d"),
        "rmdir d",
        f"{STATE_OF_D} 4096",
    ),
    case(
        "21 a file is written through its new name",
        *(3, 3, "fill x abc"),
        "rename x q; open q RDWR 0; pwrite 0 2 0",
        "open x RDONLY 0; pread 0 2 0",
    ),
    case(
        "21 relative and absolute names",
        *(2, 2, "mkdir d; fill d/x a"),
        "chdir d; unlink x",
        "stat $BOX/d/x",
    ),
    case(
        "22 nothing is in a folder before it is made nor after",
        *(1, 1, ""),
        "stat d/x",
        "mkdir d",
    ),
    case(
        "22 nothing is in a folder until something is made there",
        *(2, 2, ""),
        "stat d/x",
        "mkdir d; mkdir d/x",
    ),
    case(
        "22 nothing is in a folder that another has made until a third one fills it",
        *(4, 3, ""),
        "stat d/x",
        "mkdir d",
        "mkdir d/x; open d/x/y WRONLY|CREAT 0",
    ),
    case(
        "23 nothing is in a folder until it is replaced",
        *(2, 2, "mkdir e; fill e/x a"),
        "stat d/x",
        "mkdir d; rename e d",
    ),
    case(
        "23 nothing is found until a link leads there",
        *(3, 2, "mkdir e; fill e/x a"),
        "access d/x; access d/y",
        "symlink e d",
    ),
    case(
        "24 nothing is in a folder until its maker stands in it",
        *(2, 2, ""),
        "stat d/x",
        "mkdir d; chdir d; mkdir x",
    ),
    case(
        "25 a folder that is open is removed while its links are counted",
        *(3, 3, "mkdir d"),
        "folder d RDONLY|DIRECTORY 0; fstat 0",
        "rmdir d",
    ),
    case(
        "26 a working directory is moved and its link in /proc is read",
        *(3, 3, "mkdir d"),
        "chdir d; getcwd.link",
        "rename d e",
    ),
    case(
        "27 a folder is the root of a path that would lead out of it",
        *(2, 2, "mkdir d; fill d/x a; fill x b"),
        "openat.in_root d x RDONLY 0; pread 0 1 0",
        "open d/x RDWR 1; pwrite 1 1 0",
    ),
)

FILL = "WRONLY|CREAT|TRUNC 0; write 0 2; write 0 2; close 0"
KNOWN = (
    case(
        "two writers with a temp name in common",
        *(34, 18, ""),
        *[f"open t {FILL}; rename t x"] * 2,
    ),
    case(
        "two writers with temp names of their own",
        *(2, 2, ""),
        *(f"open t{number} {FILL}; rename t{number} x" for number in (1, 2)),
    ),
    case(
        "three that append",
        *(6, 6, "fill x ''"),
        *["open x WRONLY|APPEND 0; write 0 2; close 0"] * 3,
    ),
    case(
        "two that wait for each other",
        *(7, 2, "fill x a; fill y a"),
        *(
            f"open x RDWR 0; open y RDWR 1; wait {one} EX; wait {other} EX"
            for one, other in ("01", "10")
        ),
    ),
    case(
        "three that share a lock",
        *(1, 1, "fill x ''"),
        *["open x RDWR 0; wait 0 SH; close 0"] * 3,
    ),
)


def in_all_roles(
    programs: tuple[str, ...],
) -> Iterator[tuple[str, ...]]:
    """Return programs in each order of declaration that makes a difference."""
    return iter(dict.fromkeys(itertools.permutations(programs)))


def run(box: str, programs: tuple[str, ...]) -> tuple[Found, Found, Found]:
    """Return what all orders show, and the search with and without sleep sets."""

    def body() -> tuple[Found, Found, Found]:
        with Machine() as machine:
            stage = Stage(machine)
            here = str(machine.sandbox.box)
            small = Small.of(box, *(each.replace("$BOX", here) for each in programs))
            stage.prepare(small.fill(), small.functions())
            every = every_order(stage, limit=2000, is_private=small.is_private)
            return every, search(stage), search(stage, sleep_sets=False)

    return in_child(body)


def id_of(each: Case) -> str:
    return each.name.replace(" ", "-")


@pytest.mark.parametrize("each", PITFALLS + KNOWN, ids=id_of)
def test_every_order_is_found_once(each: Case) -> None:
    for programs in in_all_roles(each.programs):
        every, found, without = run(each.box, programs)

        assert every.wrong == []
        assert (len(every.sorts), len(every.outcomes)) == (each.sorts, each.outcomes)
        assert missed(every, found) == []
        assert found.executions == each.sorts
        assert missed(every, without) == []


UNSEEN = {
    "1": "entry",
    "2": "parent",
    "3": "parent",
    "4": "links",
    "5": "membership",
    "6": "alive membership",
    "7": "size",
    "8": "data size",
    "9": "entry",
    "10": "lock",
    "15": "alive parent entry",
    "16": "order",
    "18": "membership",
    "19": "lock",
    "21": "entry links data size membership",
    "22": "missing",
    "23": "way",
    "24": "named",
    "25": "alive",
    "26": "entry",
    "27": "data",
}
"""Kinds of resources by the numbers of pitfalls that are about not seeing them."""

LOST = [
    each for each in PITFALLS if each.name.split()[0] in UNSEEN and each.outcomes > 1
]


@pytest.mark.parametrize("each", LOST, ids=id_of)
def test_a_search_that_does_not_see_it_misses_what_comes_of_it(each: Case) -> None:
    unseen = UNSEEN[each.name.split()[0]].split()

    def body(programs: tuple[str, ...]) -> int:
        with Machine() as machine:
            stage = Stage(machine)
            here = str(machine.sandbox.box)
            small = Small.of(
                each.box, *(text.replace("$BOX", here) for text in programs)
            )
            stage.prepare(small.fill(), small.functions())
            return len(search(stage, blind=unseen).outcomes)

    found = [
        in_child(partial(body, programs)) for programs in in_all_roles(each.programs)
    ]

    # Some are missed only if the right actor is declared first.
    assert min(found) < each.outcomes


def test_textbook_sleep_sets_miss_a_step_that_fails_earlier(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(DPORScheduler, "_virtual_races", lambda *_: None)
    (each,) = (each for each in PITFALLS if each.name.startswith("20 "))

    counts = set()
    for programs in in_all_roles(each.programs):
        every, found, without = run(each.box, programs)
        counts.add(len(found.outcomes))
        assert missed(every, without) == []

    # Whether they do depends on who is tried first.
    assert counts == {2, 3}


def shared(act: Callable[[], object]) -> Found:
    """Run all orders of the tasks of one actor.

    The search does not: what tasks share in memory is no resource. So this is about
    the footprints alone.
    """

    def fill() -> None:
        with open("x", "w", encoding="ascii") as file:
            file.write("abcd")

    def body() -> Found:
        with Machine() as machine:
            stage = Stage(machine)
            stage.prepare(fill, {"A": act})
            return every_order(stage, limit=2000)

    return in_child(body)


def read_with_a_child() -> tuple[bytes, int]:
    number = os.open("x", os.O_RDONLY)
    child = os.fork()
    if child == 0:
        os._exit(os.read(number, 1)[0])
    own = os.read(number, 1)
    return own, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def write_with_a_child() -> None:
    number = os.open("x", os.O_RDWR)
    child = os.fork()
    os.write(number, b"1" if child else b"2")
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)


def unlock_with_a_child() -> int:
    number = os.open("x", os.O_RDONLY)
    fcntl.flock(number, fcntl.LOCK_EX)
    child = os.fork()
    os.close(number)
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    other = os.open("x", os.O_RDONLY)
    try:
        fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os._exit(1)
    os._exit(0)


@pytest.mark.parametrize(
    "act",
    [
        pytest.param(unlock_with_a_child, id="12-a-shared-open-file-is-closed"),
        pytest.param(read_with_a_child, id="13-a-shared-position-is-read-from"),
        pytest.param(write_with_a_child, id="13-a-shared-position-is-written-to"),
    ],
)
def test_orders_of_tasks_that_end_differently_are_told_apart(
    act: Callable[[], object],
) -> None:
    every = shared(act)

    assert len(every.outcomes) == 2
    assert len(every.sorts) > 1
    assert not [text for text in every.wrong if text.startswith("equal orders differ")]
