"""The command line. Commands translate: what they do is done by `racecheck.api`."""

from racecheck.cli.group import main

__all__ = ["main"]
