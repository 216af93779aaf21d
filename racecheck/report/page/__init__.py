"""Pages for people who read races in a browser: one file each, without network."""

from racecheck.report.page.index import render_index
from racecheck.report.page.render import render_race

__all__ = ["render_index", "render_race"]
