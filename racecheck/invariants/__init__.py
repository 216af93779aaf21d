"""What must hold in an execution: at every step, at each return, and at the end.

The functions here make invariants and are what scenarios use. `Judge` asks a list of
them about one execution, and is what engines use.
"""

from racecheck.invariants.caps import cap_holds, no_needless_eviction
from racecheck.invariants.custom import invariant
from racecheck.invariants.descriptors import no_leaked_descriptors
from racecheck.invariants.ends import converges, identical
from racecheck.invariants.eviction import (
    evicted_as_chosen,
    never_evicted,
    no_live_temp_evicted,
)
from racecheck.invariants.failures import clean_failure
from racecheck.invariants.images import whole_images
from racecheck.invariants.judge import Judge
from racecheck.invariants.presence import never_missing
from racecheck.invariants.progress import progress
from racecheck.invariants.returns import no_silent_loss
from racecheck.invariants.sequential import linearizable, serializable
from racecheck.invariants.served import served
from racecheck.invariants.sources import source_untouched
from racecheck.invariants.surprises import no_unexpected_errors
from racecheck.invariants.temps import temp_files_bounded
from racecheck.invariants.versions import no_downgrade
from racecheck.invariants.work import no_redundant_work
from racecheck.invariants.writes import no_lost_writes

__all__ = [
    "Judge",
    "cap_holds",
    "clean_failure",
    "converges",
    "evicted_as_chosen",
    "identical",
    "invariant",
    "linearizable",
    "never_evicted",
    "never_missing",
    "no_downgrade",
    "no_leaked_descriptors",
    "no_live_temp_evicted",
    "no_lost_writes",
    "no_needless_eviction",
    "no_redundant_work",
    "no_silent_loss",
    "no_unexpected_errors",
    "progress",
    "serializable",
    "served",
    "source_untouched",
    "temp_files_bounded",
    "whole_images",
]
