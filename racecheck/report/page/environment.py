"""Templates, and the parts that are put into every page."""

from __future__ import annotations

import functools
import importlib.resources

import jinja2

from racecheck.report.printable import printable


@functools.cache
def environment() -> jinja2.Environment:
    """Return what fills templates in; all text is escaped, and nothing may miss."""
    made = jinja2.Environment(
        loader=jinja2.PackageLoader("racecheck.report.page", "assets"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    made.filters["printable"] = printable
    # Same race, same bytes: pages are compared as files.
    made.policies["json.dumps_kwargs"] = {"sort_keys": True, "separators": (",", ":")}
    return made


def asset(name: str) -> str:
    """Return a part of every page that is put into it as it is."""
    folder = importlib.resources.files("racecheck.report.page") / "assets"
    return (folder / name).read_text("utf-8")
