"""What a run of pytest was asked for with the options: checked before it starts."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from racecheck.errors import RacecheckError
from racecheck.scenario import Budget, read_settings
from racecheck.storage import decode

if TYPE_CHECKING:
    from racecheck.suite import Suite


def check_options(config: pytest.Config, around: Suite) -> None:
    """Refuse options that mean nothing, and add the configured paths if they are asked.

    Raises:
        UsageError: pytest's; an option makes no sense.
    """
    try:
        if around.token:
            decode(around.token)
        if around.budget is not None:
            Budget.from_value(around.budget)
        if around.seed is not None and around.seed < 0:
            raise pytest.UsageError("--racecheck-seed is a number from 0 on")
        if config.getoption("racecheck"):
            _add_paths(config)
    except RacecheckError as error:
        raise pytest.UsageError(f"racecheck: {error}") from None


def _add_paths(config: pytest.Config) -> None:
    """Let pytest look where scenarios are, unless it was told where to look."""
    if config.args_source is pytest.Config.ArgsSource.ARGS:
        return
    start = config.invocation_params.dir
    known = [start / argument for argument in config.args]
    for path in read_settings(start, os.environ).paths:
        if path.exists() and not any(_is_below(path, each) for each in known):
            config.args.append(str(path))


def _is_below(path: Path, other: Path) -> bool:
    return Path(os.path.abspath(path)).is_relative_to(os.path.abspath(other))  # noqa: PTH100  links stay
