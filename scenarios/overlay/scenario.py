"""Jobs that build one overlay at the same time, and a server that starts on it."""

import json
from pathlib import Path

from racecheck.invariants import (
    no_lost_writes,
    served,
    source_untouched,
    temp_files_bounded,
    whole_images,
)
from racecheck.scenario import Scenario
from scenarios.overlay.model_folder import CONFIG, YARN_OVERRIDES, make_model
from scenarios.overlay.overlay import (
    CONFIG_NAME,
    Builder,
    build_faulty,
    build_fixed,
    build_proposed,
    overlay_path,
)
from scenarios.overlay.serving import load_config, missing_weights

MODEL = "model"
OVERLAY = str(overlay_path(Path(MODEL), YARN_OVERRIDES))


def whole_config(data: bytes) -> str | None:
    """Judge the bytes of a config as a JSON reader does."""
    try:
        json.loads(data)
    except ValueError as error:
        return f"torn: {error}"
    return None


def merged(value: object) -> str | None:
    """Judge the config that a server started with."""
    return None if value == {**CONFIG, **YARN_OVERRIDES} else "not the merged config"


two_jobs = Scenario(
    "overlay/two_jobs",
    invariants=[
        no_lost_writes(),
        whole_images(f"{OVERLAY}/{CONFIG_NAME}", whole_config, after="build"),
        served("start_server", merged, name="merged_config"),
        source_untouched(MODEL),
        temp_files_bounded(f"{OVERLAY}/*.tmp.*"),
    ],
)


@two_jobs.setup
def model_folder(box: Path) -> dict[str, Path]:
    """Put a model into the box."""
    model = box / MODEL
    make_model(model)
    return {"model": model, "overlay": overlay_path(model, YARN_OVERRIDES)}


@two_jobs.writer(count=2)
def build(model: Path, overlay: Path, builder: Builder) -> None:
    """Build the overlay, as the first half of a job does."""
    builder(model, overlay, YARN_OVERRIDES)


@two_jobs.reader(after="build")
def start_server(overlay: Path) -> dict[str, object]:
    """Start on the overlay, as the second half of a job does."""
    missing = missing_weights(overlay)
    if missing:
        raise FileNotFoundError(f"no weights: {', '.join(missing)}")
    return load_config(overlay)


two_jobs.over(
    builder={"faulty": build_faulty, "proposed": build_proposed, "fixed": build_fixed},
    expect={
        "faulty": {
            "no_lost_writes",
            "no_unexpected_errors",
            "whole_images",
            "merged_config",
            "source_untouched",
        },
        "proposed": {"merged_config"},
    },
)
