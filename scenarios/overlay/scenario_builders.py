"""Builders of one overlay with nobody else, few enough files for every order.

A name that two builders replace can be left by either, and so can every other name. Of
a model with many files that makes more orders than anybody waits for, and they show
nothing that those of a model with two do not.
"""

from pathlib import Path

from racecheck.invariants import (
    no_lost_writes,
    source_untouched,
    temp_files_bounded,
    whole_images,
)
from racecheck.scenario import Scenario
from scenarios.overlay.model_folder import YARN_OVERRIDES, make_compact_model
from scenarios.overlay.overlay import (
    CONFIG_NAME,
    Builder,
    build_faulty,
    build_fixed,
    overlay_path,
)
from scenarios.overlay.parts import MODEL, OVERLAY, whole_config

BUILDERS = {"faulty": build_faulty, "fixed": build_fixed}
FAULTY = {"no_lost_writes", "no_unexpected_errors", "source_untouched", "whole_images"}


def model_folder(box: Path) -> dict[str, Path]:
    """Put a model of two files into the box."""
    model = box / MODEL
    make_compact_model(model)
    return {"model": model, "overlay": overlay_path(model, YARN_OVERRIDES)}


def build(model: Path, overlay: Path, builder: Builder) -> None:
    """Build the overlay."""
    builder(model, overlay, YARN_OVERRIDES)


def builders(name: str, count: int) -> Scenario:
    """Make a scenario of builders."""
    scenario = Scenario(
        name,
        invariants=[
            no_lost_writes(),
            whole_images(f"{OVERLAY}/{CONFIG_NAME}", whole_config, after="build"),
            source_untouched(MODEL),
            temp_files_bounded(f"{OVERLAY}/*.tmp.*"),
        ],
    )
    scenario.setup(model_folder)
    scenario.writer(build, count=count)
    scenario.over(builder=BUILDERS, expect={"faulty": FAULTY})
    return scenario


two_builders = builders("overlay/two_builders", 2)
three_builders = builders("overlay/three_builders", 3)
