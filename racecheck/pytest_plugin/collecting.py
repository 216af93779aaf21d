"""Scenarios as tests: a file of them is a collector, and each variant an item."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pytest

from racecheck.api import explore_all, replay
from racecheck.api.checking import Check
from racecheck.api.in_tests import options_of
from racecheck.errors import EngineError, RacecheckError
from racecheck.scenario import load
from racecheck.scenario.loader import is_scenario_file

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from _pytest._code.code import TerminalRepr, TracebackStyle

    from racecheck.explore.options import Options
    from racecheck.model import ScenarioResult
    from racecheck.scenario import Loaded


def collect(file: Path, parent: pytest.Collector) -> ScenarioFile | None:
    """Return what collects the scenarios of a file, if its name is that of one."""
    if not is_scenario_file(file.name):
        return None
    return ScenarioFile.from_parent(parent, path=file)


class ScenarioFile(pytest.File):
    """A file of scenarios."""

    def collect(self) -> Iterator[ScenarioItem]:
        """Import the file and return its scenarios, each variant by itself."""
        try:
            found = load([self.path])
        except RacecheckError as error:
            if isinstance(error.__cause__, pytest.skip.Exception):
                # As for a file of tests that cannot be run here.
                raise error.__cause__ from None
            raise self.CollectError(str(error)) from None
        for loaded in found:
            yield ScenarioItem.from_parent(self, name=loaded.name, loaded=loaded)


class ScenarioItem(pytest.Item):
    """One scenario, which passes if it does what it is expected to."""

    def __init__(self, *, loaded: Loaded, **options: object) -> None:
        super().__init__(**options)  # type: ignore[arg-type]  # passed on
        self._loaded = loaded
        self.add_marker("racecheck")

    def runtest(self) -> None:
        """Explore it, or replay the token that was asked for."""
        loaded = self._loaded
        options = options_of({})
        check = Check(
            scenario=loaded.scenario,
            explore=partial(_explore, loaded, options),
            replay=partial(replay, scenarios=[loaded], options=options),
            workdir=options.workdir,
        )
        result = check.run()
        if check.was_left_out(result):
            pytest.skip("the token to replay is of another scenario")

    def repr_failure(
        self,
        excinfo: pytest.ExceptionInfo[BaseException],
        style: TracebackStyle | None = None,
    ) -> str | TerminalRepr:
        """Return what is told of a failure: the execution, and no traceback."""
        if isinstance(excinfo.value, RacecheckError):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, None, str]:
        """Return where it is and what it is called."""
        return self.path, None, self.name


def _explore(loaded: Loaded, options: Options) -> ScenarioResult:
    for result in explore_all([loaded], options):
        return result
    raise EngineError(f"{loaded.name}: no answer")
