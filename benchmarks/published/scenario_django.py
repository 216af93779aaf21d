"""Two programs ask for an entry that has expired (Django ticket 34209)."""

from django.conf import settings
from django.core.cache.backends.filebased import FileBasedCache

from racecheck.invariants import no_unexpected_errors
from racecheck.scenario import Scenario

LONG_AGO = -(10**9)
settings.configure()
django = Scenario("published/django", invariants=[no_unexpected_errors()])


@django.setup
def cache(box):
    made = FileBasedCache(str(box), {})
    made.set("key", "value", timeout=LONG_AGO)
    return {"made": made}


@django.actor(count=2)
def ask(made):
    return made.has_key("key")
