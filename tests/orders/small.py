"""Small programs for all of whose orders there is time: written down, or random."""

from __future__ import annotations

import math
import os
import shlex
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from tests.footprint.acting import act
from tests.footprint.acting import perform as perform_one
from tests.footprint.programs import Maker, make_box
from tests.footprint.spellings import is_free

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Collection, Mapping

    from racecheck.model import SchedulingPoint
    from tests.footprint.programs import Op, Program

SHAPES = (
    *((2, 2), (3, 2), (3, 3), (4, 3), (4, 4), (5, 3), (5, 4), (5, 5), (6, 4), (6, 5)),
    *((1, 1, 1), (2, 1, 1), (2, 2, 1), (2, 2, 2), (3, 2, 1), (3, 2, 2), (4, 2, 1)),
    *((3, 3, 2), (4, 2, 2), (4, 3, 2), (3, 3, 3)),
    *((1, 1, 1, 1), (2, 1, 1, 1), (2, 2, 1, 1), (3, 1, 1, 1), (2, 2, 2, 1)),
)
"""How many steps each actor may take, about: from 6 orders to 1,680."""

_WEIGHTS = [
    (math.prod(map(math.factorial, shape)) / math.factorial(sum(shape))) ** 0.8
    for shape in SHAPES
]
"""Programs with few orders are tried more often, so that there are more programs."""

_COSTS = {"openat": 3, "list": 5, "listfd": 2, "readfd": 3, "copy.splice": 2}
_LEFT_OUT = {
    "sleep": "it makes others wait for all the rest",
    "fchdir": "an actor uses it to go back",
}
_USING = """
read pread write pwrite seek ftruncate fallocate copy fstat flock wait lockf ofd getlk
close dup fchmod linkfd listfd readfd sync map getflags setflags fchown fsetxattr
fgetxattr flistxattr fremovexattr fexecute
"""
_BY_SLOT = frozenset(_USING.split())
_WAITING = {"flock": "wait", "lockf": "lockf.wait", "ofd": "ofd.wait"}
_LOCKS = frozenset({"flock", "wait", "lockf", "ofd", "getlk"})
_TRIES = 20

_MORE_CALLS = frozenset({"openat", "openat.in_root", "list", "readfd", "copy.splice"})
_SINGLE = {
    # Of several locks that are in the way, racecheck does not name the kernel's.
    "getlk": "getlk.whether",
    "getlk.open": "getlk.open_whether",
    "listfd": "listfd.once",
    "listfd.old": "listfd.old_once",
    "stat": "stat.x",
    "lstat": "lstat.x",
    "fstat": "fstat.x",
}
_REPLACING = frozenset({"dup.dup2", "dup.dup3"})


class Small(NamedTuple):
    """Programs of a few steps.

    Attributes:
        box: What fills the box.
        actors: What each actor does.
    """

    box: Program
    actors: Mapping[str, Program]

    @classmethod
    def of(cls, box: str, *programs: str) -> Small:
        """Read programs as they are written down: `open x RDWR 0; write 0 2`.

        Actors are called `A`, `B` and so on, in the order of their programs.
        """
        return cls(parse(box), dict(zip("ABCD", map(parse, programs), strict=False)))

    def fill(self) -> Callable[[], object]:
        """Return what fills the box."""
        return partial(act, self.box)

    def functions(self) -> dict[str, Callable[[], object]]:
        """Return what each actor runs."""
        return {name: partial(perform, each) for name, each in self.actors.items()}

    def is_private(self, point: SchedulingPoint, taken: int) -> bool:
        """Say of a step that it touches nothing which others touch.

        Args:
            point: Where it is about to be taken.
            taken: Steps that the actor took before.
        """
        # What is open is closed before the end.
        if point.call in {"return", "exit_group", "fchdir"}:
            return True
        if point.call == "close":
            return not self.locks
        return taken == 0 and _moves(self.actors[point.actor])

    @property
    def locks(self) -> bool:
        """Whether anybody locks, so that others may see what is closed."""
        return self.does(_LOCKS)

    def does(self, what: Collection[str]) -> bool:
        """Say whether anybody does any of some things."""
        return any(base(op) in what for each in self.actors.values() for op in each)

    def moves(self, name: str) -> bool:
        """Say whether an actor changes its working directory."""
        return _moves(self.actors[name])

    def __str__(self) -> str:
        parts = {"box": self.box, **self.actors}
        return "\n".join(
            f"  {name}: {'; '.join(' '.join(op) for op in program)}"
            for name, program in parts.items()
        )


