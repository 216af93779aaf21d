"""Two test runs make the cache folder at the same time (pytest 12381)."""

from _pytest.cacheprovider import Cache

from racecheck.invariants import no_unexpected_errors
from racecheck.scenario import Scenario

cache = Scenario("published/pytest", invariants=[no_unexpected_errors()])


@cache.writer(count=2)
def make(box):
    Cache(box / ".pytest_cache", config=None, _ispytest=True).mkdir("plugin")
