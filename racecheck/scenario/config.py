"""What a project has configured: `[tool.racecheck]`, then the environment."""

from __future__ import annotations

import os
import tomllib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from racecheck.errors import UsageError
from racecheck.scenario.arguments import GREATEST, meant
from racecheck.scenario.budget import Budget

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_KEYS = ("paths", "seed", "budget", "jobs")

MAX_SEED = GREATEST
"""The largest seed."""

MAX_JOBS = 10_000
"""The most executions at the same time; more than any machine has processors."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What applies where the command line says nothing.

    Attributes:
        paths: Files and folders with scenarios.
        seed: Seed of explorations.
        budget: How long an exploration may go on, or None for the scenario's own.
        jobs: Executions at the same time.
    """

    paths: tuple[Path, ...]
    seed: int = 0
    budget: Budget | None = None
    jobs: int = 1


@dataclass(frozen=True, slots=True)
class _Value:
    """A value as it was found, with where that was and what its paths start from."""

    value: object
    source: str
    base: Path


def read_settings(folder: Path, environment: Mapping[str, str]) -> Settings:
    """Return the settings that apply in a folder.

    The nearest `pyproject.toml` upward is read, and variables such as `RACECHECK_SEED`
    override it; `RACECHECK_PATHS` holds several separated as in `PATH`.

    Args:
        folder: Where racecheck was started.
        environment: The environment variables.

    Raises:
        UsageError: The file cannot be read, has a key that means nothing, or a value
            makes no sense.
    """
    folder = folder.absolute()
    values = _from_project(folder)
    for key in _KEYS:
        variable = f"RACECHECK_{key.upper()}"
        if environment.get(variable):
            text = environment[variable]
            value = text.split(os.pathsep) if key == "paths" else text
            values[key] = _Value(value, variable, folder)
    return Settings(
        paths=_paths(values.get("paths"), folder),
        seed=_integer(values.get("seed"), 0, 0, MAX_SEED),
        budget=_budget(values.get("budget")),
        jobs=_integer(values.get("jobs"), 1, 1, MAX_JOBS),
    )


def _from_project(folder: Path) -> dict[str, _Value]:
    for base in (folder, *folder.parents):
        file = base / "pyproject.toml"
        if file.is_file():
            break
    else:
        return {}
    try:
        tool = tomllib.loads(file.read_text("utf-8")).get("tool", {})
    except (OSError, ValueError) as error:
        raise UsageError(f"{file}: {error}") from None
    table = tool.get("racecheck", {}) if isinstance(tool, dict) else {}
    if not isinstance(table, dict):
        raise UsageError(f"{file}: tool.racecheck is a table, not {table!r}")
    for key in table:
        if key not in _KEYS:
            raise UsageError(
                f"{file}: [tool.racecheck] has no key {key!r}{meant(key, _KEYS)}"
            )
    return {
        key: _Value(value, f"{key} of [tool.racecheck] in {file}", base)
        for key, value in table.items()
    }


def _paths(found: _Value | None, folder: Path) -> tuple[Path, ...]:
    if found is None:
        usual = folder / "scenarios"
        return (usual if usual.is_dir() else folder,)
    value = [found.value] if isinstance(found.value, str) else found.value
    if not (
        isinstance(value, list) and value and all(isinstance(p, str) for p in value)
    ):
        raise UsageError(f"{found.source} is a list of paths, not {found.value!r}")
    return tuple(found.base / path for path in value)


def _integer(found: _Value | None, default: int, minimum: int, most: int) -> int:
    if found is None:
        return default
    value = found.value
    if isinstance(value, str):
        try:
            value = int(value)
        except ValueError:
            value = None
    if not isinstance(value, int) or isinstance(value, bool) or value < minimum:
        raise UsageError(
            f"{found.source} is a whole number from {minimum} on, not {found.value!r}"
        )
    if value > most:
        raise UsageError(f"{found.source} is too large: it is at most {most}")
    return value


def _budget(found: _Value | None) -> Budget | None:
    if found is None:
        return None
    if not isinstance(found.value, int | str):
        raise UsageError(f"{found.source} is a number or a text, not {found.value!r}")
    try:
        return Budget.from_value(found.value)
    except UsageError as error:
        raise UsageError(f"{found.source}: {error}") from None
