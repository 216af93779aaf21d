"""The stress engine: real processes on all processors, in the order the system picks.

It needs no ptrace, and can show that a race happens, never that none does.
"""

from racecheck.stress.execution import StressExecution
from racecheck.stress.limits import ASSUMPTIONS, beyond

__all__ = ["ASSUMPTIONS", "StressExecution", "beyond"]
