"""Sequential models: what operations would do if they came one after another.

A model is any class: each operation calls the method of its function's name with the
operation's arguments, and what that returns or raises is what was to be expected. A
`dict` is a model of a cache whose operations are called `get`, `pop` or `setdefault`.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Hashable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import msgspec

from racecheck.errors import ScenarioError
from racecheck.invariants.wording import happened, one_line, safe_repr
from racecheck.model import Ending, Invocation

if TYPE_CHECKING:
    from racecheck.model import History, Operation

Factory = Callable[[], object]
"""Makes a model in its first state: a class, or a function without parameters."""

_UNTOLD: Final = frozenset({Ending.CRASHED, Ending.UNFINISHED, Ending.EXITED})
NEVER: Final = 1 << 62
"""An end that did not come."""


@dataclass(frozen=True, slots=True)
class Call:
    """An operation as a model sees it.

    Attributes:
        invocation: What it was asked to do.
        start: When it began, in steps.
        end: When it ended; `NEVER` if it did not.
        value: What it returned, as plain data.
        exception: Name of the class of what it raised, or empty.
        is_known: Whether it is known what it did. One that was crashed, or that failed
            because of a fault, may have taken effect or not.
        shown: It as a message tells of it.
        actor: Who made it.
    """

    invocation: Invocation
    start: int
    end: int
    value: object = None
    exception: str = ""
    is_known: bool = True
    shown: str = ""
    actor: str = ""


class Model:
    """Applies calls to the states of a model."""

    def __init__(self, factory: Factory) -> None:
        self._factory = factory

    def start(self) -> object:
        """Return the first state."""
        return self._factory()

    def apply(self, state: object, call: Call) -> object | None:
        """Return the state after a call, or None if the call cannot have come here.

        The given state stays as it is.

        Raises:
            ScenarioError: The model knows no such operation.
        """
        name = call.invocation.name
        after = copy.deepcopy(state)
        method = getattr(after, name, None) if name else None
        if not callable(method):
            raise ScenarioError(
                f"the model {type(state).__name__} has no operation {name!r}, "
                f"which {call.actor or 'an actor'} makes"
            )
        raised, value = "", None
        try:
            value = method(*copy.deepcopy(call.invocation.arguments))
        except Exception as error:  # noqa: BLE001  it is the expected outcome
            raised = type(error).__name__
        if call.is_known and (
            raised != call.exception or (not raised and _plain(value) != call.value)
        ):
            return None
        return after


def calls_of(history: History, names: AbstractSet[str]) -> list[Call]:
    """Return the operations of some actors as calls.

    Raises:
        ScenarioError: One returned what is no plain data.
    """
    asked = {program.name: program.invocations for program in history.programs}
    return [
        _call(operation, asked[operation.actor])
        for operation in history.operations
        if operation.actor in names
    ]


def _call(operation: Operation, asked: Sequence[Invocation]) -> Call:
    if not asked:
        raise ScenarioError(f"{operation.actor} is a command, which no model knows")
    is_known = operation.ending not in _UNTOLD
    if operation.faults and not operation.succeeded:
        is_known = False
    shows_none = operation.shown in ("", "None")
    if (
        operation.ending is Ending.RETURNED
        and operation.value is None
        and not shows_none
    ):
        raise ScenarioError(f"a model compares plain data, but {happened(operation)}")
    first, last = operation.first, operation.last
    return Call(
        invocation=asked[operation.index % len(asked)],
        # One that took no step at all touched nothing, and may have come at any time.
        start=-1 if first is None else first,
        end=NEVER if last is None or operation.ending in _UNTOLD else last,
        value=operation.value,
        exception=operation.exception.rpartition(".")[2],
        is_known=is_known,
        shown=_shown(operation, asked[operation.index % len(asked)]),
        actor=operation.actor,
    )


def _shown(operation: Operation, asked: Invocation) -> str:
    arguments = ", ".join(safe_repr(value) for value in asked.arguments)
    outcome = happened(operation).split(" ", 3)[-1]
    return one_line(f"{operation.actor} {asked.name}({arguments}) {outcome}")


def _plain(value: object) -> object:
    """Return a value as it comes back from an actor."""
    try:
        return msgspec.msgpack.decode(msgspec.msgpack.encode(value))
    except (TypeError, ValueError, OverflowError, RecursionError):
        raise ScenarioError(
            f"a model returns plain data, not {safe_repr(value)}"
        ) from None


def key_of(state: object) -> Hashable:
    """Return a key that two states share exactly if they are equal.

    What cannot be looked into gives a key that equals no other, which costs time and
    loses nothing.
    """
    if state is None or isinstance(state, str | bytes | int | float | complex):
        return (type(state), state)
    if isinstance(state, Mapping):
        pairs = frozenset((key_of(key), key_of(item)) for key, item in state.items())
        # The order of its keys can decide what it does next.
        return (type(state), pairs, tuple(key_of(key) for key in state), _rest(state))
    if isinstance(state, Sequence):
        return (type(state), tuple(key_of(item) for item in state), _rest(state))
    if isinstance(state, AbstractSet):
        return (type(state), frozenset(key_of(item) for item in state), _rest(state))
    if type(state).__eq__ is not object.__eq__ and type(state).__hash__ is not None:
        return (type(state), state)
    if hasattr(state, "__dict__") and not hasattr(type(state), "__slots__"):
        return (type(state), _rest(state))
    return object()


def _rest(state: object) -> Hashable:
    """Return what an object has beside what it contains."""
    fields = getattr(state, "__dict__", {})
    return tuple((name, key_of(fields[name])) for name in sorted(fields))
