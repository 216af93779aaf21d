"""Every order of small programs as plain system calls, with nobody tracing them.

One process makes the calls of all actors, each from the actor's working directory and
with the actor's descriptors. What comes of an order is the kernel's word alone then, to
hold against what a search says; and it takes a tenth of the time that it takes to trace
it. Where locks belong to a process, each actor is a thread that shares neither working
directory nor descriptors with others: to the kernel, locks are of these descriptors.

Programs have to make one call an operation (`small.make_single`). A lock that is waited
for is tried, and who did not get it tries again at any time after it could be had: by
then another may have it, and that try fails as well.
"""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING

import msgspec

from tests.footprint.acting import act, perform
from tests.footprint.left import describe
from tests.footprint.slots import NAMES, call
from tests.orders.small import (
    can_be_had,
    closes,
    makes_no_call,
    needs_processes,
    tried,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from racecheck.engine.sandbox import Sandbox
    from tests.footprint.programs import Op
    from tests.orders.small import Small

_APART = 0x200 | 0x400  # CLONE_FS, CLONE_FILES


class Outcome(msgspec.Struct, frozen=True):
    """What came of an order.

    Attributes:
        order: Who made each call.
        private: Which of the calls were made at once, their place being no matter.
        shown: What the operations gave, what was left, and who waits for ever.
    """

    order: tuple[str, ...]
    private: tuple[int, ...]
    shown: str


class _Actor:
    """Makes the calls of one actor, in the thread of whoever asks for them."""

    def __init__(self, name: str, number: int, program: list[Op], box: str) -> None:
        self.name = name
        self.values: list[object] = []
        self.waits = False
        self._number = number
        self._program = program
        self._box = box
        self._slots: dict[str, int] = {}
        self._here = -1
        self._moves = any(op[0] in {"chdir", "fchdir"} for op in program)

    @property
    def next(self) -> Op | None:
        """The operation that comes next and makes a call."""
        while len(self.values) < len(self._program):
            op = self._program[len(self.values)]
            if not makes_no_call(op, self._slots):
                return op
            self.values.append(perform(self._slots, op))
        return None

    def take(self) -> None:
        """Make the next call."""
        op = self.next
        assert op is not None
        NAMES.number = self._number
        self._enter()
        found = perform(self._slots, tried(op))
        self._leave()
        self.waits = tried(op) != op and found in ("errno 11", "errno 13")
        if not self.waits:
            self.values.append(found)

    def can_go_on(self) -> bool:
        """Say whether what it waits for can be had."""
        op = self.next
        assert op is not None
        return can_be_had(op, self._slots)

    def restart(self) -> None:
        """Forget everything, and begin anew."""
        for descriptor in set(self._slots.values()):
            os.close(descriptor)
        if self._here >= 0:
            os.close(self._here)
            self._here = -1
        self._slots.clear()
        self.values = []
        self.waits = False

    def end(self) -> None:
        """Close everything."""
        self.restart()

    def _enter(self) -> None:
        """Go where the actor is."""
        if self._here >= 0:
            os.fchdir(self._here)
        else:
            os.chdir(self._box)

    def _leave(self) -> None:
        """Keep where the actor is, if it can be elsewhere than the others."""
        if self._moves:
            if self._here >= 0:
                os.close(self._here)
            self._here = os.open(".", os.O_PATH)


class _Apart(_Actor):
    """The same by a thread of its own, to which the locks of its process belong."""

    def __init__(self, name: str, number: int, program: list[Op], box: str) -> None:
        super().__init__(name, number, program, box)
        # Taken from the start: each is let go by one side and taken by the other.
        self._go, self._done = threading.Lock(), threading.Lock()
        self._go.acquire()
        self._done.acquire()
        self._ask: Callable[[], bool | None] = lambda: None
        self._answer: bool | BaseException | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def take(self) -> None:
        """Have the thread make the next call."""
        self._tell(super().take)

    def can_go_on(self) -> bool:
        """Have the thread see whether what it waits for can be had."""
        return bool(self._tell(super().can_go_on))

    def restart(self) -> None:
        """Have the thread close what it has open."""
        self._tell(super().restart)

    def end(self) -> None:
        """End the thread, and with it all that it has open."""
        self._tell(_end)
        self._thread.join()

    def _tell(self, what: Callable[[], bool | None]) -> bool | None:
        self._ask = what
        self._go.release()
        self._done.acquire()
        if isinstance(self._answer, BaseException):
            raise self._answer
        return self._answer

    def _run(self) -> None:
        call("unshare", _APART)
        while self._ask is not _end:
            self._go.acquire()
            try:
                self._answer = self._ask()
            except BaseException as error:  # noqa: BLE001  it is raised in `_tell`
                self._answer = error
            self._done.release()


def _end() -> None:
    """Stand for the end of a thread."""


def every_outcome(sandbox: Sandbox, small: Small, *, limit: int) -> list[Outcome]:
    """Run every order; an empty list if there are more than it is worth.

    The process must have nothing to do with a `Machine`: threads keep all descriptors
    open that it had when they were started.

    Args:
        sandbox: Where.
        small: The programs.
        limit: The most orders that are worth it.
    """
    sandbox.clear()
    os.chdir(sandbox.box)
    act(small.box)
    sandbox.keep_as_initial()
    programs = {name: [*each, *closes(each)] for name, each in small.actors.items()}
    kind = _Apart if needs_processes(small) else _Actor
    actors = [
        kind(name, 1001 + index, program, str(sandbox.box))
        for index, (name, program) in enumerate(programs.items())
    ]
    found: list[Outcome] = []
    try:
        for outcome in _orders(sandbox, actors, small):
            if len(found) == limit:
                return []
            found.append(outcome)
    finally:
        for actor in actors:
            actor.end()
    return found


def _orders(sandbox: Sandbox, actors: list[_Actor], small: Small) -> Iterator[Outcome]:
    stack: list[list[int]] = []
    root = str(sandbox.root)
    locks = small.locks
    while True:
        for actor in actors:
            actor.restart()
        sandbox.restore()
        order: list[str] = []
        private: list[int] = []
        depth = 0
        while enabled := [
            index
            for index, actor in enumerate(actors)
            if actor.next is not None and not actor.waits
        ]:
            alone = [i for i in enabled if not locks and _closes(actors[i].next)]
            if alone:
                chosen = alone[0]
                private.append(len(order))
            else:
                if depth == len(stack):
                    stack.append(enabled)
                chosen = stack[depth][0]
                depth += 1
            actors[chosen].take()
            order.append(actors[chosen].name)
            for actor in actors:
                actor.waits = actor.waits and not actor.can_go_on()
        values = {actor.name: actor.values for actor in actors}
        waiting = [actor.name for actor in actors if actor.next is not None]
        shown = show(small, values, describe(root), waiting, root)
        yield Outcome(tuple(order), tuple(private), shown)
        while stack:
            del stack[-1][0]
            if stack[-1]:
                break
            stack.pop()
        else:
            return


def _closes(op: Op | None) -> bool:
    return op is not None and op[0] == "close"


def show(
    small: Small,
    values: Mapping[str, object],
    tree: Mapping[str, object],
    waiting: Iterable[str],
    root: str,
) -> str:
    """Return what came of an order as one text, the same wherever it was run.

    Args:
        small: The programs.
        values: What each actor's operations gave; whoever waits has returned nothing.
        tree: What was left.
        waiting: Who waits.
        root: Path of the sandbox.
    """
    idle = sorted(waiting)
    given: dict[str, object] = {}
    for name, program in sorted(small.actors.items()):
        found = values.get(name)
        if name in idle or not isinstance(found, list):
            given[name] = None
        else:
            given[name] = _plain(found[: len(program)])
    return repr((given, sorted(tree.items()), idle)).replace(root, "$SANDBOX")


def _plain(value: object) -> object:
    """Return a value as it is after a way through a file."""
    if isinstance(value, tuple | list):
        return [_plain(each) for each in value]
    return bytes(value) if isinstance(value, bytearray) else value
