"""Guards the judge: no invariant is forgotten, and nothing unknown is a pass."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from racecheck.errors import ScenarioError
from racecheck.invariants import (
    Judge,
    invariant,
    no_lost_writes,
    no_silent_loss,
    no_unexpected_errors,
    progress,
    whole_images,
)
from racecheck.invariants.rules import OperationRule, Rule, StateRule
from racecheck.model import ActorEnd, Ending, Verdict, Violation
from tests.unit.fakes import TORN, WHOLE, FakeHistory, FakeView, Play, program, validate

if TYPE_CHECKING:
    from racecheck.model import History, View


class BadReprError(Exception):
    def __repr__(self) -> str:
        raise ValueError

    def __str__(self) -> str:
        raise ValueError


def test_an_execution_in_which_all_holds_passes() -> None:
    play = Play(whole_images("head.img", validate), no_lost_writes(), progress())
    play.step(head_img=WHOLE)
    play.finish()
    assert play.judge.verdict() == (Verdict.PASSED, "")
    assert play.judge.violations == ()
    assert play.judge.errors == []


def test_each_invariant_is_told_once_and_the_first_time() -> None:
    play = Play(no_lost_writes(), whole_images("head.img", validate))
    play.step("serve-1", head_img=TORN)
    play.step("serve-2", head_img=b"")
    play.raised("serve-2")
    play.raised("serve-1")
    play.end()
    assert [(v.invariant, v.step, v.actor) for v in play.judge.violations] == [
        ("whole_images", 0, "serve-1"),
        ("no_lost_writes", 1, "serve-2"),
    ]
    assert play.judge.verdict() == (Verdict.VIOLATED, "")


def test_a_violation_before_any_step_has_none() -> None:
    play = Play(no_lost_writes())
    play.raised("serve-1")
    assert play.judge.violations[0].step is None


def test_an_invariant_that_raises_gives_no_verdict_and_does_not_stop_others() -> None:
    def broken(data: bytes) -> None:
        raise KeyError(len(data))

    play = Play(whole_images("head.img", broken), no_lost_writes())
    play.step(head_img=TORN)
    play.finish()
    assert len(play.judge.errors) == 1
    assert play.judge.errors[0].startswith(
        "whole_images raised KeyError(5) (test_invariants_judge.py:"
    )
    assert play.judge.verdict() == (Verdict.UNKNOWN, play.judge.errors[0])


def test_an_invariant_that_raised_is_not_asked_again() -> None:
    calls: list[bytes] = []

    def broken(data: bytes) -> None:
        calls.append(data)
        raise KeyError

    play = Play(whole_images("head.img", broken))
    play.step(head_img=TORN)
    play.step(head_img=WHOLE)
    play.end()
    assert calls == [TORN]


def test_a_violation_counts_though_another_invariant_raised() -> None:
    def broken(data: bytes) -> None:
        raise KeyError(len(data))

    play = Play(whole_images("head.img", broken), no_lost_writes())
    play.step(head_img=TORN)
    play.raised("serve-1")
    play.end()
    assert play.judge.verdict() == (Verdict.VIOLATED, play.judge.errors[0])


@pytest.mark.parametrize(
    "error", [SystemExit(3), BadReprError(), pytest.fail.Exception]
)
def test_whatever_an_invariant_raises_gives_no_verdict(
    error: BaseException | type[BaseException],
) -> None:
    @invariant
    def rule(_view: View, _history: History) -> None:
        raise error

    play = Play(rule)
    play.finish()
    assert play.judge.verdict()[0] is Verdict.UNKNOWN
    assert play.judge.errors[0].startswith("rule raised ")


def test_an_interrupt_goes_on_to_whoever_waits_for_it() -> None:
    @invariant
    def rule(_view: View, _history: History) -> None:
        raise KeyboardInterrupt

    play = Play(rule)
    with pytest.raises(KeyboardInterrupt):
        play.step()


def test_an_answer_that_is_no_text_is_a_violation_all_the_same() -> None:
    class Mine(Rule):
        def at_end(self, view: View, history: History) -> str | None:
            del view, history
            return False  # type: ignore[return-value]  # what users may do

    play = Play(Mine("mine"))
    play.finish()
    assert play.judge.violations == (Violation("mine", "does not hold"),)


def test_a_long_message_is_cut_and_has_one_line() -> None:
    @invariant
    def rule(_view: View, _history: History) -> str:
        return "a\n" * 5000

    play = Play(rule)
    play.step()
    assert len(play.messages[0]) == 200
    assert play.messages[0].endswith("a a…")


def test_an_execution_that_was_not_judged_to_its_end_is_no_pass() -> None:
    play = Play(no_lost_writes())
    assert play.judge.verdict() == (
        Verdict.UNKNOWN,
        "the execution was not judged to its end",
    )


def test_an_execution_that_was_not_judged_from_its_start_is_no_pass() -> None:
    judge = Judge([progress()])
    judge.on_end(FakeView(), FakeHistory())
    assert judge.verdict()[0] is Verdict.UNKNOWN


def test_without_invariants_nothing_passes() -> None:
    play = Play()
    play.finish()
    assert play.judge.verdict() == (
        Verdict.UNKNOWN,
        "there is no invariant to judge by",
    )


def test_an_actor_that_never_ended_is_no_pass_though_no_invariant_says_so() -> None:
    play = Play(whole_images("head.img", validate))
    play.operation("load", Ending.UNFINISHED, told=False)
    play.finish()
    assert play.judge.verdict() == (Verdict.UNKNOWN, "load operation 0 never ended")


def test_an_actor_that_left_operations_out_is_no_pass() -> None:
    play = Play(no_unexpected_errors(), programs=(program("w", repeat=3), program("x")))
    play.operation("w")
    play.exit("w")
    play.exit("x")
    play.end()
    assert play.judge.verdict() == (
        Verdict.UNKNOWN,
        "w made 1 of its 3 operations; x made 0 of its 1 operation",
    )


def test_an_actor_that_was_crashed_has_left_nothing_out() -> None:
    play = Play(no_unexpected_errors(), programs=(program("w", repeat=3),))
    play.operation("w")
    play.history.ends.append(ActorEnd("w", -9, crashed=True))
    play.end()
    assert play.judge.verdict() == (Verdict.PASSED, "")


def test_an_actor_that_stops_at_an_exception_has_left_nothing_out() -> None:
    play = Play(no_silent_loss("a", validate), programs=(program("w", repeat=3),))
    play.raised("w")
    play.exit("w")
    play.end()
    assert play.judge.verdict() == (Verdict.PASSED, "")


def test_a_judge_starts_each_execution_afresh() -> None:
    play = Play(no_lost_writes(), whole_images("b", len, after="nobody"))
    play.raised("serve-1")
    play.end()
    assert len(play.judge.errors) == 1
    play.judge.start(FakeView())
    assert play.judge.violations == ()
    assert play.judge.errors == []
    assert play.judge.verdict()[0] is Verdict.UNKNOWN


def test_two_invariants_of_one_name_are_refused() -> None:
    with pytest.raises(
        ScenarioError, match=r"two invariants are called 'progress'; give one of them"
    ):
        Judge([progress(), progress()])


def plain(_view: View, _history: History) -> None:
    """Stand for a rule without its decorator."""


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (no_lost_writes, "no_lost_writes is no invariant yet; call it, as in no_los"),
        (plain, "plain is no invariant yet; make it one with @invariant"),
        (Rule, "Rule is no invariant yet; call it"),
        (3, "3 is no invariant"),
        (BadReprError(), "<BadReprError> is no invariant"),
        (Rule(""), "<invariant > is an invariant without a name"),
    ],
)
def test_what_is_no_invariant_is_refused(value: object, message: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        Judge([value])  # type: ignore[list-item]  # that is the point
    assert str(caught.value).startswith(message)


def test_a_rule_that_says_nothing_always_holds() -> None:
    play = Play(Rule("quiet"))
    play.step()
    play.finish()
    assert play.judge.verdict() == (Verdict.PASSED, "")


def test_a_rule_that_forgot_to_judge_gives_no_verdict() -> None:
    play = Play(StateRule("state"), OperationRule("operation"))
    play.finish()
    assert play.judge.verdict()[0] is Verdict.UNKNOWN
    assert len(play.judge.errors) == 2
    with pytest.raises(NotImplementedError):
        StateRule("state").judge(play.view)
