"""Guards variants: their names, parameters and expectations, and their shapes."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, cast

import pytest

from racecheck.errors import ScenarioError
from racecheck.scenario import Scenario, command


class Holds:
    """An invariant that always holds."""

    def __init__(self, name: str = "holds") -> None:
        self.name = name

    def start(self, view: object) -> None: ...
    def after_step(self, view: object, history: object, step: object) -> None: ...
    def at_return(self, view: object, history: object, operation: object) -> None: ...
    def at_end(self, view: object, history: object) -> None: ...


def write_shared() -> None: ...


def write_pid() -> None: ...


def make(expect: str = "kept") -> Scenario:
    invariants = [Holds("whole"), Holds("kept")]
    return Scenario("image/two", invariants=invariants, expect=expect)


def test_a_scenario_without_parameters_is_its_only_variant() -> None:
    scenario = make()

    assert scenario.variants() == (scenario,)
    assert repr(scenario) == "Scenario('image/two')"


def test_each_combination_is_a_scenario() -> None:
    scenario = make()
    scenario.over(
        write=[write_shared, write_pid],
        size={"small": 1, "large": 10**9},
        expect={"write_shared-large": {"whole", "kept"}, "write_pid-small": ()},
    )

    variants = {variant.name: variant for variant in scenario.variants()}
    assert {name: variant.expect for name, variant in variants.items()} == {
        "image/two/write_shared-small": {"kept"},
        "image/two/write_shared-large": {"whole", "kept"},
        "image/two/write_pid-small": set(),
        "image/two/write_pid-large": {"kept"},
    }
    large = variants["image/two/write_pid-large"]
    assert large.parameters == {"write": write_pid, "size": 10**9}
    assert large.ids == {"write": "write_pid", "size": "large"}
    assert large.variants() == (large,)


def test_one_expectation_may_hold_for_all() -> None:
    scenario = make()
    scenario.over(path=[Path("/a/b")], n=[True], expect="deadlock")

    (variant,) = scenario.variants()
    assert variant.name == "image/two/b-True"
    assert variant.expect == {"deadlock"}


def test_tags_of_a_variant_come_on_top_of_those_of_its_scenario() -> None:
    scenario = Scenario("s", tags="B01")
    scenario.over(n=[1, 2], tags={"2": ["B13", "slow"]})

    one, two = scenario.variants()
    assert one.tags == {"B01"}
    assert two.tags == {"B01", "B13", "slow"}
    assert scenario.tags == {"B01"}


def test_actors_of_a_variant_are_its_own() -> None:
    scenario = make()
    scenario.writer(write_pid)
    scenario.over(n=[1])
    (variant,) = scenario.variants()
    variant.writer(write_shared)

    assert len(variant.actors) == 2
    assert len(scenario.actors) == 1


@pytest.mark.parametrize(
    ("over", "message"),
    [
        ({}, "over needs a parameter"),
        ({"box": [1]}, "'box' has a meaning already"),
        ({"n": "abc"}, "over takes a list of values, not n='abc'"),
        ({"n": 3}, "over takes a list of values, not n=3"),
        ({"n": []}, "over has no value for 'n'"),
        ({"n": ["a b"]}, "'a b' gives 'n' no usable name"),
        ({"n": [lambda: 1]}, "gives 'n' no usable name"),
        ({"n": {3: 1}}, "gives 'n' no usable name"),
        ({"n": [1, "1"]}, "two values of 'n' are called '1'"),
        ({"a": ["x-y", "x"], "b": ["z", "y-z"]}, "two variants the name 'x-y-z'"),
        (
            {"n": [1], "expect": {"2": "whole"}},
            "expect names a variant '2' that there is none of; variants: 1",
        ),
        ({"n": [1], "tags": {"2": "B1"}}, "tags names a variant '2'"),
        ({"n": [1], "tags": {"1": ["a b"]}}, "tags are words of letters"),
        ({"n": [1], "expect": 3}, "expect holds names of invariants, not 3"),
        ({"n": [1], "expect": [3]}, "expect holds names of invariants, not [3]"),
        (
            {"n": [1], "expect": "hole"},
            "did you mean 'whole'?; it has: whole, kept, ",
        ),
    ],
)
def test_variants_that_make_no_sense_are_refused(
    over: dict[str, Any], message: str
) -> None:
    with pytest.raises(ScenarioError) as caught:
        make().over(**over)

    assert message in str(caught.value)


def test_over_is_called_once() -> None:
    scenario = make()
    scenario.over(n=[1])

    with pytest.raises(ScenarioError, match="image/two: over was called before"):
        scenario.over(n=[2])


def shape(name: str = "s", *, same_pid: bool = False, **options: object) -> str:
    scenario = Scenario(name, same_pid=same_pid, expect="deadlock")
    scenario.writer(write_pid, **cast("Any", {"name": "w", "count": 2, **options}))
    scenario.reader(write_shared, name="r")
    return scenario.shape()


def test_a_shape_is_the_same_on_every_machine() -> None:
    # A token that somebody has printed is bound to it, so a change of this digest is a
    # change that users see.
    assert shape() == "1eefe9678a3f2cb4"


@pytest.mark.parametrize(
    "options",
    [
        {"name": "t"},
        {"same_pid": True},
        {"clock_offset_s": 60},
        {"count": 3},
        {"repeat": 2},
        {"after": "r"},
    ],
)
def test_a_shape_changes_with_actors_and_operations(options: dict[str, Any]) -> None:
    assert shape(**options) != shape()


def test_a_shape_depends_on_no_function_and_no_expectation() -> None:
    scenario = Scenario("s", invariants=[Holds()])
    scenario.writer(write_shared, name="w", count=2)
    scenario.reader(write_shared, name="r")

    assert scenario.shape() == shape()


def test_variants_have_shapes_of_their_own() -> None:
    scenario = make()
    scenario.writer(write_pid)
    scenario.over(write=[write_shared, write_pid])

    first, second = scenario.variants()
    assert first.shape() != second.shape()


def shape_of(*argv: str) -> str:
    scenario = Scenario("s")
    scenario.writer(command(argv), name="w")
    return scenario.shape()


def test_a_shape_leaves_out_where_things_lie() -> None:
    assert shape_of("/home/me/tool", "-v") == shape_of("/srv/tool", "-v")
    assert shape_of("/home/me/tool") != shape_of("/home/me/other")
    # What a shell is told to do is the subject's source.
    assert shape_of("sh", "-c", "cp a b") == shape_of("sh", "-c", "mv a b")
    assert shape_of(sys.executable) == shape_of("python")


def test_a_scenario_checks_what_it_is_made_of() -> None:
    def refused(message: str, name: object = "s", **options: object) -> None:
        with pytest.raises(ScenarioError) as caught:
            Scenario(cast("Any", name), **cast("Any", options))
        assert message in str(caught.value)

    refused("a scenario's name is made of", name="a b")
    refused("a scenario's name is made of", name="a//b")
    refused("a scenario's name is made of", name=3)
    refused("s: max_steps is more than 0, not 0", max_steps=0)
    refused("s: max_steps is more than 0, not True", max_steps=True)
    refused("s: max_cpu_s is more than 0, not 'x'", max_cpu_s="x")
    refused("s: max_steps is at most 9223372036854775807", max_steps=10**20)
    refused("s: max_cpu_s is at most 9223372036854775807", max_cpu_s=float("nan"))
    refused("s: a budget is at most 9223372036854775807", budget=10**20)
    refused("s: a budget is a number of executions or a time", budget="soon")
    refused("s: Holds is no invariant yet", invariants=[Holds])
    refused("s: 3 is no invariant", invariants=[3])
    refused("two invariants are called 'holds'", invariants=[Holds(), Holds()])
    refused("s: 3 is no fault", faults=[3])
    refused("s: expects 'no'", expect=["no"])
    refused("s: tags are words of letters, digits and '_.+=-', not ['']", tags=[""])
    refused("s: tags are words of letters, digits and '_.+=-', not 3", tags=3)
