"""Serves that find no image and write it, at the same time: who races with whom.

Each variant is a writer of `writers.py`. Those that break something say what in
`expect`; all others have to hold in every order.
"""

import os
from pathlib import Path
from threading import Thread

from racecheck.invariants import served
from racecheck.scenario import Me, Scenario, stall
from scenarios.head_image.serves import (
    LOST,
    SPOILED,
    TORN,
    accepted,
    cold_serves,
    each_breaks,
    invariants,
    load,
    serve,
    some,
)
from scenarios.head_image.writers import Writer

two_cold_serves = cold_serves(
    "two_cold_serves",
    rules=[*invariants(), served("load", accepted)],
    tags={"B01", "B05", "B32", "B36"},
)
two_cold_serves.reader(load)
two_cold_serves.over(
    write=some(
        *("shared", "pid", "inplace", "copy", "link", "verify_first", "nameless"),
        *("counted", "mkstemp", "exclusive_shared", "shared_forgiving"),
        *("skip_if_busy", "windows", "remove_rename", "link_kept", "never_closed"),
        "pid_reverted",
    ),
    expect={
        "shared": SPOILED,
        "inplace": TORN,
        "copy": TORN,
        "exclusive_shared": LOST,
        "shared_forgiving": TORN,
        "skip_if_busy": {"no_silent_loss"},
        "windows": SPOILED,
        "remove_rename": LOST | {"no_silent_loss"},
        "link_kept": {"temp_files_bounded"},
        "never_closed": {"no_leaked_descriptors"},
        "pid_reverted": SPOILED,
    },
    tags={
        "shared": {"B03", "B35", "quick"},
        "pid": {"B37", "quick"},
        "link_kept": {"B37"},
        "pid_reverted": {"B06"},
        "copy": {"B07"},
        "windows": {"B34"},
        "remove_rename": {"B34"},
        "skip_if_busy": {"B38"},
    },
)

three_cold_serves = cold_serves("three_cold_serves", 3, tags={"B02"})
three_cold_serves.over(
    write=some(
        *("shared", "pid", "counted", "mkstemp", "link", "exclusive_shared"),
        *("shared_forgiving", "flock", "flock_removed"),
    ),
    expect={
        "shared": SPOILED,
        "exclusive_shared": SPOILED,
        "shared_forgiving": TORN,
        "flock_removed": SPOILED,
    },
)

# --- equal process ids ----------------------------------------------------------------


def serve_in_container(box: Path, write: Writer, me: Me) -> bool:
    """Write the image on a host of one's own, which has a name of its own."""
    os.environ["HOSTNAME"] = me.name
    return serve(box, write)


# Two containers on one volume, each with a process 1001.
same_pid = Scenario(
    "head_image/same_pid",
    invariants=invariants(),
    same_pid=True,
    tags={"B09", "B41"},
)
same_pid.writer(count=2, succeeds=bool, name="serve")(serve_in_container)
same_pid.over(
    write=some(
        *("pid", "counted", "thread", "clock", "host", "unique", "mkstemp", "unused")
    ),
    expect=each_breaks(("pid", "counted", "thread"), SPOILED),
)


def serve_two(box: Path, write: Writer) -> bool:
    """Serve the pack to two at a time, in threads of one process."""
    written: list[bool] = []
    threads = [
        Thread(target=lambda: written.append(serve(box, write))) for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return written == [True, True]


# Of two that share a name one always fails, and so does what they are part of.
TWO_IN_ONE = SPOILED - {"no_silent_loss"}

two_threads = Scenario(
    "head_image/two_threads", invariants=invariants(2), budget=60, tags="B10"
)
two_threads.writer(succeeds=bool)(serve_two)
two_threads.over(
    write=some("pid", "counted", "thread", "mkstemp"), expect={"pid": TWO_IN_ONE}
)


def serve_impatiently(box: Path, write: Writer) -> bool:
    """Try again after a second, while the first try may still be under way."""
    written: list[bool] = []
    first = Thread(target=lambda: written.append(serve(box, write)))
    first.start()
    first.join(timeout=1)
    if not written:
        written.append(serve(box, write))
    first.join()
    return all(written)


# The first try is held up for longer than anybody waits for it, and then goes on.
retry_in_flight = Scenario(
    "head_image/retry_in_flight",
    invariants=invariants(2),
    faults=[stall("serve_impatiently", 3600, on="rename")],
    budget=60,
    tags="B10",
)
retry_in_flight.writer(succeeds=bool)(serve_impatiently)
retry_in_flight.over(
    write=some("pid", "counted", "thread", "mkstemp"),
    # What is written late is whole: the second try has published by then.
    expect={"pid": {"no_lost_writes", "clean_failure"}},
)


# Only the caller knows that one process never writes twice at a time.
in_sequence = Scenario("head_image/in_sequence", invariants=invariants(), tags="B11")
in_sequence.writer(succeeds=bool, repeat=2, name="serve")(serve)
in_sequence.reader(load)
in_sequence.over(write=some("shared", "pid", "counted"))
