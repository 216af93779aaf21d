"""`get` of an expired entry against the `set` of a fresh one (beside cachelib 50)."""

from cachelib.file import FileSystemCache

from racecheck.invariants import invariant
from racecheck.scenario import Scenario

LONG_AGO = -(10**9)


@invariant
def what_was_set_is_there(view, history):
    """Require that whoever asks after `set` has returned gets what was set."""
    for each in history.operations:
        if each.actor == "later" and each.value != "fresh":
            return f"expected 'fresh' after it was set, but {each.value!r} was found"
    return None


cachelib = Scenario("published/cachelib", invariants=[what_was_set_is_there])


@cachelib.setup
def cache(box):
    made = FileSystemCache(str(box), threshold=0)
    made.set("key", "stale", timeout=LONG_AGO)
    return {"made": made}


@cachelib.writer
def renew(made):
    made.set("key", "fresh")


@cachelib.reader
def ask(made):
    return made.get("key")


@cachelib.reader(after="renew")
def later(made):
    return made.get("key")
