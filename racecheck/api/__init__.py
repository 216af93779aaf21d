"""What people import: checking and exploring scenarios, and replaying executions."""

from racecheck.api.exploring import Options, ReplayResult, explore, explore_all, replay
from racecheck.api.exporting import export
from racecheck.api.in_tests import check
from racecheck.api.race import RaceFoundError
from racecheck.api.races import race_of, races_of
from racecheck.api.regressions import regression

__all__ = [
    "Options",
    "RaceFoundError",
    "ReplayResult",
    "check",
    "explore",
    "explore_all",
    "export",
    "race_of",
    "races_of",
    "regression",
    "replay",
]
