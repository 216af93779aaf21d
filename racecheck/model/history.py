"""Operations: the calls on the subject, with how each of them ended."""

from __future__ import annotations

from enum import StrEnum

import msgspec


class Ending(StrEnum):
    """How an operation ended."""

    RETURNED = "returned"
    RAISED = "raised"
    EXITED = "exited"
    """The process ended before the operation returned (commands always end so)."""
    CRASHED = "crashed"
    """The actor was killed by an injected crash."""
    UNFINISHED = "unfinished"


class Frame(msgspec.Struct, frozen=True, array_like=True):
    """One place in the source.

    Attributes:
        file: The file, from the folder of its project or from where it is installed.
        line: Number of the line, from 1.
        function: Qualified name of the function.
        library: Whether it is no part of the subject's project.
    """

    file: str
    line: int
    function: str
    library: bool = False


class Operation(msgspec.Struct, frozen=True):
    """One call on the subject, with invocation and return.

    Attributes:
        actor: Who made it.
        role: The actor's role.
        index: Which of the actor's operations it is, from 0.
        ending: How it ended.
        succeeded: Whether it ended in what its scenario calls success.
        expected: Whether it raised what its scenario declares as behaviour.
        value: The returned value where it is plain data (numbers, text, bytes, lists,
            dicts), else None.
        shown: The returned value as `repr`, or the exception as a line.
        exception: Qualified name of the exception's class, or empty.
        frames: Where the exception was raised, innermost last.
        status: Wait status of the process where it ended the operation, else None.
        faults: How many faults were injected into it.
        first: Index of its first step, or None.
        last: Index of its last step, or None.
    """

    actor: str
    role: str
    index: int
    ending: Ending
    succeeded: bool
    expected: bool = False
    value: object = None
    shown: str = ""
    exception: str = ""
    frames: tuple[Frame, ...] = ()
    status: int | None = None
    faults: int = 0
    first: int | None = None
    last: int | None = None

    def __str__(self) -> str:
        """Return it as reports show it."""
        return (
            f"{self.actor} operation {self.index} {self.ending} {self.shown}".rstrip()
        )


class ActorEnd(msgspec.Struct, frozen=True):
    """How an actor's process ended.

    Attributes:
        actor: Name of the actor.
        status: Exit status, or minus the number of the signal that killed it.
        crashed: Whether racecheck killed it as an injected crash.
    """

    actor: str
    status: int
    crashed: bool = False
