"""A program is killed while it adds to a database of items (happi 303)."""

import json

from happi.backends.json_db import JSONBackend

from racecheck.invariants import invariant
from racecheck.scenario import Scenario, crashes


@invariant
def survives_a_crash(view, history):
    """Require that the items can be read once nobody writes any more."""
    try:
        return history.live("writer") > 0 or "old" in json.loads(view.read("items"))
    except ValueError as error:
        return f"expected the items, but found {error}"


happi = Scenario("published/happi", faults=[crashes()], invariants=[survives_a_crash])


@happi.setup
def database(box):
    made = JSONBackend(str(box / "items"), initialize=True)
    made.save("old", {"_id": "old"})
    return {"path": str(box / "items")}


@happi.writer
def add(path):
    JSONBackend(path).save("new", {"_id": "new"})


@happi.reader(after="add")
def look(path):
    return JSONBackend(path).get_by_id("new")
