"""A folder of reports: a page and a trace file a race, and a page that lists all."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final

from racecheck.errors import RacecheckError, TraceFileError
from racecheck.report.page import render_index, render_race
from racecheck.storage import read_trace, remove_unfinished, write_trace, write_whole

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from racecheck.model import Race

INDEX: Final = "index.html"
RESULTS: Final = "suite.json"
_LONGEST_NAME: Final = 200


def name_of(race: Race) -> str:
    """Return what the files of a race are called, without their endings."""
    text = f"{race.finding.trace.scenario}.{race.finding.invariant}"
    return re.sub(r"[^A-Za-z0-9_.+=-]", ".", text)[:_LONGEST_NAME].lstrip(".") or "race"


class Folder:
    """A folder of reports, which can be read at any time while a run fills it."""

    def __init__(self, path: Path) -> None:
        """Begin with what is there.

        Args:
            path: The folder; made if it is not there.

        Raises:
            RacecheckError: It cannot be made.
            TraceFileError: A trace file in it cannot be read.
        """
        self.path = path
        _make(path)
        remove_unfinished(path)
        self._pages = _pages(path)

    def add(self, races: Iterable[Race]) -> None:
        """Write a page and a trace file a race.

        Raises:
            RacecheckError: It cannot be written.
        """
        for race in races:
            (page,) = write_races(self.path, [race], index=INDEX)
            self._pages[_key(race)] = page.name

    def list_all(self, document: Mapping[str, Any]) -> Path:
        """Write the results and the page that lists them; return that page.

        Args:
            document: The results of the run, as `--json` writes them.

        Raises:
            RacecheckError: It cannot be written.
        """
        _write(self.path / RESULTS, json.dumps(document, indent=2) + "\n")
        write_page(self.path / INDEX, render_index(document, self._pages))
        return self.path / INDEX


def write_races(folder: Path, races: Iterable[Race], *, index: str = "") -> list[Path]:
    """Write a page and a trace file a race; return the pages.

    Args:
        folder: Where to; made if it is not there.
        races: What was found.
        index: The page that lists them all, if there is one.

    Raises:
        RacecheckError: It cannot be written.
    """
    _make(folder)
    pages = []
    for race in races:
        write_trace(race, folder / f"{name_of(race)}.trace")
        pages.append(folder / f"{name_of(race)}.html")
        write_page(pages[-1], render_race(race, index=index))
    return pages


def render_folder(folder: Path, target: Path) -> list[Path]:
    """Make the pages of a folder anew from its trace files and results.

    Args:
        folder: The folder.
        target: Where the pages go; made if it is not there.

    Returns:
        The pages, the one that lists all of them first.

    Raises:
        TraceFileError: There is no trace file, or one cannot be read.
        RacecheckError: A page cannot be written.
    """
    traces = sorted(folder.glob("*.trace"))
    results = folder / RESULTS
    if not traces and not results.exists():
        raise TraceFileError(f"{str(folder)!r} holds no trace files and no {RESULTS}")
    _make(target)
    made = []
    if results.exists():
        page = target / INDEX
        write_page(page, render_index(_read_results(results), _pages(folder)))
        made.append(page)
    for trace in traces:
        page = target / f"{trace.stem}.html"
        render_trace(trace, page, index=list_beside(trace))
        made.append(page)
    return made


def render_trace(trace: Path, page: Path, *, index: str = "") -> None:
    """Make a page from a trace file.

    Args:
        trace: The trace file.
        page: Where the page goes.
        index: The page that lists all, if there is one.

    Raises:
        TraceFileError: The file cannot be read.
        RacecheckError: The page cannot be written.
    """
    write_page(page, render_race(read_trace(trace), index=index))


def list_beside(trace: Path) -> str:
    """Return the page that lists all, if the folder of a trace file has results."""
    return INDEX if (trace.parent / RESULTS).exists() else ""


def write_page(path: Path, text: str) -> None:
    """Write a page, which appears whole or not at all.

    Raises:
        RacecheckError: It cannot be written.
    """
    _write(path, text)


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RacecheckError(f"cannot make {folder}: {error.strerror}") from error


def _write(path: Path, text: str) -> None:
    try:
        write_whole(path, text.encode())
    except OSError as error:
        raise RacecheckError(f"cannot write {path}: {error.strerror}") from error


def _pages(folder: Path) -> dict[tuple[str, str], str]:
    """Return the page of each race of a folder, by scenario and invariant."""
    found = {}
    for trace in sorted(folder.glob("*.trace")):
        found[_key(read_trace(trace))] = f"{trace.stem}.html"
    return found


def _key(race: Race) -> tuple[str, str]:
    return race.finding.trace.scenario, race.finding.invariant


def _read_results(path: Path) -> dict[str, Any]:
    try:
        document = json.loads(path.read_bytes())
        if not isinstance(document, dict) or document.get("schema") != 1:
            raise TraceFileError(f"{str(path)!r} holds no results that can be read")
    except (OSError, ValueError) as error:
        raise TraceFileError(f"cannot read {str(path)!r}: {error}") from error
    return document
