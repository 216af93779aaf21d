"""Operations with arguments of their own, and actors that do several of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from racecheck.errors import ScenarioError
from racecheck.model import Invocation
from racecheck.scenario.arguments import RESERVED, bind, check, check_runs

if TYPE_CHECKING:
    from collections.abc import Collection


@dataclass(frozen=True, slots=True)
class Planned:
    """An operation that an actor is to make; made by `operation`.

    Attributes:
        function: What is called.
        arguments: What it gets beside what every function can ask for, by name.
    """

    function: Callable[..., object]
    arguments: Mapping[str, object]

    def __repr__(self) -> str:
        given = [f"{name}={_shown(value)}" for name, value in self.arguments.items()]
        return f"operation({', '.join([_shown(self.function), *given])})"

    @property
    def invocation(self) -> Invocation:
        """What models and shapes know of it."""
        # By place as well as by name, since a model may call its parameters otherwise.
        return Invocation(name_of(self.function), tuple(self.arguments.values()))


def operation(function: Callable[..., object], /, **arguments: object) -> Planned:
    """Describe one operation with its arguments, for an actor to make.

    Args:
        function: What is called.
        **arguments: What it gets beside what every function can ask for by name
            (`box`, `me`, what `setup` returned). Where it has one of these names too,
            this one counts.

    Raises:
        ScenarioError: It is no function, or an argument has a name that is taken.
    """
    if not callable(function):
        raise ScenarioError(f"operation takes a function, not {function!r}")
    owner = f"operation {name_of(function) or function!r}"
    check_runs(function, owner)
    for name in arguments:
        if name in RESERVED:
            raise ScenarioError(f"{owner} cannot be given {name!r}, which is taken")
    return Planned(function, arguments)


@dataclass(frozen=True, slots=True)
class Script:
    """What an actor does that makes one operation after another, each its own."""

    operations: tuple[Planned, ...]

    @classmethod
    def of(cls, value: object) -> Script | None:
        """Return the script that a value stands for, or None if it stands for none."""
        if isinstance(value, Script):
            return value
        if isinstance(value, Planned):
            return cls((value,))
        if not isinstance(value, Sequence) or isinstance(value, str | bytes):
            return None
        if not value:
            raise ScenarioError("an actor needs an operation, and got an empty list")
        return cls(
            tuple(
                each if isinstance(each, Planned) else operation(each) for each in value
            )
        )

    @property
    def name(self) -> str:
        """Name of the function, where all operations are of one."""
        names = {name_of(each.function) for each in self.operations}
        return names.pop() if len(names) == 1 else ""

    def check(self, available: Collection[str], owner: str) -> None:
        """Refuse a function with a parameter that nothing provides.

        Raises:
            ScenarioError: There is one.
        """
        for each in self.operations:
            check(each.function, {*available, *each.arguments}, owner)

    def bound(self, provided: Mapping[str, object], owner: str) -> Turns:
        """Return what calls the operations in turn, each with all its arguments.

        Raises:
            ScenarioError: A function has a parameter that nothing provides.
        """
        return Turns(
            [
                (
                    each.function,
                    bind(each.function, {**provided, **each.arguments}, owner),
                )
                for each in self.operations
            ]
        )


class Turns:
    """Calls one function after another, one at each call, and then begins anew."""

    def __init__(
        self, calls: Sequence[tuple[Callable[..., object], Mapping[str, object]]]
    ) -> None:
        self._calls = calls
        self._next = 0

    def __call__(self) -> object:
        """Make the next call."""
        function, arguments = self._calls[self._next]
        self._next = (self._next + 1) % len(self._calls)
        return function(**arguments)

    def begin(self) -> None:
        """Begin with the first call, as another execution begins."""
        self._next = 0


def _shown(value: object) -> str:
    """Return a value as it is written: a function by its name."""
    return (callable(value) and name_of(value)) or repr(value)


def name_of(function: Callable[..., object]) -> str:
    """Return the name of a function, or nothing if it has none that says anything."""
    # A partial is known by what it is made of.
    while not hasattr(function, "__name__") and hasattr(function, "func"):
        function = function.func
    name = str(getattr(function, "__name__", ""))
    return "" if name == "<lambda>" else name
