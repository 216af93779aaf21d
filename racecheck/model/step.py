"""Steps: one visible call by one actor, as recorded with its result."""

from __future__ import annotations

import errno as errno_names

import msgspec

from racecheck.model.footprint import EMPTY, Footprint
from racecheck.model.kind import MUTATING, Kind
from racecheck.model.schedule import Fault


class Buffer(msgspec.Struct, frozen=True, tag="buffer", array_like=True):
    """The bytes that a call carried, cut down to what identifies them.

    Attributes:
        length: Number of bytes.
        digest: BLAKE2b of all the bytes, 8 bytes as hex.
        head: The first bytes, for people.
    """

    length: int
    digest: str
    head: bytes


# Of two names for one error, the one that manual pages use.
_ERRORS = {**errno_names.errorcode, errno_names.EDEADLK: "EDEADLK"}

Value = int | str | Buffer | None
"""What an argument or an output of a step can be."""


class Step(msgspec.Struct, frozen=True):
    """One visible call by one actor, or the end of an operation or of the actor.

    Attributes:
        index: Position in the execution, from 0.
        actor: Who took it.
        operation: Index of the actor's operation that it belongs to.
        call: Name of the system call, or of the kind where it is none.
        kind: What it does.
        args: The call's arguments by name. Paths inside the sandbox are relative to
            the box; descriptors are numbers.
        result: What the call returned; a negative errno if it failed.
        outputs: What the call gave back through memory: bytes read, names listed,
            fields of a stat.
        fault: The fault injected here, if any.
        footprint: What it read and changed; empty unless footprints were asked for.
        task: Which of the actor's tasks took it; 0 is its first.
    """

    index: int
    actor: str
    operation: int
    call: str
    kind: Kind
    args: dict[str, Value]
    result: int
    outputs: dict[str, Value] = {}
    fault: Fault | None = None
    footprint: Footprint = EMPTY
    task: int = 0

    @property
    def failed(self) -> bool:
        """Whether the call returned an error."""
        return self.result < 0

    @property
    def may_change(self) -> bool:
        """Whether it can have changed what somebody else sees of the box."""
        return self.kind in MUTATING and not self.failed

    def same_call(self, other: Step) -> bool:
        """Compare actor, call, arguments, result and outputs."""
        return (
            self.actor == other.actor
            and self.call == other.call
            and self.args == other.args
            and self.result == other.result
            and self.outputs == other.outputs
            and self.fault == other.fault
        )

    def __str__(self) -> str:
        """Return it as one line: `rename(head.img.tmp, head.img) = 0`."""
        args = ", ".join(show(value) for value in self.args.values())
        return f"{self.call}({args}) = {show_result(self.result)}"


def legible(text: str) -> str:
    """Return text in which bytes that are no UTF-8 are escaped, so that it can be kept.

    File names are bytes, and Python carries those that it cannot decode as surrogates.
    """
    if text.isascii():
        return text
    return text.encode(errors="backslashreplace").decode()


def show(value: Value) -> str:
    """Return a value as reports show it."""
    if isinstance(value, Buffer):
        return f"{value.length} B"
    return "-" if value is None else str(value)


def show_result(result: int) -> str:
    """Return a result as reports show it: the number, or the name of the error."""
    if result < 0:
        return _ERRORS.get(-result, str(result))
    return str(result)
