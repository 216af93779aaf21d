"""Arguments and options that several commands have, and what they come to."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from shutil import get_terminal_size
from typing import TYPE_CHECKING

import click

from racecheck.errors import UsageError
from racecheck.report import WIDTH
from racecheck.scenario import Budget, load, read_settings, select, split
from racecheck.scenario.config import MAX_SEED

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from racecheck.scenario import Loaded, Settings


class BudgetType(click.ParamType[Budget]):
    """A budget as people write it: `5000` executions, or a time as `30s`."""

    name = "budget"

    def convert(
        self,
        value: str | Budget,
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> Budget:
        """Return the budget, or fail with the usual causes."""
        try:
            return Budget.from_value(value)
        except UsageError as error:
            self.fail(str(error), param, ctx)


class SeedType(click.ParamType[int]):
    """A seed; `IntRange` would tell the largest one in every help text."""

    name = "seed"

    def convert(
        self,
        value: str | int,
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> int:
        """Return the seed, or fail with what it has to be."""
        text = str(value)
        # Python reads no numbers of some thousand digits.
        long = len(text.lstrip("0")) > len(str(MAX_SEED))
        if not text.isdecimal() or long or int(text) > MAX_SEED:
            self.fail(f"{value!r} is no number from 0 to {MAX_SEED}", param, ctx)
        return int(value)


def _check_workdir(
    ctx: click.Context, param: click.Parameter, value: Path | None
) -> Path | None:
    """Refuse a folder in which no folder can be made, before anything is run."""
    if value is not None:
        try:
            # Modes do not tell: root may write where nothing can be made, as in /proc.
            Path(tempfile.mkdtemp(prefix=".racecheck-", dir=value)).rmdir()
        except OSError as error:
            message = f"cannot make a folder in {str(value)!r}: {error.strerror}"
            raise click.BadParameter(message, ctx, param) from error
    return value


workdir_option = click.option(
    "--workdir",
    type=click.Path(exists=True, file_okay=False, writable=True, path_type=Path),
    callback=_check_workdir,
    metavar="DIR",
    help="Folder for the boxes, to try another file system.",
)
verbose_option = click.option(
    "-v", "--verbose", is_flag=True, help="Show every execution found, in full."
)


def selection_argument(command: Callable[..., object]) -> Callable[..., object]:
    """Let a command take files, folders and names of scenarios."""
    return click.argument("selection", nargs=-1, metavar="[PATH | GLOB]...")(command)


def current_settings() -> Settings:
    """Return what is configured where the command was started.

    Raises:
        UsageError: That is no more, or a setting is wrong.
    """
    try:
        folder = Path.cwd()
    except OSError as error:
        raise UsageError(f"the working folder is gone: {error.strerror}") from error
    return read_settings(folder, os.environ)


def find_scenarios(selection: Sequence[str], settings: Settings) -> tuple[Loaded, ...]:
    """Return the scenarios that were asked for; all those configured if none were."""
    paths, globs = split(selection)
    return select(load(paths or settings.paths), globs)


def is_colored() -> bool:
    """Say whether standard output is a terminal whose user has nothing against it."""
    terminal = sys.stdout is not None and sys.stdout.isatty()
    return terminal and not os.environ.get("NO_COLOR")


def text_width() -> int:
    """Return how long lines may be: as wide as the terminal, but never narrow."""
    return max(WIDTH, get_terminal_size((WIDTH, 0)).columns)
