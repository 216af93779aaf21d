"""Actors that are programs of any language rather than Python functions."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from racecheck.errors import ScenarioError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

# `${name}` is the shell's own and stays as it is.
_PLACEHOLDER = re.compile(r"(?<!\$)\{([A-Za-z_][A-Za-z0-9_]*)\}")


@dataclass(frozen=True, slots=True)
class Command:
    """A program with its arguments; made by `command`.

    Attributes:
        argv: The program and its arguments, placeholders still in place.
        env: Environment variables set for it beside those of every actor.
        success: Exit statuses that mean success.
    """

    argv: tuple[str, ...]
    env: tuple[tuple[str, str], ...] = ()
    success: frozenset[int] = frozenset({0})

    def fill(self, values: Mapping[str, str]) -> tuple[str, ...]:
        """Return what is executed, with the placeholders filled in."""
        argv = tuple(_fill(word, values) for word in self.argv)
        if not self.env:
            return argv
        pairs = [f"{name}={_fill(value, values)}" for name, value in self.env]
        return ("env", *pairs, *argv)

    def succeeds(self, status: object) -> bool:
        """Say whether an exit status means success."""
        return status in self.success


def command(
    argv: Sequence[str],
    *,
    env: Mapping[str, str] | None = None,
    success: Iterable[int] = (0,),
) -> Command:
    """Describe a program for an actor to run.

    `{box}`, `{name}` (of the actor), `{index}`, the variant's parameters and the keys
    of what `setup` returned are replaced in `argv` and in the values of `env`. Any
    other pair of braces stays as it is, and so does the shell's `${box}`, since
    scripts are full of braces.

    Args:
        argv: The program, looked up on `PATH`, and its arguments.
        env: Environment variables set for it beside those of every actor.
        success: Exit statuses that mean success.

    Raises:
        ScenarioError: Something is of the wrong type, or there is no program.
    """
    if isinstance(argv, str | bytes) or not all(isinstance(word, str) for word in argv):
        raise ScenarioError(
            f"command takes a list of strings, not {argv!r}; "
            "for the shell, ['sh', '-c', '...']"
        )
    if not argv:
        raise ScenarioError("command needs a program to run, and got an empty list")
    pairs = tuple((env or {}).items())
    for name, value in pairs:
        if not all(isinstance(text, str) for text in (name, value)):
            raise ScenarioError(f"env of command holds strings, not {name!r}={value!r}")
        if not name or "=" in name:
            raise ScenarioError(f"env of command has a bad name, {name!r}")
    statuses = frozenset(success)
    if not statuses or not all(isinstance(status, int) for status in statuses):
        raise ScenarioError(
            f"success of command holds exit statuses, not {sorted(statuses, key=repr)}"
        )
    return Command(tuple(argv), pairs, statuses)


def _fill(text: str, values: Mapping[str, str]) -> str:
    return _PLACEHOLDER.sub(lambda match: values.get(match[1], match[0]), text)
