"""Processes that make sure of one link while one is killed, held up, or refused."""

from filelock import Timeout

from racecheck.scenario import crashes, errnos, stall
from scenarios.ensure_symlink.parts import (
    callers,
    leave_nothing,
    leave_stale_link,
    ways,
)

killed = callers(
    "killed",
    2,
    leave_stale_link,
    faults=[crashes(1)],
    raises=(TimeoutError, Timeout),
    tags=["B57"],
)
killed.over(
    way=ways("filelock", "atomic", "exchange", "flock", "flock_aside", "lock_file"),
    expect={
        # Nobody removes the lock file of a process that was killed.
        "lock_file": "no_lost_writes",
    },
)

stalled = callers(
    "stalled",
    2,
    leave_nothing,
    faults=[stall("ensure-1", 120, on="symlink")],
    raises=(TimeoutError, Timeout),
    tags=["B57"],
)
stalled.over(
    way=ways("filelock", "flock", "lock_file"),
    # To give up after a minute is what they say they do.
    expect={"filelock": "no_lost_writes", "lock_file": "no_lost_writes"},
)

refused = callers(
    "refused",
    2,
    leave_stale_link,
    faults=[errnos("ENOSPC", "symlink"), errnos("EIO", "rename")],
)
refused.over(
    way=ways("filelock", "atomic", "unclean", "exchange", "flock", "flock_aside"),
    expect={"unclean": "temp_files_bounded"},
)
