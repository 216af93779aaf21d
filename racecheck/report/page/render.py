"""The page of a race: its template filled in, with all it needs inside it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from racecheck.report.page.data import race_data
from racecheck.report.page.environment import asset, environment
from racecheck.report.story import tell
from racecheck.report.text import render as render_text

if TYPE_CHECKING:
    from racecheck.model import Race

_MOST_AS_TEXT: Final = 500
"""Steps up to which a page has the execution as text as well."""
_SCRIPTS: Final = (
    "dom.js",
    "state.js",
    "lanes.js",
    "panels.js",
    "files.js",
    "curve.js",
    "main.js",
)


def render_race(race: Race, *, index: str = "") -> str:
    """Return the page of a race; equal races give equal pages.

    Args:
        race: The race.
        index: Address of the page that lists all of its run, or empty.
    """
    finding = race.finding
    trace = finding.trace
    return (
        environment()
        .get_template("race.html")
        .render(
            race=race,
            story=tell(trace, finding.invariant, finding.message),
            data=race_data(race),
            index=index,
            style=asset("page.css"),
            script="\n".join(asset(name) for name in _SCRIPTS),
            text=render_text(trace) if len(trace.steps) <= _MOST_AS_TEXT else "",
        )
    )
