"""Small programs for all of whose orders there is time: written down, or random."""

from __future__ import annotations

import math
import os
import shlex
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from tests.footprint.acting import act
from tests.footprint.programs import Maker, make_box

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Mapping

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
    math.sqrt(math.prod(map(math.factorial, shape)) / math.factorial(sum(shape)))
    for shape in SHAPES
]
"""Programs with few orders are tried more often, so that there are more programs."""

_COSTS = {"openat": 3, "list": 5, "listfd": 2, "readfd": 3}
_LEFT_OUT = {
    "sleep": "it makes others wait for all the rest",
    "fchdir": "an actor uses it to go back",
}
_USING = (
    "read pread write pwrite seek ftruncate fallocate copy fstat flock wait lockf ofd "
    "getlk close dup fchmod linkfd listfd readfd"
)
_BY_SLOT = frozenset(_USING.split())
_LOCKS = frozenset({"flock", "wait", "lockf", "ofd", "getlk"})
_TRIES = 20


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
            return not any(
                op[0] in _LOCKS for program in self.actors.values() for op in program
            )
        return taken == 0 and _moves(self.actors[point.actor])

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
    closes = [("close", slot) for slot in sorted(_slots(program))]
    found = act([*program, *closes])
    if home >= 0:
        os.fchdir(home)
        os.close(home)
    return found[: len(program)]


def make_small(generator: random.Random) -> Small:
    """Return random programs, with a few names in common."""
    maker = Maker(generator)
    (shape,) = generator.choices(SHAPES, _WEIGHTS)
    return Small(
        make_box(generator),
        {
            name: _program(generator, maker, steps)
            for name, steps in zip("ABCD", shape, strict=False)
        },
    )


def _program(generator: random.Random, maker: Maker, steps: int) -> Program:
    """Return a program of about so many steps."""
    program: list[Op] = []
    for _ in range(_TRIES):
        op = maker.operation()
        if op[0] in _LEFT_OUT:
            continue
        if op[0] == "flock" and op[2] != "UN" and generator.random() < 0.5:
            op = ("wait", *op[1:])
        open_already = _slots(program)
        needed = [slot for slot in _used(op) if slot not in open_already]
        added = [
            *(maker.opening(slot, folder=op[0] == "listfd") for slot in needed),
            op,
        ]
        cost = sum(_COSTS.get(each[0], 1) for each in added)
        if cost <= steps:
            program += added
            steps -= cost
        if not steps:
            break
    return tuple(program)


def _used(op: Op) -> tuple[str, ...]:
    """Return the slots that have to be open for an operation to do something."""
    if op[0] not in _BY_SLOT:
        return ()
    return tuple(dict.fromkeys(op[1:3])) if op[0] == "copy" else op[1:2]


def _slots(program: Program | list[Op]) -> set[str]:
    """Return the slots that a program opens."""
    places = {"open": 3, "folder": 3, "openat": 4, "dup": 2}
    return {op[places[op[0]]] for op in program if op[0] in places}


def _moves(program: Program) -> bool:
    return any(op[0] == "chdir" for op in program)
