"""The matrix of all results as a page of documentation, brought up to date by a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from racecheck.cli.json_file import replace_file
from racecheck.errors import RacecheckError
from racecheck.report import Matrix

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from racecheck.model import ScenarioResult

_TITLE = "# Results\n"
_FIRST = "\n## "


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
        old = file.read_text("utf-8") if file.exists() else _TITLE
        head, found, tables = old.partition(_FIRST)
        matrix = Matrix() if all_of else Matrix.from_markdown(f"{found}{tables}")
        for name, cell in Matrix.from_results(results).names().items():
            matrix.put(name, cell)
        text = f"{head.rstrip()}\n\n{matrix.markdown().rstrip()}\n"
        replace_file(file, text)
    except (OSError, UnicodeError) as error:
        raise RacecheckError(f"cannot bring {file} up to date: {error}") from error
