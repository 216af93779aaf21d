"""Two programs sweep one cache of expired responses (hishel 264)."""

import os

from hishel import FileStorage

from racecheck.invariants import no_unexpected_errors
from racecheck.scenario import Scenario

hishel = Scenario("published/hishel", invariants=[no_unexpected_errors()])


@hishel.setup
def cache(box):
    FileStorage(base_path=box)
    (box / "expired").touch()
    os.utime(box / "expired", (1, 1))


@hishel.evictor(count=2)
def sweep(box):
    storage = FileStorage(base_path=box, ttl=60, check_ttl_every=0)
    return storage.retrieve("another")
