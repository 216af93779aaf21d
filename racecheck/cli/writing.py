"""Writes what a run was asked to write, anew with each result that comes.

So what was judged is kept whatever ends the run, SIGKILL as well, and whoever reads a
file meanwhile finds all of an earlier state of it.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Generic, TypeVar

from racecheck import api
from racecheck.cli.json_file import (
    can_be_replaced,
    document,
    document_text,
    replace_file,
    text_of,
)
from racecheck.errors import RacecheckError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from racecheck.cli.outputs import Outputs
    from racecheck.explore.options import Options
    from racecheck.model import Race, ScenarioResult

T = TypeVar("T")
R = TypeVar("R")


class _Once(Generic[T, R]):
    """A function that is called once for each object, however often it is asked for.

    All that it was given is kept, so that no other object takes its place in memory.
    """

    def __init__(self, function: Callable[[T], R]) -> None:
        self._function = function
        self._known: dict[int, tuple[T, R]] = {}

    def __call__(self, item: T) -> R:
        known = self._known.get(id(item))
        if known is None:
            known = self._known[id(item)] = item, self._function(item)
        return known[1]


class Writer:
    """Writes the outputs of one run, from its start to its end."""

    def __init__(
        self, outputs: Outputs, options: Options, names: Sequence[str]
    ) -> None:
        """Write outputs without results, which shows whether they can be written.

        Args:
            outputs: What to write.
            options: How the scenarios are explored.
            names: The scenarios, in the order in which their results are written.

        Raises:
            RacecheckError: Something cannot be written.
        """
        self._outputs = outputs
        self._seed = options.seed
        self._order = {name: place for place, name in enumerate(names)}
        self._results: list[ScenarioResult] = []
        self._interrupted = True
        self._races: _Once[ScenarioResult, list[Race]] = _Once(
            lambda result: api.races_of(result, options.workdir)
        )
        self._ways = tuple(self._all_ways())
        self._write(last=False)

    def add(self, result: ScenarioResult) -> None:
        """Take a result in unless it is known, and write what there is.

        What cannot be written is tried again with the next one, and told if it cannot
        be in the end.
        """
        if any(each is result for each in self._results):
            return
        self._results.append(result)
        self._results.sort(
            key=lambda each: self._order.get(each.name, len(self._order))
        )
        with contextlib.suppress(RacecheckError):
            self._write(last=False)

    def end(self, shown: Sequence[ScenarioResult], *, interrupted: bool) -> None:
        """Write all for the last time.

        Args:
            shown: The results that were printed. Of a run that was interrupted others
                are kept as well, whose turn had not come.
            interrupted: Whether something ended it before all scenarios had a result.

        Raises:
            RacecheckError: Something cannot be written.
        """
        if not interrupted:
            self._results = list(shown)
        self._interrupted = interrupted
        self._write(last=True)

    def _write(self, *, last: bool) -> None:
        """Write all that can be, and then raise what one of them ended in."""
        failed: RacecheckError | None = None
        for file, write in self._ways:
            if last or file is None or can_be_replaced(file):
                try:
                    write()
                except RacecheckError as error:
                    failed = failed or error
        if failed is not None:
            raise failed

    def _all_ways(self) -> Iterator[tuple[Path | None, Callable[[], None]]]:
        """Yield what is to be written, with the file if it is one."""
        # Imported where they are asked for, so that other runs do not pay for them.
        asked = self._outputs
        if asked.json_file is not None:
            yield asked.json_file, self._json(asked.json_file)
        if asked.junit_file is not None:
            yield asked.junit_file, self._junit(asked.junit_file)
        if asked.markdown_file is not None:
            yield asked.markdown_file, self._markdown(asked.markdown_file)
        if asked.report_folder is not None:
            yield None, self._report(asked.report_folder)

    def _json(self, file: Path) -> Callable[[], None]:
        text = _Once(text_of)

        def write() -> None:
            texts = [text(result) for result in self._results]
            made = document_text(self._seed, texts, interrupted=self._interrupted)
            replace_file(file, made)

        return write

    def _junit(self, file: Path) -> Callable[[], None]:
        from racecheck.report.junit import case_of, junit_of  # noqa: PLC0415  as above

        case = _Once(case_of)

        def write() -> None:
            results = self._results
            replace_file(file, junit_of(results, [case(each) for each in results]))

        return write

    def _markdown(self, file: Path) -> Callable[[], None]:
        from racecheck.report.markdown import (  # noqa: PLC0415  as above
            is_surprise,
            summarize,
            summarize_run_of,
        )

        told = _Once(summarize)

        def write() -> None:
            races = [race for each in self._results for race in self._races(each)]
            surprises = [told(race) for race in races if is_surprise(race)]
            replace_file(file, summarize_run_of(self._results, surprises))

        return write

    def _report(self, path: Path) -> Callable[[], None]:
        from racecheck.report.folder import Folder  # noqa: PLC0415  as above

        folder = Folder(path)
        add: _Once[ScenarioResult, None] = _Once(
            lambda result: folder.add(self._races(result))
        )

        def write() -> None:
            for result in self._results:
                add(result)
            folder.list_all(
                document(self._seed, self._results, interrupted=self._interrupted)
            )

        return write
