"""Guards `whole_images`: a torn file is never overlooked, and seldom read in vain."""

from __future__ import annotations

from enum import Enum
from typing import Any

import pytest

from racecheck.invariants import whole_images
from racecheck.model import Kind, Verdict, Violation
from tests.unit.fakes import ERRNO, TEAR, TORN, WHOLE, Play, validate

TORN_MESSAGE = "expected a whole image at 'head.img', but found 5 bytes: SHORT"


class Counting:
    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, data: bytes) -> str | None:
        self.calls += 1
        return validate(data)


def test_an_image_that_is_whole_at_every_step_passes() -> None:
    play = Play(whole_images("head.img", validate))
    play.step(head_img=WHOLE)
    play.step()
    play.finish()
    assert play.judge.verdict() == (Verdict.PASSED, "")


def test_a_missing_image_passes() -> None:
    play = Play(whole_images("head.img", validate))
    play.step(other=TORN)
    play.step(head_img=WHOLE)
    play.step(kind=Kind.UNLINK, head_img=None)
    play.finish()
    assert play.judge.verdict() == (Verdict.PASSED, "")


def test_a_torn_image_is_told_with_its_step_and_actor() -> None:
    play = Play(whole_images("head.img", validate))
    play.step(head_img=WHOLE)
    play.step("serve-2", Kind.RENAME, head_img=TORN)
    play.step(head_img=WHOLE)
    play.finish()
    assert play.judge.violations == (
        Violation("whole_images", TORN_MESSAGE, 1, "serve-2"),
    )


def test_an_image_torn_for_one_step_only_is_found() -> None:
    play = Play(whole_images("head.img", validate), files={"head.img": WHOLE})
    play.step(kind=Kind.OPEN, head_img=b"")
    play.step(head_img=WHOLE)
    assert play.messages == [
        "expected a whole image at 'head.img', but found 0 bytes: SHORT"
    ]


def test_the_state_after_a_crash_is_judged() -> None:
    play = Play(whole_images("head.img", validate))
    play.view.files["head.img"] = TORN
    play.crash("serve-1")
    assert play.messages == [TORN_MESSAGE]


@pytest.mark.parametrize("result", [3, -4])
def test_a_write_that_is_torn_by_a_crash_is_judged_whatever_it_returned(
    result: int,
) -> None:
    play = Play(whole_images("head.img", validate))
    play.step(fault=TEAR, result=result, head_img=TORN)
    assert play.messages == [TORN_MESSAGE]


def test_a_write_that_failed_half_way_is_judged() -> None:
    play = Play(whole_images("head.img", validate))
    play.step(result=-5, head_img=TORN)
    assert play.messages == [TORN_MESSAGE]


def test_a_call_that_nobody_knows_is_judged() -> None:
    play = Play(whole_images("head.img", validate))
    play.step(kind=Kind.OTHER, head_img=TORN)
    assert play.messages == [TORN_MESSAGE]


def test_an_image_that_is_torn_at_the_start_is_no_pass() -> None:
    play = Play(whole_images("head.img", validate), files={"head.img": TORN})
    play.step("load", Kind.READ)
    assert play.messages == [f"{TORN_MESSAGE} before the first step"]


def test_an_image_torn_at_the_start_is_found_though_the_first_step_mends_it() -> None:
    play = Play(whole_images("head.img", validate), files={"head.img": TORN})
    play.step(head_img=WHOLE)
    assert play.messages == [f"{TORN_MESSAGE} before the first step"]


def test_an_image_that_is_torn_at_the_start_is_found_without_any_step() -> None:
    play = Play(whole_images("head.img", validate), files={"head.img": TORN})
    play.end()
    assert play.judge.violations == (
        Violation("whole_images", f"{TORN_MESSAGE} before the first step"),
    )


def test_an_image_that_changed_behind_everybodys_back_is_found_at_the_end() -> None:
    play = Play(whole_images("head.img", validate))
    play.step("load", Kind.READ, head_img=TORN)
    assert play.messages == []
    play.end()
    assert play.messages == [TORN_MESSAGE]


def test_it_neither_reads_nor_validates_after_steps_that_change_nothing() -> None:
    judged = Counting()
    play = Play(whole_images("head.img", judged), files={"head.img": WHOLE})
    reads = len(play.view.reads)
    play.step("load", Kind.READ)
    play.step("load", Kind.STAT)
    play.step("serve-1", Kind.OPEN, result=-2)
    play.step("serve-1", Kind.WRITE, result=-28, fault=ERRNO)
    play.step("serve-1", Kind.RETURN)
    assert len(play.view.reads) == reads
    assert judged.calls == 1


def test_it_validates_equal_bytes_once_and_others_again() -> None:
    judged = Counting()
    play = Play(whole_images("head.img", judged))
    play.step(head_img=WHOLE)
    play.step(head_img=bytes(bytearray(WHOLE)))
    play.step(head_img=None)
    play.step(head_img=WHOLE)
    assert judged.calls == 1
    play.step(head_img=b"WHOLE image")
    assert judged.calls == 2
    assert len(play.messages) == 1


