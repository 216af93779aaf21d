"""Jobs that build one overlay at the same time, and a server that starts on it."""

from racecheck.invariants import (
    no_lost_writes,
    served,
    source_untouched,
    temp_files_bounded,
    whole_images,
)
from scenarios.overlay.overlay import CONFIG_NAME
from scenarios.overlay.parts import (
    MODEL,
    OVERLAY,
    builders,
    jobs,
    merged,
    start_server,
    whole_config,
)

# What a builder breaks that looks, removes and makes in separate steps.
LOST = {"no_lost_writes", "no_unexpected_errors"}
SEEN = {"merged_config", "source_untouched", "whole_images"}

two_jobs = jobs(
    "two_jobs",
    2,
    invariants=[
        no_lost_writes(),
        whole_images(f"{OVERLAY}/{CONFIG_NAME}", whole_config, after="build"),
        served("start_server", merged, name="merged_config"),
        source_untouched(MODEL),
        temp_files_bounded(f"{OVERLAY}/*.tmp.*"),
    ],
    tags=["B60", "B61", "B67"],
    budget=250,
)
two_jobs.reader(after="build")(start_server)
two_jobs.over(
    builder=builders(
        *("faulty", "eexist", "proposed", "fixed", "stage_folder", "locked")
    ),
    expect={
        "faulty": LOST | SEEN,
        "eexist": LOST | SEEN,
        "proposed": {"merged_config"},
    },
    tags={"faulty": ["T-O1", "T-O2", "T-O3", "T-O4"], "proposed": "T-O5"},
)

marked = jobs("marked", 2, tags=["B63", "B65"], budget=100)
marked.over(
    builder=builders("proposed", "marked_first", "fixed", "stage_folder", "locked"),
    expect={
        "proposed": {"marker_covers", "stays_merged"},
        "marked_first": {"marker_covers"},
    },
    tags={"proposed": "T-O5", "fixed": "B64"},
)

three_jobs = jobs(
    "three_jobs", 3, invariants=[no_lost_writes()], tags=["B60"], budget=200
)
three_jobs.over(
    builder=builders("faulty", "proposed", "fixed", "stage_folder", "locked"),
    expect={"faulty": LOST},
)
