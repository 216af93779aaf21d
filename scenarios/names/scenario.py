"""Eleven races over names, each beside a program that does the same without it.

Each is small enough for every order to be covered: the variant with the race is found
out, and the other one passes `complete`.
"""

import os
from collections.abc import Callable
from pathlib import Path

from racecheck.invariants import invariant, no_unexpected_errors, served
from racecheck.model import History, View
from racecheck.scenario import Me, Scenario
from scenarios.names import eviction, index
from scenarios.names.claims import claim, claim_if_free, put, put_after_looking
from scenarios.names.counter import increment, increment_locked
from scenarios.names.files import create, read
from scenarios.names.jobs import LOCK, run_with_flock, run_with_lock_file
from scenarios.names.links import (
    NAME,
    name_of_release,
    turn_by_replace,
    turn_by_unlink,
)
from scenarios.names.publishing import publish_by_replace, publish_by_unlink
from scenarios.names.scratch import save_by_fixed_name, save_by_own_name

Publish = Callable[[Path, bytes], None]

COUNTER = "counter"
FILE = "file"
FOLDER = "folder"
CACHE = "cache"

# --- what is read has changed until it is written -------------------------------------


@invariant
def every_increment_counts(view: View, history: History) -> str | None:
    """Require that the counter has taken in every increment that has returned."""
    returned = sum(operation.succeeded for operation in history.operations)
    found = int(view.read(COUNTER) or b"0")
    if found >= returned:
        return None
    return f"expected at least {returned} in the counter, but found {found}"


lost_update = Scenario(
    "names/lost_update",
    invariants=[every_increment_counts, no_unexpected_errors()],
    tags="quick",
)


@lost_update.setup
def _counter(box: Path) -> None:
    create(box / COUNTER, b"0")


@lost_update.writer(count=2)
def count(box: Path, raise_it: Callable[[Path], None]) -> None:
    """Raise the counter."""
    raise_it(box / COUNTER)


lost_update.over(
    raise_it={"unlocked": increment, "locked": increment_locked},
    expect={"unlocked": {"every_increment_counts"}},
)

# --- a name is missing for a moment ---------------------------------------------------

gap_by_open = Scenario(
    "names/gap_by_open", tags="quick", invariants=[no_unexpected_errors()]
)
gap_by_exists = Scenario(
    "names/gap_by_exists",
    invariants=[
        served("look", lambda found: found or "missing"),
        no_unexpected_errors(),
    ],
)


@gap_by_open.setup
@gap_by_exists.setup
def _file(box: Path) -> None:
    create(box / FILE, b"old")


@gap_by_open.writer
@gap_by_exists.writer
def replace(box: Path, publish: Publish) -> None:
    """Publish a new file."""
    publish(box / FILE, b"new")


@gap_by_open.reader
def load(box: Path) -> bytes:
    """Read the file, which has been there all along."""
    return read(box / FILE)


@gap_by_exists.reader
def look(box: Path) -> bool:
    """Look whether the file is there, which it has been all along."""
    return os.path.exists(box / FILE)


PUBLISH = {"unlink": publish_by_unlink, "replace": publish_by_replace}
gap_by_open.over(publish=PUBLISH, expect={"unlink": {"no_unexpected_errors"}})
gap_by_exists.over(publish=PUBLISH, expect={"unlink": {"served"}})

turned_link = Scenario("names/turned_link", invariants=[no_unexpected_errors()])


@turned_link.setup
def _releases(box: Path) -> None:
    for release in ("one", "two"):
        os.mkdir(box / release)
        create(box / release / NAME, release.encode())
    os.symlink("one", box / "current")


@turned_link.writer
def deploy(box: Path, turn: Callable[[Path, str], None]) -> None:
    """Take the next release into use."""
    turn(box / "current", "two")


@turned_link.reader
def ask(box: Path) -> bytes:
    """Read from the release in use."""
    return name_of_release(box / "current")


turned_link.over(
    turn={"unlink": turn_by_unlink, "replace": turn_by_replace},
    expect={"unlink": {"no_unexpected_errors"}},
)

# --- a name is looked for, then made --------------------------------------------------


