"""What people are shown of executions and explorations.

It is made of traces and results alone, so that a stored trace gives the same as a fresh
one. `render` shows an execution, `summary` what an exploration says of a scenario, and
`Matrix` what many say of a system.
"""

from racecheck.report.counts import counts_lines
from racecheck.report.explain import explain
from racecheck.report.matrix import Matrix
from racecheck.report.summary import finding_line, summary, totals
from racecheck.report.text import WIDTH, render

__all__ = [
    "WIDTH",
    "Matrix",
    "counts_lines",
    "explain",
    "finding_line",
    "render",
    "summary",
    "totals",
]
