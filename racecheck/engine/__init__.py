"""Engines: they run a scenario's programs and give traces."""

from racecheck.engine.execution import Execution, Observer
from racecheck.engine.machine import Machine

__all__ = ["Execution", "Machine", "Observer"]
