"""A race as a file of tests for somebody's own suite."""

from __future__ import annotations

import os
import re
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Final

from racecheck.report.printable import printable

if TYPE_CHECKING:
    from racecheck.model import Trace

_COLUMNS: Final = 60


def export(token: str, trace: Trace, file: Path, *, beside: Path) -> str:
    """Return the text of a test that fails until a race is gone.

    Args:
        token: The execution.
        trace: The execution as it goes today.
        file: File that holds its scenario.
        beside: Folder that the test will be in.
    """
    name = re.sub(r"\W+", "_", trace.scenario).strip("_")
    broken = [
        textwrap.fill(
            f"{each.invariant}: {printable(each.message)}",
            width=84,
            initial_indent="    ",
            subsequent_indent="        ",
        )
        for each in trace.violations
    ]
    found = "\n".join(broken) or f"    {printable(trace.reason) or 'nothing today'}"
    # What is quoted must not end the text that it is quoted in.
    found = found.replace("\\", "\\\\").replace('"""', r"\"\"\"")
    pieces = [token[at : at + _COLUMNS] for at in range(0, len(token), _COLUMNS)]
    lines = "\n".join(f'    "{piece}"' for piece in pieces)
    path = Path(os.path.relpath(file, beside)).as_posix()
    return f'''"""Keep a race of {trace.scenario} from coming back.

The execution below broke

{found}

It is tried first, and then others. Made by `racecheck export`.
"""

from pathlib import Path

from racecheck import regression

SCENARIOS = Path(__file__).parent / {path!r}
TOKEN = (
{lines}
)


def test_{name}():
    regression(TOKEN, SCENARIOS)
'''
