"""Guards `no_silent_loss`: a success without an image is never believed."""

from __future__ import annotations

import pytest

from racecheck.invariants import no_silent_loss
from racecheck.model import Ending, Kind, Verdict, Violation
from tests.unit.fakes import TORN, WHOLE, Play, validate


def test_a_success_with_a_whole_image_passes() -> None:
    play = Play(no_silent_loss("head.img", validate), files={"head.img": WHOLE})
    play.operation("serve-1")
    play.finish()
    assert play.judge.verdict() == (Verdict.PASSED, "")


def test_an_image_of_a_later_write_will_do() -> None:
    play = Play(no_silent_loss("head.img", lambda data: data.startswith(b"w")))
    play.step("serve-1", head_img=b"w1")
    play.step("serve-2", head_img=b"w2")
    play.operation("serve-1")
    assert play.messages == []


def test_a_success_with_a_torn_image_is_told_with_its_operation() -> None:
    play = Play(no_silent_loss("head.img", validate))
    play.step("serve-1", head_img=TORN)
    play.step("serve-1", Kind.RETURN)
    play.operation("serve-1", value=True, shown="True")
    play.step("serve-2", head_img=WHOLE)
    assert play.judge.violations == (
        Violation(
            "no_silent_loss",
            "expected a whole image at 'head.img', but found 5 bytes: SHORT, "
            "as serve-1 operation 0 returned True",
            1,
            "serve-1",
        ),
    )


def test_a_success_without_an_image_is_a_loss() -> None:
    play = Play(no_silent_loss("head.img", validate))
    play.operation("serve-1", shown="None")
    assert play.messages == [
        (
            "expected a whole image at 'head.img', but found none, "
            "as serve-1 operation 0 returned None"
        )
    ]


def test_a_success_in_spite_of_a_fault_is_judged_too() -> None:
    play = Play(no_silent_loss("head.img", validate), files={"head.img": TORN})
    play.operation("serve-1", faults=1)
    assert len(play.messages) == 1


def test_a_command_that_succeeded_is_judged_too() -> None:
    play = Play(no_silent_loss("head.img", validate))
    play.operation("serve-1", Ending.EXITED, succeeded=True, status=0)
    assert play.messages == [
        (
            "expected a whole image at 'head.img', but found none, "
            "as serve-1 operation 0 exited with status 0"
        )
    ]


@pytest.mark.parametrize("ending", list(Ending))
def test_whoever_does_not_claim_success_loses_nothing_silently(ending: Ending) -> None:
    play = Play(no_silent_loss("head.img", validate), files={"head.img": TORN})
    play.operation("serve-1", ending, succeeded=False)
    assert play.messages == []


def test_successes_of_others_are_not_judged() -> None:
    play = Play(no_silent_loss("head.img", validate, role="serve-1"))
    play.operation("load")
    play.operation("serve-2")
    assert play.messages == []
    play.operation("serve-1")
    assert len(play.messages) == 1


def test_every_success_is_judged_and_not_only_the_first() -> None:
    play = Play(no_silent_loss("head.img", validate), files={"head.img": WHOLE})
    play.operation("serve-1")
    play.step("serve-2", head_img=TORN)
    play.operation("serve-1")
    assert len(play.messages) == 1


def test_a_success_that_it_was_not_told_of_gives_no_verdict() -> None:
    play = Play(no_silent_loss("head.img", validate), files={"head.img": WHOLE})
    play.operation("serve-1", told=False, shown="None")
    play.finish()
    verdict, reason = play.judge.verdict()
    assert verdict is Verdict.UNKNOWN
    assert (
        "no_silent_loss was not asked when serve-1 operation 0 returned None" in reason
    )


def test_failures_and_others_successes_need_not_be_told_to_it() -> None:
    play = Play(no_silent_loss("head.img", validate))
    play.operation("serve-1", told=False, succeeded=False)
    play.operation("load", told=False)
    play.end()
    assert play.judge.errors == []


def test_what_it_was_told_in_the_last_execution_does_not_count_in_this_one() -> None:
    rule = no_silent_loss("head.img", validate)
    Play(rule, files={"head.img": WHOLE}).operation("serve-1")
    play = Play(rule, files={"head.img": WHOLE})
    play.operation("serve-1", told=False)
    play.end()
    assert len(play.judge.errors) == 1


def test_each_execution_is_validated_afresh() -> None:
    judged: list[bytes] = []
    rule = no_silent_loss("head.img", judged.append)
    for _ in range(2):
        play = Play(rule, files={"head.img": WHOLE})
        play.operation("serve-1")
        play.operation("serve-2")
    assert judged == [WHOLE, WHOLE]


def test_a_role_that_nobody_has_gives_no_verdict() -> None:
    play = Play(no_silent_loss("head.img", validate, role="writers"))
    play.end()
    assert play.judge.verdict()[0] is Verdict.UNKNOWN
    assert "'writers' is no actor and no role" in play.judge.errors[0]
