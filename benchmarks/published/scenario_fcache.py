"""Two programs open one cache that is not there yet (fcache 41)."""

from fcache.cache import FileCache

from racecheck.invariants import no_unexpected_errors
from racecheck.scenario import Scenario

fcache = Scenario("published/fcache", invariants=[no_unexpected_errors()])


@fcache.writer(count=2)
def open_cache(box):
    FileCache("app", flag="cs", app_cache_dir=str(box / "app")).create()
