"""Scenarios: who acts on the subject, what goes wrong, and what must hold.

`Scenario` is what people write, with `command` and the faults of
`racecheck.scenario.faults`. `load` finds scenarios in files and folders, `select` picks
some of them by name, and `read_settings` reads what a project has configured.
"""

from racecheck.scenario.actors import Actor
from racecheck.scenario.age import make_old
from racecheck.scenario.anywhere import crashes, errnos, short_writes, stalls
from racecheck.scenario.budget import Budget
from racecheck.scenario.command import Command, command
from racecheck.scenario.config import Settings, read_settings
from racecheck.scenario.faults import crash, errno, short_write, stall
from racecheck.scenario.loader import Loaded, load
from racecheck.scenario.me import Me
from racecheck.scenario.scenario import Scenario
from racecheck.scenario.selection import select, split

__all__ = [
    "Actor",
    "Budget",
    "Command",
    "Loaded",
    "Me",
    "Scenario",
    "Settings",
    "command",
    "crash",
    "crashes",
    "errno",
    "errnos",
    "load",
    "make_old",
    "read_settings",
    "select",
    "short_write",
    "short_writes",
    "split",
    "stall",
    "stalls",
]
