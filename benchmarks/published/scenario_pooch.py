"""Two programs make the folder of a data cache that is not there yet (pooch 170)."""

from pooch.utils import make_local_storage

from racecheck.invariants import no_unexpected_errors
from racecheck.scenario import Scenario

pooch = Scenario("published/pooch", invariants=[no_unexpected_errors()])


@pooch.writer(count=2)
def make(box):
    make_local_storage(str(box / "cache" / "data"))
