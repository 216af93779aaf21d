"""A cold cache and all jobs of a launch: 32 builders of one overlay, let loose at once.

They run under stress, as the launcher would start them; `scenario.py` goes through all
orders of two.
"""

from pathlib import Path

from racecheck.invariants import (
    no_lost_writes,
    served,
    source_untouched,
    temp_files_bounded,
    whole_images,
)
from racecheck.scenario import Scenario
from scenarios.overlay.model_folder import YARN_OVERRIDES, make_model
from scenarios.overlay.overlay import (
    CONFIG_NAME,
    Builder,
    build_faulty,
    build_fixed,
    overlay_path,
)
from scenarios.overlay.parts import MODEL, OVERLAY, merged, whole_config
from scenarios.overlay.serving import load_config, missing_weights

JOBS = 32

cold_cache = Scenario(
    "overlay/cold_cache",
    invariants=[
        no_lost_writes(role="job"),
        whole_images(f"{OVERLAY}/{CONFIG_NAME}", whole_config, after="job"),
        served("job", merged, name="merged_config"),
        source_untouched(MODEL),
        temp_files_bounded(f"{OVERLAY}/*.tmp.*"),
    ],
    engine="stress",
    tags=["B60", "B61"],
    budget=10,
)


@cold_cache.setup
def model_folder(box: Path) -> dict[str, Path]:
    """Put a model into the box."""
    model = box / MODEL
    make_model(model)
    return {"model": model, "overlay": overlay_path(model, YARN_OVERRIDES)}


@cold_cache.writer(count=JOBS)
def job(model: Path, overlay: Path, builder: Builder) -> dict[str, object]:
    """Build the overlay and start to serve from it, as a job does."""
    builder(model, overlay, YARN_OVERRIDES)
    missing = missing_weights(overlay)
    if missing:
        raise FileNotFoundError(f"no weights: {', '.join(missing)}")
    return load_config(overlay)


cold_cache.over(
    builder={"faulty": build_faulty, "fixed": build_fixed},
    expect={
        "faulty": {
            "no_lost_writes",
            "no_unexpected_errors",
            "whole_images",
            "merged_config",
            "source_untouched",
        }
    },
)
