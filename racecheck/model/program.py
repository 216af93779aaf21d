"""What an actor runs, as the engines take it from a scenario."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


@dataclass(frozen=True, slots=True)
class Invocation:
    """What an operation is asked to do, as far as its scenario says so.

    Attributes:
        name: Name of the function, or empty if it has none.
        arguments: What it is given beside what every function can ask for.
    """

    name: str
    arguments: tuple[object, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """One actor: a function called `repeat` times, or a command run once.

    Attributes:
        name: Name of the actor, unique in its scenario.
        role: `writer`, `reader`, `evictor` or `actor`.
        pid: The process id that the actor is shown.
        host: Name of the host whose process ids it shares; two actors on different
            hosts can have one pid.
        clock_offset_s: How far the clock of its host is ahead, in seconds.
        function: What a Python actor calls.
        arguments: Keyword arguments of the function.
        argv: What a command actor executes.
        repeat: Operations in a row.
        after: Actor whose first operation must have returned before this one starts.
        raises: Exceptions that are documented behaviour and no error.
        succeeds: Says of a return value whether it means success; None means that
            every return is one.
        invocations: What its operations are asked to do; over again if it makes more.
        reseed: Called in the actor with the execution's seed before anything else.
    """

    name: str
    role: str
    pid: int
    host: str = ""
    clock_offset_s: int = 0
    function: Callable[..., object] | None = None
    arguments: Mapping[str, object]
    argv: tuple[str, ...] = ()
    repeat: int = 1
    after: str | None = None
    raises: tuple[type[BaseException], ...] = ()
    succeeds: Callable[[object], bool] | None = None
    invocations: tuple[Invocation, ...] = ()
    reseed: Callable[[int], None] | None = None