@invariant(in_any_order=True)
def one_claim(view: View, history: History) -> str | None:
    """Require that at most one claim is granted."""
    del view
    granted = [each.actor for each in history.operations if each.value is True]
    return None if len(granted) <= 1 else f"granted to {' and '.join(granted)}"


claimed_file = Scenario(
    "names/claimed_file", invariants=[one_claim, no_unexpected_errors()]
)


@claimed_file.writer(count=2)
def ask_for(box: Path, take: Callable[[Path], bool]) -> bool:
    """Try to be the one."""
    return take(box / FILE)


claimed_file.over(
    take={"exists": claim_if_free, "exclusive": claim},
    expect={"exists": {"no_unexpected_errors"}},
)

made_folder = Scenario(
    "names/made_folder", tags="quick", invariants=[no_unexpected_errors()]
)


@made_folder.writer(count=2)
def store(box: Path, put_into: Callable[[Path, str], None], me: Me) -> None:
    """Put a file of one's own into a folder that all share."""
    put_into(box / FOLDER, me.name)


made_folder.over(
    put_into={"isdir": put_after_looking, "mkdir": put},
    expect={"isdir": {"no_unexpected_errors"}},
)

# --- a name is looked for, and removed by somebody else -------------------------------

two_evictors = Scenario("names/two_evictors", invariants=[no_unexpected_errors()])
evicted_file = Scenario("names/evicted_file", invariants=[no_unexpected_errors()])


@two_evictors.setup
@evicted_file.setup
def _cache(box: Path) -> None:
    os.mkdir(box / CACHE)
    for name in ("a", "b"):
        create(box / CACHE / name, name.encode())


@two_evictors.evictor(count=2)
def sweep(box: Path, evict: Callable[[Path], int]) -> int:
    """Empty the cache."""
    return evict(box / CACHE)


two_evictors.over(
    evict={"listed": eviction.evict_listed, "missing_ok": eviction.evict},
    expect={"listed": {"no_unexpected_errors"}},
)


@evicted_file.evictor
def clear(box: Path) -> int:
    """Empty the cache."""
    return eviction.evict(box / CACHE)


@evicted_file.reader
def use(box: Path, load_it: Callable[[Path], bytes | None]) -> bytes | None:
    """Read a file of the cache, if it is there."""
    return load_it(box / CACHE / "a")


evicted_file.over(
    load_it={"exists": eviction.load_if_there, "open": eviction.load},
    expect={"exists": {"no_unexpected_errors"}},
)

# --- a name is removed that is not what it was ----------------------------------------


stale_lock = Scenario("names/stale_lock", invariants=[no_unexpected_errors()])


@stale_lock.setup
def _stale_lock(box: Path) -> None:
    os.symlink("999 until 0", box / LOCK)


@stale_lock.actor(count=2)
def job(box: Path, run: Callable[[Path], bool]) -> bool:
    """Do the job, unless somebody else does."""
    return run(box)


stale_lock.over(
    run={"lock_file": run_with_lock_file, "flock": run_with_flock},
    expect={"lock_file": {"no_unexpected_errors"}},
)

fixed_temp = Scenario("names/fixed_temp", invariants=[no_unexpected_errors()])


@fixed_temp.writer(count=2)
def save(box: Path, save_it: Callable[[Path, bytes], bool], me: Me) -> bool:
    """Save the file."""
    return save_it(box / FILE, me.name.encode())


fixed_temp.over(
    save_it={"fixed": save_by_fixed_name, "own": save_by_own_name},
    expect={"fixed": {"no_unexpected_errors"}},
)

skewed_window = Scenario("names/skewed_window", invariants=[no_unexpected_errors()])


@skewed_window.setup
def _index(box: Path) -> None:
    create(box / "blob-1", b"1")
    os.symlink("blob-1", box / index.INDEX)


@skewed_window.writer
def update(box: Path) -> None:
    """Publish the next blob."""
    index.publish(box, "blob-2", b"2", box / "update.log")


@skewed_window.reader
def fetch(box: Path, load_it: Callable[[Path, Path], bytes]) -> bytes:
    """Read the newest blob."""
    return load_it(box, box / "fetch.log")


skewed_window.over(
    load_it={"once": index.load_once, "again": index.load},
    expect={"once": {"no_unexpected_errors"}},
)
