"""Why a race happened, told from what its steps read and changed."""

from racecheck.report.diagnosis.diagnose import diagnose
from racecheck.report.diagnosis.diagnosis import Diagnosis

__all__ = ["Diagnosis", "diagnose"]
