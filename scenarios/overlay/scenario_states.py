"""Overlays that are there already, models that still change, and servers that list."""

from pathlib import Path

from racecheck.invariants import (
    invariant,
    never_missing,
    no_lost_writes,
    served,
    source_untouched,
    whole_images,
)
from racecheck.model import MUTATING, History, Kind, View
from scenarios.overlay.model_folder import YARN_OVERRIDES
from scenarios.overlay.overlay import CONFIG_NAME, MARKER_NAME, Builder, build_fixed
from scenarios.overlay.parts import (
    OVERLAY,
    build,
    builders,
    jobs,
    model_folder,
    no_litter,
    not_unmerged,
    start_server,
    whole_config,
)
from scenarios.overlay.pieces import VARIANTS
from scenarios.overlay.serving import SINGLE_WEIGHTS_NAME

MORE_WEIGHTS = "more.safetensors"


def finished_overlay(box: Path) -> dict[str, Path]:
    """Put a model into the box, and a finished overlay of it."""
    folders = model_folder(box)
    build_fixed(folders["model"], folders["overlay"], YARN_OVERRIDES)
    return folders


def unmarked_overlay(box: Path) -> dict[str, Path]:
    """Put a model into the box, and an overlay from which servers run already.

    Its marker is of another release, so that it is built again.
    """
    folders = finished_overlay(box)
    (folders["overlay"] / MARKER_NAME).write_text("{}")
    return folders


@invariant(in_any_order=True)
def only_looks(view: View, history: History) -> str | None:
    """Require that nobody tries to change anything."""
    del view
    for step in history.steps:
        if step.kind in MUTATING and step.kind is not Kind.OPEN:
            return f"{step.actor} calls {step.call}"
    return None


# Alone, since those who only read have nothing to race about.
warm = jobs(
    "warm",
    1,
    invariants=[no_lost_writes(), source_untouched(OVERLAY), only_looks],
    setup=finished_overlay,
    tags=["B62"],
)
warm.over(
    builder=VARIANTS,
    # Its marker says more, so that this one is of another kind to it.
    expect={
        name: {"only_looks", "source_untouched"} for name in ("listed", "listed_twice")
    },
)

rebuilt = jobs(
    "rebuilt",
    1,
    invariants=[
        no_lost_writes(),
        whole_images(f"{OVERLAY}/{CONFIG_NAME}", whole_config),
        whole_images(f"{OVERLAY}/{CONFIG_NAME}", not_unmerged, name="stays_merged"),
        never_missing(f"{OVERLAY}/{CONFIG_NAME}", name="config_stays"),
        never_missing(f"{OVERLAY}/{SINGLE_WEIGHTS_NAME}", name="weights_stay"),
        *no_litter(),
    ],
    setup=unmarked_overlay,
    tags=["T-O4", "T-O6"],
)
rebuilt.reader(start_server)
GONE = {"config_stays", "stays_merged", "weights_stay", "whole_images"}

rebuilt.over(
    builder=builders("faulty", "proposed", "fixed", "stage_folder", "locked"),
    expect={
        "faulty": GONE | {"no_unexpected_errors"},
        # The lock keeps builders apart, and not those who serve.
        "locked": GONE | {"no_unexpected_errors"},
        "proposed": {"stays_merged"},
        # There is a folder in the way that is not finished, and stays so.
        "stage_folder": {"no_lost_writes", "no_unexpected_errors"},
    },
)

# Hosts of a cluster that share nothing but the volume.
same_pid = jobs(
    "same_pid",
    2,
    invariants=[no_lost_writes(), *no_litter()],
    same_pid=True,
    tags=["B66", "quick"],
)
same_pid.over(
    builder=builders("proposed", "fixed", "stage_folder"),
    expect={"proposed": {"no_lost_writes", "no_unexpected_errors"}},
)


def list_weights(overlay: Path) -> list[str]:
    """List and open the weights as a server does that has no index of them."""
    found = sorted(overlay.glob("*.safetensors"))
    for path in found:
        path.stat()
    return [path.name for path in found]


listing_server = jobs(
    "listing_server",
    2,
    invariants=[
        no_lost_writes(),
        served(
            "list_weights", lambda names: names == [SINGLE_WEIGHTS_NAME], name="listed"
        ),
    ],
    budget=100,
)
listing_server.reader(after="build")(list_weights)
listing_server.over(
    builder=builders("globbed", "fixed"),
    expect={"globbed": {"listed", "no_unexpected_errors"}},
)


changing_source = jobs(
    "changing_source",
    1,
    invariants=[
        no_lost_writes(),
        served("late_job", lambda missing: missing == [], name="late_job_is_complete"),
    ],
    tags=["T-O8"],
)


@changing_source.actor
def download(box: Path, model: Path) -> None:
    """Put another file of weights into the model, as a download does in the end."""
    part = box / "part"
    part.write_bytes(b"more")
    part.rename(model / MORE_WEIGHTS)


@changing_source.actor(after="download")
def late_job(model: Path, overlay: Path, builder: Builder) -> list[str]:
    """Build and return what the overlay lacks, when the model is complete."""
    build(model, overlay, builder)
    return [each.name for each in model.iterdir() if not (overlay / each.name).exists()]


changing_source.over(
    builder=builders("fixed", "stage_folder", "listed_twice", "listed"),
    expect=dict.fromkeys(
        ("fixed", "stage_folder", "listed_twice"), "late_job_is_complete"
    ),
)