def parse(text: str) -> Program:
    """Read one program."""
    return tuple(tuple(shlex.split(op)) for op in text.split(";") if op.strip())


def perform(program: Program) -> list[object]:
    """Run a program, and leave its process as it was, so that it can be used again."""
    home = os.open(".", os.O_PATH) if _moves(program) else -1
    found = act([*program, *closes(program)])
    if home >= 0:
        os.fchdir(home)
        os.close(home)
    return found[: len(program)]


def closes(program: Program) -> Program:
    """Return what closes all that a program can have open."""
    return tuple(("close", slot) for slot in sorted(_slots(program)))


def make_small(generator: random.Random, *, single: bool = False) -> Small:
    """Return random programs, with a few names in common.

    Args:
        generator: Makes them.
        single: Whether each operation has to be one call, that shows no times.
    """
    maker = Maker(generator)
    (shape,) = generator.choices(SHAPES, _WEIGHTS)
    return Small(
        make_box(generator),
        {
            name: _program(generator, maker, steps, single=single)
            for name, steps in zip("ABCD", shape, strict=False)
        },
    )


def _program(
    generator: random.Random, maker: Maker, steps: int, *, single: bool
) -> Program:
    """Return a program of about so many steps."""
    program: list[Op] = []
    for _ in range(_TRIES):
        op = maker.operation()
        if single:
            if op[0] in _MORE_CALLS:
                continue
            op = (_SINGLE.get(op[0], op[0]), *op[1:])
        if op[0] in _LEFT_OUT:
            continue
        if op[0] in _WAITING and op[2] != "UN" and generator.random() < 0.5:
            op = (_WAITING[op[0]], *op[1:])
        open_already = _slots(program)
        needed = [slot for slot in _used(op) if slot not in open_already]
        # What opens something would close what was there, by a call of its own.
        taken = _slots([op]) & open_already if single else ()
        added = [
            *(("close", slot) for slot in taken if op[0] not in _REPLACING),
            *(maker.opening(slot, folder=base(op) == "listfd") for slot in needed),
            op,
        ]
        cost = sum(_COSTS.get(each[0], _COSTS.get(base(each), 1)) for each in added)
        if cost <= steps:
            program += added
            steps -= cost
        if not steps:
            break
    return tuple(program)


def base(op: Op) -> str:
    """Return what an operation does, whatever call does it."""
    return op[0].partition(".")[0]


def _used(op: Op) -> tuple[str, ...]:
    """Return the slots that have to be open for an operation to do something."""
    if base(op) not in _BY_SLOT:
        return ()
    return tuple(dict.fromkeys(op[1:3])) if base(op) == "copy" else op[1:2]


def _slots(program: Program | list[Op]) -> set[str]:
    """Return the slots that a program opens."""
    places = {"open": 3, "folder": 3, "openat": 4, "dup": 2, "nameless": 2}
    return {op[places[base(op)]] for op in program if base(op) in places}


def _moves(program: Program) -> bool:
    return any(op[0] == "chdir" for op in program)


# --- what an operation does, for those that carry it out by themselves ----------------


def makes_no_call(op: Op, slots: Mapping[str, int]) -> bool:
    """Say whether an operation finds nothing to be done: what it uses is not open."""
    if base(op) == "dup" and op[1] == op[2]:
        return True
    return any(slot not in slots for slot in _used(op))


def needs_processes(small: Small) -> bool:
    """Say whether there are locks that belong to whole processes."""
    return small.does({"lockf", "getlk"})


def tried(op: Op) -> Op:
    """Return what tries a lock, of an operation that waits for it."""
    name, *args = op
    without = {"wait": "flock", "lockf.wait": "lockf", "ofd.wait": "ofd"}
    return (without.get(name, name), *args)


def can_be_had(op: Op, slots: dict[str, int]) -> bool:
    """Say whether a lock that was tried in vain can be had by now."""
    if op[0] == "wait":
        # An attempt that fails has let go of what was held, so nothing is lost.
        if perform_one(slots, tried(op)) is not None:
            return False
        perform_one(slots, ("flock", op[1], "UN"))
        return True
    return is_free(slots, op)
