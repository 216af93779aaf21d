"""What this machine allows, what works here, and what to change where it does not."""

from racecheck.doctor.examination import examine
from racecheck.doctor.observation import Observation, State

__all__ = ["Observation", "State", "examine"]
