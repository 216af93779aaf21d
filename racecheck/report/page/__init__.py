"""Pages for people who read a race in a browser: one file each, without network."""

from racecheck.report.page.render import render_race

__all__ = ["render_race"]
