"""What people import: checking and exploring scenarios, and replaying executions."""

from racecheck.api.exploring import Options, ReplayResult, explore, explore_all, replay
from racecheck.api.in_tests import check
from racecheck.api.race import RaceFoundError
from racecheck.api.races import races_of

__all__ = [
    "Options",
    "RaceFoundError",
    "ReplayResult",
    "check",
    "explore",
    "explore_all",
    "races_of",
    "replay",
]
