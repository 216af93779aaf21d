"""Scenarios: who acts on the subject, what goes wrong, and what must hold.

`Scenario` is what people write, with `command` and the faults of
`racecheck.scenario.faults`. `load` finds scenarios in files and folders, `select` picks
some of them by name, and `read_settings` reads what a project has configured.
"""

from racecheck.scenario.actors import Actor, Declaration
from racecheck.scenario.age import make_old
from racecheck.scenario.anywhere import crashes, errnos, short_writes, stalls
from racecheck.scenario.budget import Budget
from racecheck.scenario.command import Command, command
from racecheck.scenario.config import Settings, read_settings
from racecheck.scenario.faults import crash, errno, short_write, stall
from racecheck.scenario.loader import Loaded, load
from racecheck.scenario.me import Me
from racecheck.scenario.operations import Planned, operation
from racecheck.scenario.roles import actor, evictor, reader, writer
from racecheck.scenario.scenario import Scenario
from racecheck.scenario.selection import quick_ones, select, split
from racecheck.scenario.simulating import simulated
from racecheck.scenario.workload import Workload

__all__ = [
    "Actor",
    "Budget",
    "Command",
    "Declaration",
    "Loaded",
    "Me",
    "Planned",
    "Scenario",
    "Settings",
    "Workload",
    "actor",
    "command",
    "crash",
    "crashes",
    "errno",
    "errnos",
    "evictor",
    "load",
    "make_old",
    "operation",
    "quick_ones",
    "read_settings",
    "reader",
    "select",
    "short_write",
    "short_writes",
    "simulated",
    "split",
    "stall",
    "stalls",
    "writer",
]
