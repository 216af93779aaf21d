"""A response is stored anew while another program reads it (CacheControl 332)."""

from cachecontrol.caches import FileCache

from racecheck.invariants import served
from racecheck.scenario import Scenario

cache = Scenario(
    "published/cachecontrol",
    invariants=[served("ask", lambda found: found in (b"old", b"new"))],
)


@cache.setup
def store(box):
    made = FileCache(str(box))
    made.set("key", b"old")
    return {"made": made}


@cache.writer
def renew(made):
    made.set("key", b"new")


@cache.reader
def ask(made):
    return made.get("key")
