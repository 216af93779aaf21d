"""Guards `@invariant`: rules of users are asked whenever they can have changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from racecheck.errors import ScenarioError
from racecheck.invariants import invariant
from racecheck.model import Kind, Verdict, Violation
from tests.unit.fakes import FakeHistory, FakeView, Play

if TYPE_CHECKING:
    from racecheck.model import History, View


@invariant
def marker_comes_last(view: View, history: History) -> str | None:
    """Require a config wherever there is a marker."""
    if view.exists("marker") and not view.exists("config"):
        return f"a marker and no config at step {len(history.steps)}"
    return None


def test_a_rule_that_holds_passes() -> None:
    play = Play(marker_comes_last)
    play.step(config=b"")
    play.step(marker=b"")
    play.finish()
    assert play.judge.verdict() == (Verdict.PASSED, "")


def test_a_rule_that_is_broken_is_told_in_its_words() -> None:
    play = Play(marker_comes_last)
    play.step("load", Kind.READ)
    play.step("serve-2", marker=b"")
    assert play.judge.violations == (
        Violation(
            "marker_comes_last", "a marker and no config at step 2", 1, "serve-2"
        ),
    )


def test_a_rule_keeps_its_name_and_its_text_and_can_be_called() -> None:
    assert marker_comes_last.name == "marker_comes_last"
    assert marker_comes_last.__doc__ == "Require a config wherever there is a marker."
    assert repr(marker_comes_last) == "<invariant marker_comes_last>"
    view = FakeView({"marker": b""})
    assert marker_comes_last(view, FakeHistory()) == "a marker and no config at step 0"


def test_a_rule_is_asked_after_each_step_that_can_have_changed_anything() -> None:
    asked: list[int] = []

    @invariant
    def rule(view: View, history: History) -> bool:
        del history
        asked.append(len(play.history.steps))
        return not view.exists("never")

    play = Play(rule)
    play.step("load", Kind.READ)
    play.step("load", Kind.READ)
    play.step("serve-1", Kind.WRITE)
    play.step("load", Kind.STAT)
    play.step("load", Kind.RETURN)
    play.operation("load")
    play.crash("serve-2")
    play.exit("load")
    play.end()
    # The first step is for the start; a crash is a step and the end of an operation.
    assert asked == [1, 3, 5, 5, 6, 6, 7, 7]


def test_a_rule_that_asks_for_the_steps_is_asked_after_each_from_then_on() -> None:
    asked: list[int] = []

    @invariant
    def rule(view: View, history: History) -> None:
        asked.append(len(play.history.steps))
        if view.exists("head.img"):
            assert history.steps

    play = Play(rule)
    play.step("load", Kind.READ)
    play.step("load", Kind.READ)
    play.step("serve-1", Kind.WRITE, head_img=b"")
    play.step("load", Kind.STAT)
    play.step("load", Kind.READ)
    assert asked == [1, 3, 4, 5]


def test_a_rule_that_is_broken_at_a_return_is_found_though_the_next_step_mends_it() -> (
    None
):
    @invariant
    def image_when_returned(view: View, history: History) -> bool:
        return view.exists("head.img") or not history.operations

    play = Play(image_when_returned)
    play.step()
    play.operation("serve-1")
    play.step("serve-2", head_img=b"")
    assert play.judge.violations == (
        Violation("image_when_returned", "does not hold", 0, "serve-1"),
    )


def test_a_rule_that_is_broken_without_any_step_is_found_at_the_end() -> None:
    play = Play(marker_comes_last, files={"marker": b""})
    play.end()
    assert play.judge.violations == (
        Violation("marker_comes_last", "a marker and no config at step 0"),
    )


def test_a_rule_that_raises_gives_no_verdict() -> None:
    @invariant
    def rule(view: View, history: History) -> bool:
        assert view.exists("head.img"), f"gone after {len(history.steps)}"
        return True

    play = Play(rule)
    play.step()
    play.finish()
    verdict, reason = play.judge.verdict()
    assert verdict is Verdict.UNKNOWN
    assert reason.startswith("rule raised AssertionError(")
    assert "(test_invariants_custom.py:" in reason


def test_a_rule_takes_two_arguments() -> None:
    def rule(view: View) -> bool:
        return view.exists("a")

    with pytest.raises(
        ScenarioError, match=r"rule of invariant is a function of view and history, but"
    ):
        invariant(rule)  # type: ignore[arg-type]  # that is the point


def test_a_rule_has_a_name() -> None:
    with pytest.raises(ScenarioError, match="the name of an invariant is a word or"):
        invariant(lambda _view, _history: None)


def test_a_rule_is_no_coroutine() -> None:
    async def rule(view: View, history: History) -> None:
        del view, history

    with pytest.raises(ScenarioError, match="that returns its answer"):
        invariant(rule)


def test_a_rule_is_no_generator() -> None:
    def rule(view: View, history: History) -> object:
        yield view
        yield history

    with pytest.raises(ScenarioError, match="that returns its answer"):
        invariant(rule)
