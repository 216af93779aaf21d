"""The matrix of all results as a page of documentation, brought up to date by a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from racecheck.cli.json_file import can_be_replaced, check_target, replace_file
from racecheck.errors import RacecheckError, UsageError
from racecheck.report import Matrix

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from racecheck.model import ScenarioResult

_TITLE = "# Results\n"
_FIRST = "\n## "


def check_matrix(file: Path) -> None:
    """Refuse a page that would lose something if it were brought up to date.

    Raises:
        UsageError: It would, or it could not be written.
    """
    check_target(file)
    if not can_be_replaced(file):
        raise UsageError(f"{file} is no file that can be brought up to date")
    try:
        _, tables = _divided(file)
    except (OSError, UnicodeError) as error:
        raise UsageError(f"cannot read {file}: {error}") from error
    strange = Matrix.strange_line(tables)
    if strange is not None:
        raise UsageError(
            f"{file} is no page that --matrix has made: it would lose {strange!r}"
        )


def _divided(file: Path) -> tuple[str, str]:
    """Return what stands above the tables of a page, and these."""
    old = file.read_text("utf-8") if file.exists() else _TITLE
    head, found, tables = old.partition(_FIRST)
    return head, f"{found}{tables}"


def update_matrix(
    file: Path, results: Sequence[ScenarioResult], *, all_of: bool
) -> None:
    """Put results into the tables of a page, and leave what stands above them.

    Args:
        file: A page in Markdown; made if it is not there.
        results: What explorations say.
        all_of: Whether these are all the scenarios there are, so that others go.

    Raises:
        RacecheckError: The file cannot be read or written.
    """
    try:
        head, tables = _divided(file)
        matrix = Matrix() if all_of else Matrix.from_markdown(tables)
        for name, cell in Matrix.from_results(results).names().items():
            matrix.put(name, cell)
        text = f"{head.rstrip()}\n\n{matrix.markdown().rstrip()}\n"
        replace_file(file, text)
    except (OSError, UnicodeError) as error:
        raise RacecheckError(f"cannot bring {file} up to date: {error}") from error
