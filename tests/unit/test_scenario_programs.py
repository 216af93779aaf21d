"""Guards what actors are given: arguments by name, command lines, and `me`."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any, cast

import pytest

from racecheck.errors import ScenarioError
from racecheck.scenario import Me, Scenario, command

BOX = Path("/box")


def one(scenario: Scenario, state: object = None) -> dict[str, object]:
    return dict(scenario.programs(BOX, state)[0].arguments)


def refusal(scenario: Scenario) -> str:
    with pytest.raises(ScenarioError) as caught:
        scenario.check()
    return str(caught.value)


def test_functions_get_what_they_ask_for_by_name() -> None:
    scenario = Scenario("s")

    @scenario.writer
    def serve(me: Me, box: Path, size: int = 4, *args: int, **more: int) -> None: ...

    scenario.check()
    arguments = one(scenario)
    assert arguments.keys() == {"me", "box"}
    assert arguments["box"] == BOX


def test_a_default_gives_way_to_what_is_provided() -> None:
    scenario = Scenario("s")
    scenario.over(size=[8])

    @scenario.writer
    def serve(*, size: int = 4) -> None: ...

    (variant,) = scenario.variants()
    assert one(variant) == {"size": 8}


def test_a_parameter_that_nothing_provides_is_refused() -> None:
    scenario = Scenario("s")
    scenario.over(size=[8])

    @scenario.writer
    def serve(box: Path, sise: int) -> None: ...

    (variant,) = scenario.variants()
    assert refusal(variant) == (
        "s/8: writer 'serve' has a parameter 'sise' that nothing provides, "
        "did you mean 'size'?; available: box, me, size"
    )
    with pytest.raises(ScenarioError, match="'sise'"):
        variant.programs(BOX, None)


def test_a_refusal_names_a_function_of_another_name_than_its_actor() -> None:
    scenario = Scenario("s")

    def work(thing: int) -> None: ...

    scenario.writer(work, name="serve")
    assert "writer 'serve' (function 'work') has" in refusal(scenario)


def test_a_positional_only_parameter_is_refused() -> None:
    scenario = Scenario("s")

    @scenario.writer
    def serve(box: Path, /) -> None: ...

    assert "positional-only parameter 'box'" in refusal(scenario)


def test_a_callable_without_a_signature_is_refused() -> None:
    class Odd:
        __name__ = "odd"
        __signature__ = 3

        def __call__(self) -> None: ...

    scenario = Scenario("s")
    scenario.writer(Odd())
    assert "has no signature to read" in refusal(scenario)


def test_the_keys_of_what_setup_returned_are_names_of_arguments() -> None:
    scenario = Scenario("s")

    @scenario.setup
    def prepare(box: Path) -> dict[str, object]:
        return {"key": f"of {box}"}

    @scenario.writer
    def serve(key: str) -> None: ...

    scenario.check()
    assert one(scenario, scenario.prepare(BOX)) == {"key": "of /box"}


@pytest.mark.parametrize("state", [None, 3, ["a"]])
def test_anything_else_that_setup_returned_is_called_state(state: object) -> None:
    scenario = Scenario("s", setup=lambda: state)

    @scenario.writer
    def serve(state: object) -> None: ...

    assert one(scenario, scenario.prepare(BOX)) == {"state": state}


def test_without_a_setup_there_is_no_state() -> None:
    scenario = Scenario("s")

    @scenario.writer
    def serve(state: object) -> None: ...

    assert scenario.prepare(BOX) is None
    assert "'state' that nothing provides" in refusal(scenario)


def test_after_setup_a_parameter_that_nothing_provides_is_refused_too() -> None:
    scenario = Scenario("s", setup=lambda: {"key": 1})

    @scenario.writer
    def serve(kay: int) -> None: ...

    scenario.check()
    with pytest.raises(ScenarioError, match="did you mean 'key'"):
        scenario.programs(BOX, scenario.prepare(BOX))


@pytest.mark.parametrize("key", ["box", "me", "size", "not a name", 3])
def test_setup_may_not_return_a_key_that_is_taken_or_no_name(key: object) -> None:
    scenario = Scenario("s", setup=lambda: {key: 1})
    scenario.over(size=[8])
    scenario.writer(lambda: None, name="serve")

    (variant,) = scenario.variants()
    with pytest.raises(ScenarioError, match="setup returned the key"):
        variant.programs(BOX, variant.prepare(BOX))


def test_setup_gets_parameters_and_is_refused_what_there_is_not() -> None:
    scenario = Scenario("s", setup=lambda size: size)
    scenario.over(size=[8])
    scenario.writer(lambda: None, name="serve")
    (variant,) = scenario.variants()

    variant.check()
    assert variant.prepare(BOX) == 8
    assert "setup has a parameter 'size'" in refusal(scenario)
    with pytest.raises(ScenarioError, match="setup has a parameter 'size'"):
        scenario.prepare(BOX)


def test_what_setup_raises_itself_stays_as_it_is() -> None:
    def fail() -> None:
        raise ScenarioError("mine")

    with pytest.raises(ScenarioError, match=r"^mine$"):
        Scenario("s", setup=fail).prepare(BOX)


def test_there_is_one_setup() -> None:
    with pytest.raises(ScenarioError, match="s: has a setup already"):
        Scenario("s", setup=lambda: 1).setup(lambda: 2)
    with pytest.raises(ScenarioError, match="s: setup takes a function, not 3"):
        Scenario("s", setup=cast("Any", 3))


def test_me_says_who_one_is_and_draws_the_same_numbers_for_a_seed() -> None:
    scenario = Scenario("s")
    scenario.writer(lambda me: me, name="serve", count=2)
    first, second = (
        cast("Me", program.arguments["me"]) for program in scenario.programs(BOX, None)
    )

    assert (second.name, second.role, second.index) == ("serve-2", "writer", 1)
    assert isinstance(first.random, random.Random)
    assert first.random.random() != second.random.random()
    first.reseed(7)
    drawn = [first.random.random() for _ in range(3)]
    first.reseed(7)
    assert [first.random.random() for _ in range(3)] == drawn
    first.reseed(8)
    assert [first.random.random() for _ in range(3)] != drawn


def test_a_command_has_its_placeholders_filled_in_and_all_else_left_alone() -> None:
    def write_shared() -> None: ...

    scenario = Scenario("s", setup=lambda: {"key": Path("k"), "thing": object()})
    scenario.over(write=[write_shared], n=[3])
    script = "cp {box}/{key} ${box} {write} {n} {thing} {unknown} {} {name} {index}"
    scenario.writer(
        command(["sh", "-c", script], env={"OUT": "{box}/out"}, success=(0, 3)),
        name="copy",
        count=2,
    )
    (variant,) = scenario.variants()
    variant.check()
    _, program = variant.programs(BOX, variant.prepare(BOX))

    assert program.argv == (
        *("env", "OUT=/box/out", "sh", "-c"),
        "cp /box/k ${box} write_shared 3 {thing} {unknown} {} copy-2 1",
    )
    assert program.function is None
    assert program.arguments == {}
    assert program.succeeds is not None
    assert program.succeeds(3)
    assert not program.succeeds(1)


def test_a_command_without_variables_is_run_as_it_is() -> None:
    scenario = Scenario("s")
    scenario.writer(command(["touch", "{box}/a"]), name="touch")

    scenario.check()
    (program,) = scenario.programs(BOX, None)
    assert program.argv == ("touch", "/box/a")


@pytest.mark.parametrize(
    ("argv", "options", "message"),
    [
        ("sh -c true", {}, "takes a list of strings, not 'sh -c true'"),
        (["sleep", 3], {}, "takes a list of strings"),
        ([], {}, "needs a program to run"),
        (["true"], {"env": {"A": 1}}, "holds strings, not 'A'=1"),
        (["true"], {"env": {"A=B": "1"}}, "has a bad name, 'A=B'"),
        (["true"], {"success": ()}, "holds exit statuses"),
        (["true"], {"success": ("0", 1)}, "holds exit statuses"),
    ],
)
def test_commands_that_make_no_sense_are_refused(
    argv: object, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ScenarioError, match=message):
        command(cast("Any", argv), **options)
