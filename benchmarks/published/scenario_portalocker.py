"""Programs take a lock whose file goes when it is released (portalocker 115)."""

from portalocker import TemporaryFileLock
from portalocker.exceptions import LockException

from racecheck.invariants import invariant
from racecheck.scenario import Scenario


@invariant
def one_at_a_time(view, history):
    """Require that no two hold the lock at a time."""
    found = view.glob("held.*")
    return len(found) <= 1 or f"expected one holder, but found {', '.join(found)}"


lock = Scenario("published/portalocker", invariants=[one_at_a_time])


def work(box, me):
    with TemporaryFileLock(str(box / "lock")):
        mark = box / f"held.{me.name}"
        mark.mkdir()
        mark.rmdir()


# Whose lock file another removed finds none to remove when it is done.
lock.actor(work, name="first", repeat=2, raises=(LockException, FileNotFoundError))
lock.actor(work, name="second", raises=(LockException, FileNotFoundError))
