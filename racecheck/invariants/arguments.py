"""Checks of what invariants are made with, so that a slip is told at once."""

from __future__ import annotations

import inspect
import posixpath
from typing import TYPE_CHECKING

from racecheck.errors import ScenarioError

if TYPE_CHECKING:
    from collections.abc import Callable

_MAGIC = "*?["


def has_magic(path: str) -> bool:
    """Say whether a path can stand for several."""
    return any(character in path for character in _MAGIC)


def check_name(value: object) -> str:
    """Return the name of an invariant.

    Raises:
        ScenarioError: It is no name that a command line and a table can show.
    """
    if (
        not isinstance(value, str)
        or not value
        or not value.isprintable()
        or value != value.strip()
    ):
        raise ScenarioError(f"the name of an invariant is a word or two, not {value!r}")
    return value


def check_path(value: object, *, of: str) -> str:
    """Return one path relative to the box, in its shortest form.

    Raises:
        ScenarioError: It leads out of the box, or stands for several.
    """
    path = check_pattern(value, of=of, what="path")
    # A bracket alone is let through, as names such as `model[fp8].img` are in use.
    if "*" in path or "?" in path:
        raise ScenarioError(f"{of} takes one path and no pattern, not {value!r}")
    return path


def check_pattern(value: object, *, of: str, what: str = "pattern") -> str:
    """Return a path or pattern relative to the box, in its shortest form.

    Raises:
        ScenarioError: It leads out of the box, or cannot be matched as it is meant.
    """
    if not isinstance(value, str):
        raise ScenarioError(f"the {what} of {of} is text, not {value!r}")
    parts = value.split("/")
    if not value or value.startswith("/") or ".." in parts or "\0" in value:
        raise ScenarioError(
            f"the {what} of {of} is relative to the box and stays in it, not {value!r}"
        )
    path = posixpath.normpath(value)
    if path == ".":
        raise ScenarioError(
            f"the {what} of {of} names something in the box, not {value!r}"
        )
    # It would match no more than `*` does, and what is not matched is not judged.
    if "**" in path:
        raise ScenarioError(
            f"the {what} of {of} matches within one folder at a time, "
            f"so '**' cannot be used in {value!r}"
        )
    return path


def check_who(value: object, *, of: str, what: str) -> str:
    """Return the name of an actor or of a role; whether there is one shows later.

    Raises:
        ScenarioError: It is no name at all.
    """
    if not isinstance(value, str) or not value:
        raise ScenarioError(f"{what} of {of} is a name, not {value!r}")
    return value


def check_count(value: object, *, of: str, what: str) -> int:
    """Return a number of files.

    Raises:
        ScenarioError: It is not a whole number from 0 on.
    """
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ScenarioError(f"{what} of {of} is a number from 0 on, not {value!r}")
    return value


def check_function(
    value: Callable[..., object], *, of: str, what: str, takes: tuple[str, ...]
) -> None:
    """Refuse what cannot be called with so many arguments, or not be judged then.

    Raises:
        ScenarioError: It is no function, or one of another kind.
    """
    wanted = f"{what} of {of} is a function of {' and '.join(takes)}"
    if not callable(value):
        raise ScenarioError(f"{wanted}, not {value!r}")
    # These return an object before a line of them has run, which is no answer.
    if (
        inspect.iscoroutinefunction(value)
        or inspect.isgeneratorfunction(value)
        or inspect.isasyncgenfunction(value)
    ):
        raise ScenarioError(f"{wanted} that returns its answer, not {value!r}")
    try:
        signature = inspect.signature(value)
    except ValueError:  # Some functions written in C do not tell.
        return
    try:
        signature.bind(*takes)
    except TypeError as error:
        raise ScenarioError(f"{wanted}, but {value!r} takes {signature}") from error