def test_each_execution_is_validated_afresh() -> None:
    judged = Counting()
    rule = whole_images("head.img", judged)
    for _ in range(2):
        Play(rule, files={"head.img": WHOLE}).end()
    assert judged.calls == 2


def test_bytes_that_change_in_place_are_validated_again() -> None:
    buffer = bytearray(WHOLE)
    # A view may hand out its own memory.
    files: Any = {"head.img": buffer}
    play = Play(whole_images("head.img", validate), files=files)
    buffer[:] = TORN
    play.step()
    assert play.messages == [TORN_MESSAGE]


def test_a_pattern_judges_every_path_that_matches() -> None:
    play = Play(whole_images("out/*.img", validate), files={"out/a.img": WHOLE})
    play.step(out__b_txt=TORN)
    play.view.files["out/deep/c.img"] = TORN
    play.step()
    assert play.messages == []
    play.step(out__b_img=TORN)
    assert play.messages == [
        "expected a whole image at 'out/b.img', but found 5 bytes: SHORT"
    ]


def test_a_path_with_brackets_is_judged_as_it_is_written() -> None:
    play = Play(whole_images("m[fp8].img", validate), files={"m[fp8].img": TORN})
    play.end()
    assert len(play.messages) == 1


@pytest.mark.parametrize("after", ["serve-1", "serve", "writer"])
def test_after_waits_for_a_success(after: str) -> None:
    play = Play(whole_images("head.img", validate, after=after), files={"a": TORN})
    play.step(head_img=TORN)
    play.raised("serve-1")
    play.operation("load")
    play.step()
    assert play.messages == []
    play.step(head_img=WHOLE)
    play.operation("serve-1")
    play.step("serve-2", head_img=TORN)
    assert play.messages == [TORN_MESSAGE]


def test_after_judges_the_very_moment_of_the_success() -> None:
    play = Play(whole_images("head.img", validate, after="writer"))
    play.step(head_img=TORN)
    play.step(kind=Kind.RETURN)
    play.operation("serve-1")
    play.step("serve-2", head_img=WHOLE)
    assert play.judge.violations == (
        Violation("whole_images", TORN_MESSAGE, 1, "serve-1"),
    )


def test_after_does_not_wait_to_be_told_of_the_success() -> None:
    play = Play(whole_images("head.img", validate, after="writer"))
    play.step(head_img=TORN)
    play.operation("serve-1", told=False)
    play.step("load", Kind.READ)
    assert play.messages == [TORN_MESSAGE]


def test_after_a_success_that_only_the_end_tells_of_it_is_judged() -> None:
    play = Play(whole_images("head.img", validate, after="writer"))
    play.step(head_img=TORN)
    play.operation("serve-1", told=False)
    play.end()
    assert play.messages == [TORN_MESSAGE]


def test_without_the_success_that_it_waits_for_nothing_is_judged() -> None:
    play = Play(whole_images("head.img", validate, after="serve-1"))
    play.step(head_img=TORN)
    play.crash("serve-1")
    play.finish()
    assert play.judge.verdict() == (Verdict.PASSED, "")


def test_after_waits_again_in_the_next_execution() -> None:
    rule = whole_images("head.img", validate, after="writer")
    first = Play(rule)
    first.operation("serve-1")
    second = Play(rule, files={"head.img": TORN})
    second.step()
    assert second.messages == []


def test_after_somebody_who_does_not_exist_gives_no_verdict() -> None:
    play = Play(whole_images("head.img", validate, after="server"))
    play.step(head_img=TORN)
    play.finish()
    verdict, reason = play.judge.verdict()
    assert verdict is Verdict.UNKNOWN
    assert (
        "'server' is no actor and no role of this scenario; "
        "actors: serve-1, serve-2, load; roles: reader, writer"
    ) in reason


class Refusal(Enum):
    HASH = 9


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (False, "not whole"),
        ("", "not whole"),
        ("two\nlines", "two lines"),
        (Refusal.HASH, "HASH"),
        (0, "0"),
        ([], "[]"),
        (ValueError("bad"), "ValueError: bad"),
    ],
)
def test_any_answer_but_none_and_true_says_what_is_wrong(
    answer: object, told: str
) -> None:
    play = Play(whole_images("head.img", lambda _: answer))
    play.step(head_img=TORN)
    assert play.messages == [
        f"expected a whole image at 'head.img', but found 5 bytes: {told}"
    ]


@pytest.mark.parametrize("answer", [None, True])
def test_none_and_true_mean_whole(answer: object) -> None:
    play = Play(whole_images("head.img", lambda _: answer))
    play.step(head_img=TORN)
    play.finish()
    assert play.judge.verdict() == (Verdict.PASSED, "")


def test_it_goes_by_the_name_that_it_is_given() -> None:
    play = Play(
        whole_images("a", validate, name="whole_a"),
        whole_images("b", validate),
        files={"a": TORN},
    )
    play.end()
    assert [found.invariant for found in play.judge.violations] == ["whole_a"]
