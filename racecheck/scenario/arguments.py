"""Arguments by name: what a function asks for, out of what the scenario has."""

from __future__ import annotations

import inspect
from difflib import get_close_matches
from typing import TYPE_CHECKING

from racecheck.errors import ScenarioError

if TYPE_CHECKING:
    import re
    from collections.abc import Callable, Collection, Mapping

RESERVED = frozenset({"box", "me", "state"})
"""Names that racecheck gives a meaning; no variant or setup may take them."""

GREATEST = 2**63 - 1
"""The greatest number: what any place that keeps one has room for."""

_BY_NAME = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


def bind(
    function: Callable[..., object], provided: Mapping[str, object], owner: str
) -> dict[str, object]:
    """Return the arguments that a function is called with.

    Args:
        function: The function.
        provided: Everything there is, by name.
        owner: What the function is, for the message.

    Raises:
        ScenarioError: It has a parameter without a default that nothing provides.
    """
    check(function, provided, owner)
    return {
        name: provided[name]
        for name in _parameters(function, owner)
        if name in provided
    }


def check(
    function: Callable[..., object], available: Collection[str], owner: str
) -> None:
    """Refuse a function with a parameter that nothing provides.

    Raises:
        ScenarioError: There is one, or the function cannot be called by name.
    """
    for name, parameter in _parameters(function, owner).items():
        if name in available or parameter.default is not inspect.Parameter.empty:
            continue
        raise ScenarioError(
            f"{owner} has a parameter {name!r} that nothing provides"
            f"{meant(name, available)}; available: {', '.join(sorted(available))}"
        )


def check_runs(function: Callable[..., object], owner: str) -> None:
    """Refuse a function whose call would not run its body.

    An `async def` or a generator only makes an object when it is called, so every
    invariant would hold for an actor that does nothing.

    Raises:
        ScenarioError: It is one of those.
    """
    if (
        inspect.iscoroutinefunction(function)
        or inspect.isgeneratorfunction(function)
        or inspect.isasyncgenfunction(function)
    ):
        raise ScenarioError(
            f"{owner} is a coroutine or a generator: calling it runs nothing"
        )


def is_whole(value: object, minimum: int) -> bool:
    """Say whether a value is a whole number from `minimum` to `GREATEST`."""
    # A bool is an int to Python, and a mistake to people.
    if not isinstance(value, int) or isinstance(value, bool):
        return False
    return minimum <= value <= GREATEST


def matches(pattern: re.Pattern[str], value: object) -> bool:
    """Say whether a value is a text that all of a pattern matches."""
    return isinstance(value, str) and pattern.fullmatch(value) is not None


def meant(name: str, known: Collection[str]) -> str:
    """Return `, did you mean 'x'?` where a known name is close, else nothing."""
    close = get_close_matches(name, sorted(known), n=1)
    return f", did you mean {close[0]!r}?" if close else ""


def _parameters(
    function: Callable[..., object], owner: str
) -> dict[str, inspect.Parameter]:
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError) as error:
        raise ScenarioError(f"{owner} has no signature to read: {error}") from None
    required = inspect.Parameter.empty
    for name, parameter in parameters.items():
        if (
            parameter.kind is parameter.POSITIONAL_ONLY
            and parameter.default is required
        ):
            raise ScenarioError(
                f"{owner} has a positional-only parameter {name!r}; "
                "arguments are passed by name"
            )
    return {
        name: parameter
        for name, parameter in parameters.items()
        if parameter.kind in _BY_NAME
    }
