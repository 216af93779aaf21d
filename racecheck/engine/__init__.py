"""Engines: they run a scenario's programs and give traces."""

from racecheck.engine.execution import Execution
from racecheck.engine.machine import Machine
from racecheck.engine.observer import Observer

__all__ = ["Execution", "Machine", "Observer"]
