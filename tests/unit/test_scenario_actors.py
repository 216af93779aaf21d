"""Guards how actors are declared: names, process ids, order, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest

from racecheck.errors import ScenarioError
from racecheck.scenario import Scenario, command

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator


def serve(box: Path) -> None:
    """Stand for a writer."""


def load(box: Path) -> None:
    """Stand for a reader."""


def make(**options: object) -> Scenario:
    return Scenario("a/scenario", **cast("Any", options))


def refusal(scenario: Scenario) -> str:
    with pytest.raises(ScenarioError) as caught:
        scenario.check()
    return str(caught.value)


def test_a_decorated_function_stays_a_function() -> None:
    scenario = make()

    assert scenario.writer(serve) is serve
    assert scenario.reader(count=2)(load) is load


def test_decorators_work_bare_and_with_options() -> None:
    scenario = make()

    @scenario.writer
    def first() -> None: ...

    @scenario.reader(count=2, repeat=3)
    def second() -> None: ...

    @scenario.evictor(name="sweep")
    def third() -> None: ...

    @scenario.actor()
    def fourth() -> None: ...

    found = [
        (actor.name, actor.declaration.role, actor.index, actor.pid)
        for actor in scenario.actors
    ]
    assert found == [
        ("first", "writer", 0, 1001),
        ("second-1", "reader", 0, 1002),
        ("second-2", "reader", 1, 1003),
        ("sweep", "evictor", 0, 1004),
        ("fourth", "actor", 0, 1005),
    ]
    assert scenario.actors[1].declaration.repeat == 3


def test_same_pid_of_a_scenario_gives_all_actors_one_pid_on_hosts_of_their_own() -> (
    None
):
    scenario = make(same_pid=True)
    scenario.writer(serve, count=2)
    scenario.reader(load)

    assert [actor.pid for actor in scenario.actors] == [1001, 1001, 1001]
    assert [actor.host for actor in scenario.actors] == ["", "serve-2", "load"]


def test_same_pid_of_a_role_leaves_the_others_alone() -> None:
    scenario = make()
    scenario.reader(load)
    scenario.writer(serve, count=2, same_pid=True)
    scenario.writer(serve, name="late", same_pid=True)
    scenario.writer(serve, name="other")

    assert [(actor.name, actor.pid, actor.host) for actor in scenario.actors] == [
        ("load", 1001, ""),
        ("serve-1", 1002, ""),
        ("serve-2", 1002, "serve-2"),
        ("late", 1002, "late"),
        ("other", 1005, ""),
    ]


def test_actors_whose_clocks_differ_are_on_different_hosts() -> None:
    scenario = make()
    scenario.writer(serve, count=2, clock_offset_s=-90)
    scenario.reader(load, clock_offset_s=5)
    scenario.reader(load, name="right")

    found = [
        (program.name, program.host, program.clock_offset_s)
        for program in scenario.programs(Path("/box"), None)
    ]
    assert found == [
        ("serve-1", "-90 s", -90),
        ("serve-2", "-90 s", -90),
        ("load", "+5 s", 5),
        ("right", "", 0),
    ]


def test_a_host_that_an_equal_pid_needs_is_enough_for_another_clock() -> None:
    scenario = make(same_pid=True)
    scenario.writer(serve, count=2, clock_offset_s=7)

    assert [actor.host for actor in scenario.actors] == ["+7 s", "serve-2"]


@pytest.mark.parametrize("value", [0.5, True, "1", 10**12, -(10**12)])
def test_a_clock_that_is_off_by_no_number_of_seconds_is_refused(value: object) -> None:
    with pytest.raises(ScenarioError, match="clock_offset_s of 'serve' is a number of"):
        make().writer(serve, clock_offset_s=cast("int", value))


def test_after_may_name_a_declaration_or_one_actor() -> None:
    scenario = make()
    scenario.writer(serve, count=2)
    scenario.reader(load, after="serve")
    scenario.reader(load, name="late", after="serve-2")
    scenario.check()

    programs = scenario.programs(Path("/box"), None)
    assert [program.after for program in programs] == [None, None, "serve", "serve-2"]


def test_after_an_unknown_actor_is_refused_with_the_close_name() -> None:
    scenario = make()
    scenario.writer(serve, count=2)
    scenario.reader(load, after="server")

    assert refusal(scenario) == (
        "a/scenario: 'load' starts after 'server', which is no actor, "
        "did you mean 'serve'?; actors: load, serve, serve-1, serve-2"
    )


def test_after_in_a_circle_is_refused() -> None:
    scenario = make()
    scenario.reader(load, name="outside", after="serve")
    scenario.writer(serve, after="load")
    scenario.reader(load, after="serve")

    assert "'serve' can never start" in refusal(scenario)


def test_after_itself_is_refused() -> None:
    scenario = make()
    scenario.writer(serve, count=2, after="serve-1")

    assert "'serve' can never start" in refusal(scenario)


@pytest.mark.parametrize(
    "names", [("serve", "serve"), ("serve-1", "serve"), ("serve", "serve-2")]
)
def test_two_actors_of_one_name_are_refused(names: tuple[str, str]) -> None:
    scenario = make()
    for name in names:
        scenario.writer(serve, name=name, count=2 if name == "serve" else 1)

    assert "two actors are called" in refusal(scenario)


def test_no_actor_at_all_is_refused() -> None:
    assert refusal(make()) == "a/scenario: has no actor, so nothing would run"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"cuont": 2}, "writer has no option 'cuont', did you mean 'count'?"),
        ({"count": 0}, "count of 'serve' is 1 or more, not 0"),
        ({"count": True}, "count of 'serve' is 1 or more, not True"),
        ({"repeat": 1.5}, "repeat of 'serve' is 1 or more, not 1.5"),
        ({"name": "a b"}, "not 'a b'; give it as name='...'"),
        ({"raises": (KeyError, "no")}, "raises of 'serve' holds exceptions, not 'no'"),
        ({"succeeds": 3}, "succeeds of 'serve' is a function of the return value"),
    ],
)
def test_options_that_make_no_sense_are_refused(
    options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ScenarioError) as caught:
        make().writer(serve, **cast("Any", options))

    assert message in str(caught.value)


def test_a_subject_that_nobody_can_run_is_refused() -> None:
    with pytest.raises(ScenarioError, match="takes a function or a command, not 3"):
        make().writer(cast("Any", 3), name="three")


def test_a_function_without_a_name_needs_one() -> None:
    scenario = make()

    with pytest.raises(ScenarioError, match="needs a name"):
        scenario.writer(lambda: None)
    scenario.writer(lambda: None, name="serve")


async def coroutine() -> None: ...


def generator() -> Iterator[int]:
    yield 1


async def both() -> AsyncIterator[int]:
    yield 1


@pytest.mark.parametrize("function", [coroutine, generator, both])
def test_a_function_whose_call_runs_nothing_is_refused(
    function: Callable[..., object],
) -> None:
    with pytest.raises(ScenarioError, match="calling it runs nothing"):
        make().writer(function)
    with pytest.raises(ScenarioError, match="calling it runs nothing"):
        make(setup=function)


def test_one_exception_class_is_as_good_as_a_sequence() -> None:
    scenario = make()
    scenario.writer(serve, raises=KeyError)
    scenario.reader(load, raises=[KeyError, OSError])

    programs = scenario.programs(Path("/box"), None)
    assert programs[0].raises == (KeyError,)
    assert programs[1].raises == (KeyError, OSError)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"repeat": 2}, "is a command, which runs once"),
        ({"raises": KeyError}, "whose exit status tells"),
        ({"succeeds": bool}, "whose exit status tells"),
    ],
)
def test_options_of_functions_are_refused_for_commands(
    options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ScenarioError, match=message):
        make().writer(command(["true"]), name="true", **cast("Any", options))


def test_a_command_needs_a_name() -> None:
    with pytest.raises(ScenarioError, match="needs a name"):
        make().writer(command(["true"]))
