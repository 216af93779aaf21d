"""Making pages: templates filled in, with all they need inside them."""

from __future__ import annotations

import functools
import importlib.resources
from typing import TYPE_CHECKING, Final

import jinja2

from racecheck.report.page.data import race_data
from racecheck.report.printable import printable
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
    trace = race.finding.trace
    return (
        _environment()
        .get_template("race.html")
        .render(
            race=race,
            story=tell(race),
            data=race_data(race),
            index=index,
            style=_asset("page.css"),
            script="\n".join(_asset(name) for name in _SCRIPTS),
            text=render_text(trace) if len(trace.steps) <= _MOST_AS_TEXT else "",
        )
    )


@functools.cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("racecheck.report.page", "assets"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    # Same race, same bytes: pages are compared as files.
    environment.filters["printable"] = printable
    environment.policies["json.dumps_kwargs"] = {
        "sort_keys": True,
        "separators": (",", ":"),
    }
    return environment


def _asset(name: str) -> str:
    """Return a part of every page that is put into it as it is."""
    folder = importlib.resources.files("racecheck.report.page") / "assets"
    return (folder / name).read_text("utf-8")
