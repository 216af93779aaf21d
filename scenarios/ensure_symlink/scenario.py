"""Processes that make sure of one link at the same time, whatever is in its place."""

from racecheck.invariants import never_missing
from scenarios.ensure_symlink.parts import (
    GAP,
    LINK,
    LOST,
    LOST_AND_MISSING,
    callers,
    compile_it,
    leave_dangling_link,
    leave_folder,
    leave_full_folder,
    leave_nothing,
    leave_stale_link,
    never_taken,
    ways,
)

REPORTED = ("faulty", "eexist", "missing_ok", "relfix", "filelock")
UNLOCKED = dict.fromkeys(("faulty", "eexist", "missing_ok"), LOST_AND_MISSING)

# --- two processes --------------------------------------------------------------------

absent = callers("absent", 2, leave_nothing, tags=["B50", "T-S1"])
absent.over(
    way=ways(
        *("faulty", "eexist", "missing_ok", "relfix", "blind", "filelock"),
        *("atomic", "exchange", "flock", "flock_relfix", "lock_file"),
    ),
    expect={"faulty": LOST, "relfix": LOST},
    tags=dict.fromkeys(("faulty", "eexist", "filelock", "atomic", "flock"), "quick"),
)

stale_link = callers("stale_link", 2, leave_stale_link, tags=["B52"])
stale_link.over(
    way=ways(*REPORTED, "atomic", "exchange", "flock", "flock_aside"),
    expect={
        **UNLOCKED,
        "relfix": LOST_AND_MISSING,
    },
    tags={
        "faulty": ["T-S2", "T-S3", "T-S4", "quick"],
        "eexist": "T-S2",
        "atomic": "quick",
    },
)

dangling_link = callers("dangling_link", 2, leave_dangling_link, tags=["B56"])
dangling_link.over(
    way=ways("faulty", "eexist", "missing_ok", "filelock", "atomic", "flock"),
    expect=UNLOCKED,
)

stale_folder = callers("stale_folder", 2, leave_folder, tags=["B53"])
stale_folder.over(
    way=ways(*REPORTED, "atomic", "unclean", "exchange", "flock", "flock_aside"),
    expect={
        **UNLOCKED,
        "relfix": LOST_AND_MISSING,
        # A folder cannot be renamed over.
        "atomic": LOST,
        "unclean": LOST | {"temp_files_bounded"},
    },
    tags={"faulty": ["T-S2", "T-S3"], "missing_ok": "T-S6"},
)

full_folder = callers("full_folder", 2, leave_full_folder, tags=["B53"])
full_folder.over(
    way=ways("faulty", "eexist", "missing_ok", "filelock", "exchange", "flock"),
    expect=UNLOCKED,
)

compiler = callers("compiler", 2, leave_stale_link, tags=["T-S4"])
compiler.reader(after="ensure")(compile_it)
compiler.over(
    way=ways("faulty", "eexist", "filelock", "atomic", "exchange", "flock"),
    expect={"faulty": LOST_AND_MISSING, "eexist": LOST_AND_MISSING},
)

# --- a compiler that knows nothing of locks -------------------------------------------

changed_link = callers(
    "changed_link",
    1,
    leave_stale_link,
    invariants=[never_missing(LINK)],
    tags=["B52"],
)
changed_link.reader(compile_it)
changed_link.over(
    way=ways("faulty", "filelock", "atomic", "exchange", "flock"),
    expect=dict.fromkeys(("faulty", "filelock", "flock"), GAP),
)

changed_folder = callers(
    "changed_folder",
    1,
    leave_folder,
    invariants=[never_missing(LINK)],
    tags=["B53"],
)
changed_folder.reader(compile_it)
changed_folder.over(
    way=ways("faulty", "filelock", "exchange", "flock_aside"),
    expect=dict.fromkeys(("faulty", "filelock", "flock_aside"), GAP),
)

# --- three and more -------------------------------------------------------------------

three_absent = callers("three_absent", 3, leave_nothing, tags=["B50", "B54"])
three_absent.over(way=ways("faulty", "eexist", "atomic"), expect={"faulty": LOST})

three_stale_links = callers(
    "three_stale_link", 3, leave_stale_link, tags=["B54"], budget=100
)
three_stale_links.over(
    way=ways("faulty", "eexist", "missing_ok", "atomic", "flock"), expect=UNLOCKED
)

three_folders = callers("three_stale_folder", 3, leave_folder, tags=["B54"], budget=150)
three_folders.over(
    way=ways("faulty", "eexist", "missing_ok", "exchange", "flock"), expect=UNLOCKED
)

# Sampled: so many processes have more orders than anybody can go through.
ten_callers = callers("ten_callers", 10, leave_nothing, tags=["B50", "B58"], budget=20)
ten_callers.over(
    way=ways("faulty", "eexist", "filelock", "atomic", "flock"),
    expect={"faulty": LOST},
)

# --- who finds a name taken, and is content if what is there is right -----------------

CATCH = ways("faulty", "eexist", "missing_ok", "atomic")

caught_by_two = callers(
    "caught_by_two",
    2,
    leave_stale_link,
    invariants=[never_taken()],
    raises=OSError,
    tags=["T-S5"],
)
caught_by_two.over(way=CATCH, expect={"faulty": "never_taken"})

caught_by_three = callers(
    "caught_by_three",
    3,
    leave_stale_link,
    invariants=[never_taken()],
    raises=OSError,
    tags=["T-S5"],
)
caught_by_three.over(
    way=CATCH,
    expect={
        "faulty": "never_taken",
        "eexist": "never_taken",
        "missing_ok": "never_taken",
    },
)
