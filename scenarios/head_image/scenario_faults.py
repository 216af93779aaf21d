"""Serves that are killed, and calls that fail: what is left, and who is told."""

from pathlib import Path

from racecheck.invariants import (
    cap_holds,
    invariant,
    no_lost_writes,
    served,
    temp_files_bounded,
)
from racecheck.model import FaultKind, History, Kind, View
from racecheck.scenario import (
    Scenario,
    crash,
    crashes,
    errno,
    errnos,
    make_old,
    short_writes,
)
from scenarios.head_image.image import Refusal, read_head_image
from scenarios.head_image.reading import Reader, read_raw
from scenarios.head_image.serves import (
    IMAGE,
    KEY,
    LOST,
    SECTIONS,
    SHARED_NAME,
    SPOILED,
    TEMPS,
    TORN,
    accepted,
    cold_serves,
    each_breaks,
    in_two_pieces,
    invariants,
    load,
    serve,
    some,
)
from scenarios.head_image.writers import HOUR_S, INPLACE

OLD = b"".join(in_two_pieces(builder=0))

# --- killed ---------------------------------------------------------------------------

# A killed writer may leave one temp file. Whether it goes on to spoil what another one
# publishes is the question.
killed = cold_serves("killed", faults=[crashes(1)], tags={"B21", "B28", "B41"})
killed.over(
    write=some(
        *("shared", "pid", "unique", "nameless", "inplace", "remove_rename"),
        "flock",
    ),
    expect={
        # Torn for good: nobody is left to rename a whole one over it.
        "shared": SPOILED | {"identical"},
        "inplace": TORN | {"identical"},
        "remove_rename": SHARED_NAME - {"whole_images"} | {"identical"},
    },
)

# A lock that is a file is never given back by the dead; one of the kernel's is.
killed_holder = cold_serves(
    "killed_holder",
    faults=[crash("serve-1", on="write", occurrence=2)],
    tags={"B28"},
    max_steps=50,
)
killed_holder.over(
    write=some("flock", "flock_removed", "lock_file"),
    expect={"lock_file": {"progress"} | LOST},
)

# Nobody cleans up for the dead: whoever allows nothing at all finds that.
killed_without_trace = cold_serves(
    "killed_without_trace",
    rules=[temp_files_bounded(TEMPS, per_crash=0)],
    faults=[crashes(1)],
    tags={"B21", "B41"},
)
killed_without_trace.over(
    write=some("pid", "unique", "mkstemp", "nameless", "inplace"),
    expect=each_breaks(
        ("pid", "unique", "mkstemp", "nameless"), {"temp_files_bounded"}
    ),
)

killed_before_rename = cold_serves(
    "killed_before_rename", faults=[crash("serve-1", on="rename")], tags={"B21"}
)
killed_before_rename.reader(load)
killed_before_rename.over(
    write=some("shared", "pid"),
    # The killed writer never renames, so the other one always finds its file.
    expect={"shared": TORN},
)

# Three that were killed long ago, by their names and by the one that all share.
LEFT = (*(f"{IMAGE}.tmp.{pid}" for pid in (71, 72, 73)), f"{IMAGE}.tmp")


def leave(box: Path, names: tuple[str, ...]) -> None:
    """Leave temp files of writers that were killed two hours ago."""
    for name in names:
        (box / name).write_bytes(OLD[:100])
        make_old(box / name, 2 * HOUR_S)


orphans = cold_serves(
    "orphans",
    1,
    rules=[no_lost_writes(), cap_holds(TEMPS, files=0, name="orphans_gone")],
    tags={"B21", "B22"},
)
orphans.setup(lambda box: leave(box, LEFT[:3]))
orphans.over(
    write=some("pid", "mkstemp", "sweep_first"),
    expect=each_breaks(("pid", "mkstemp"), {"orphans_gone"}),
)

shared_orphan = cold_serves("shared_orphan", 1, tags={"B21"})
shared_orphan.setup(lambda box: leave(box, LEFT[3:]))
shared_orphan.over(
    write=some("shared", "exclusive_shared"),
    # The first to come after a crash fails, and takes the orphan away with it.
    expect={"exclusive_shared": {"no_lost_writes"}},
)

# --- failing calls --------------------------------------------------------------------

failing_calls = cold_serves(
    "failing_calls",
    faults=[
        errnos("EACCES", "open", actor="serve-1"),
        errnos("ENOSPC", "write", actor="serve-1"),
        errnos("EIO", "close", actor="serve-1"),
        errnos("EDQUOT", "rename", actor="serve-1"),
    ],
    tags={"B13"},
)
failing_calls.over(
    write=some("pid", "mkstemp", "link", "never_removed", "shared", "inplace"),
    expect={
        "never_removed": {"clean_failure", "temp_files_bounded"},
        "shared": SPOILED,
        "inplace": TORN | {"clean_failure", "identical"},
    },
)

disk_full = cold_serves(
    "disk_full",
    faults=[errno("ENOSPC", "serve-1", on="write", occurrence=2)],
    tags={"B13"},
)
disk_full.reader(load)
disk_full.over(write=some("shared", "pid"), expect={"shared": SPOILED | {"identical"}})


# A write may transfer less than it was given, and says so.
short = cold_serves("short_writes", faults=[short_writes(1)], tags={"B13"})
short.over(
    write=some("pid", "written_once"), expect={"written_once": TORN | {"identical"}}
)


@invariant(in_any_order=True)
def failed_closes_count(view: View, history: History) -> str | None:
    """Require that no write is called a success whose close failed."""
    del view
    for step in history.steps:
        if (
            step.kind is Kind.CLOSE
            and step.fault is not None
            and step.fault.kind is FaultKind.ERRNO
        ):
            for operation in history.operations:
                if operation.actor == step.actor and operation.succeeded:
                    return f"{operation} though its close failed in step {step.index}"
    return None


# Some file systems tell only at the close that there was no room. A reader would have
# nothing to meet, since nothing is published.
failing_close = Scenario(
    "head_image/failing_close",
    invariants=[*invariants(), failed_closes_count],
    faults=[errno("ENOSPC", "serve", on="close")],
    tags={"B14"},
)


@failing_close.setup
def old_image(box: Path) -> None:
    """Put an older image at the path."""
    (box / IMAGE).write_bytes(OLD)


failing_close.writer(succeeds=bool)(serve)
failing_close.over(
    write=some("pid", "shared", "close_unchecked"),
    expect={"close_unchecked": {"failed_closes_count"}},
    tags={"pid": "quick", "close_unchecked": "quick"},
)

# --- what a torn file is read as ------------------------------------------------------

# Killed in the middle of a write in place, a writer leaves torn files of all kinds.
torn_reads = Scenario(
    "head_image/torn_reads",
    invariants=[served("load", accepted)],
    faults=[crashes(1, actor="serve")],
    tags={"B31"},
)


@torn_reads.writer(succeeds=bool, name="serve")
def serve_in_place(box: Path) -> bool:
    """Write the image where it shall be."""
    return INPLACE(box / IMAGE, SECTIONS)


@torn_reads.reader(name="load")
def load_by(box: Path, read: Reader) -> bytes | Refusal:
    """Read the image in one way or another."""
    return read(box / IMAGE, KEY)


torn_reads.over(
    read={"validated": read_head_image, "raw": read_raw},
    expect={"raw": {"served"}},
)
