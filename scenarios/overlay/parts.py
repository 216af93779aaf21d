"""What the scenarios of overlays are made of: a model, builders, and servers."""

import json
from collections.abc import Callable, Iterable
from pathlib import Path

from racecheck.invariants import (
    converges,
    invariant,
    never_missing,
    no_leaked_descriptors,
    no_lost_writes,
    source_untouched,
    temp_files_bounded,
    whole_images,
)
from racecheck.model import FaultBound, History, Invariant, PlannedFault, View
from racecheck.scenario import Scenario
from scenarios.overlay.model_folder import CONFIG, YARN_OVERRIDES, make_compact_model
from scenarios.overlay.overlay import (
    CONFIG_NAME,
    MARKER_NAME,
    Builder,
    marker_text,
    overlay_path,
)
from scenarios.overlay.pieces import VARIANTS
from scenarios.overlay.serving import (
    SINGLE_WEIGHTS_NAME,
    load_config,
    missing_weights,
)

MODEL = "model"
OVERLAY = str(overlay_path(Path(MODEL), YARN_OVERRIDES))

MERGED = {**CONFIG, **YARN_OVERRIDES}
FINISHED: dict[str, bytes | str | None] = {
    CONFIG_NAME: json.dumps(MERGED, indent=2).encode(),
    MARKER_NAME: marker_text(YARN_OVERRIDES).encode(),
    SINGLE_WEIGHTS_NAME: f"-> ../{MODEL}/{SINGLE_WEIGHTS_NAME}",
}
"""All there is in an overlay of the compact model, as a single builder leaves it."""


def whole_config(data: bytes) -> str | None:
    """Judge the bytes of a config as a JSON reader does."""
    try:
        json.loads(data)
    except ValueError as error:
        return f"torn: {error}"
    return None


def merged(value: object) -> str | None:
    """Judge the config that a server started with."""
    return None if value == MERGED else "not the merged config"


def not_unmerged(data: bytes) -> str | None:
    """Judge the bytes of a config that a JSON reader can read."""
    return merged(json.loads(data)) if whole_config(data) is None else None


@invariant
def marker_covers(view: View, history: History) -> str | None:
    """Require that nothing is missing of an overlay that its marker calls finished."""
    del history
    if view.read(f"{OVERLAY}/{MARKER_NAME}") != FINISHED[MARKER_NAME]:
        return None
    if view.read(f"{OVERLAY}/{CONFIG_NAME}") != FINISHED[CONFIG_NAME]:
        return f"the marker is there, and {CONFIG_NAME!r} is not the merged one"
    link = view.readlink(f"{OVERLAY}/{SINGLE_WEIGHTS_NAME}")
    if f"-> {link}" != FINISHED[SINGLE_WEIGHTS_NAME]:
        return f"the marker is there, and {SINGLE_WEIGHTS_NAME!r} is not linked"
    return None


def no_litter() -> list[Invariant]:
    """Require that temp files and staged folders have somebody who made them."""
    return [
        temp_files_bounded(f"{OVERLAY}/*.tmp.*"),
        temp_files_bounded(f"{OVERLAY}.tmp.*", name="stage_folders_bounded"),
    ]


def all_hold() -> list[Invariant]:
    """Return what has to hold of any builder."""
    return [
        no_lost_writes(),
        whole_images(f"{OVERLAY}/{CONFIG_NAME}", whole_config, after="build"),
        never_missing(f"{OVERLAY}/{CONFIG_NAME}", after="build", name="config_stays"),
        never_missing(
            f"{OVERLAY}/{SINGLE_WEIGHTS_NAME}", after="build", name="weights_stay"
        ),
        whole_images(
            f"{OVERLAY}/{CONFIG_NAME}",
            not_unmerged,
            after="build",
            name="stays_merged",
        ),
        marker_covers,
        converges(OVERLAY, FINISHED, ignore="*.tmp.*", role="build"),
        source_untouched(MODEL),
        *no_litter(),
        no_leaked_descriptors(),
    ]


def model_folder(box: Path) -> dict[str, Path]:
    """Put a model into the box."""
    model = box / MODEL
    make_compact_model(model)
    return {"model": model, "overlay": overlay_path(model, YARN_OVERRIDES)}


def build(model: Path, overlay: Path, builder: Builder) -> None:
    """Build the overlay, as the first half of a job does."""
    builder(model, overlay, YARN_OVERRIDES)


def start_server(overlay: Path) -> dict[str, object]:
    """Start on the overlay, as the second half of a job does."""
    missing = missing_weights(overlay)
    if missing:
        raise FileNotFoundError(f"no weights: {', '.join(missing)}")
    return load_config(overlay)


def builders(*names: str) -> dict[str, Builder]:
    """Return some of the builders there are."""
    return {name: VARIANTS[name] for name in names}


def jobs(
    name: str,
    count: int,
    *,
    invariants: Iterable[Invariant] | None = None,
    faults: Iterable[PlannedFault | FaultBound] = (),
    setup: Callable[[Path], dict[str, Path]] = model_folder,
    same_pid: bool = False,
    tags: Iterable[str] = (),
    budget: int | None = None,
) -> Scenario:
    """Make a scenario of jobs that build one overlay, without those that serve.

    Args:
        name: Name of the scenario, below that of this folder.
        count: How many jobs.
        invariants: What has to hold; `all_hold` if nothing is said.
        faults: What goes wrong.
        setup: What is there before.
        same_pid: Whether the jobs run on hosts where they have one process id.
        tags: Questions that it answers.
        budget: Executions, where the default is not right.
    """
    scenario = Scenario(
        f"overlay/{name}",
        invariants=all_hold() if invariants is None else invariants,
        faults=faults,
        setup=setup,
        same_pid=same_pid,
        tags=tags,
        budget=budget,
    )
    scenario.writer(count=count)(build)
    return scenario
