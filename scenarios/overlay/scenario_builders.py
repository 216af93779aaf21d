"""Builders of one overlay with nobody else, few enough files for every order.

A name that two builders replace can be left by either, and so can every other name. Of
a model with many files that makes more orders than anybody waits for, and they show
nothing that those of a model with two do not.
"""

from racecheck.invariants import (
    no_lost_writes,
    source_untouched,
    temp_files_bounded,
    whole_images,
)
from racecheck.scenario import Scenario
from scenarios.overlay.overlay import CONFIG_NAME, build_faulty, build_fixed
from scenarios.overlay.parts import MODEL, OVERLAY, build, model_folder, whole_config

FAULTY = {"no_lost_writes", "no_unexpected_errors", "source_untouched", "whole_images"}


def builders(name: str, count: int, budget: int | None = None) -> Scenario:
    """Make a scenario of so many builders, without its variants."""
    scenario = Scenario(
        name,
        invariants=[
            no_lost_writes(),
            whole_images(f"{OVERLAY}/{CONFIG_NAME}", whole_config, after="build"),
            source_untouched(MODEL),
            temp_files_bounded(f"{OVERLAY}/*.tmp.*"),
        ],
        budget=budget,
    )
    scenario.setup(model_folder)
    scenario.writer(build, count=count)
    return scenario


two_builders = builders("overlay/builders_of_two_files/two", 2)
two_builders.over(
    builder={"faulty": build_faulty, "fixed": build_fixed}, expect={"faulty": FAULTY}
)

# What three break, two break in fewer steps. That they break nothing is another thing.
three_builders = builders("overlay/builders_of_two_files/three", 3, budget=300)
three_builders.over(builder={"fixed": build_fixed})
