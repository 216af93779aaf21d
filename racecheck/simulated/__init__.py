"""The simulated engine: actors are threads, over files that pyfakefs keeps in memory.

One thread runs at a time, and each call on files is a scheduling point. What it runs is
what the process engine runs, unmodified. It is for what no Linux machine has: the rules
of Windows and macOS, other mounts, a disk of a chosen size.
"""

from racecheck.simulated.execution import SimulatedExecution
from racecheck.simulated.stage import Stage

__all__ = ["SimulatedExecution", "Stage"]
