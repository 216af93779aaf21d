"""Guards `never_missing`: what was there, or has to be, is never gone."""

from __future__ import annotations

import pytest

from racecheck.invariants import never_missing
from racecheck.model import Kind, Verdict, Violation
from tests.unit.fakes import WHOLE, Play


def test_a_path_that_appears_and_stays_passes() -> None:
    play = Play(never_missing("head.img"))
    play.step("serve-1")
    play.step("serve-1", Kind.RENAME, head_img=WHOLE)
    play.step("serve-2", Kind.RENAME, head_img=WHOLE)
    play.finish()
    assert play.judge.verdict() == (Verdict.PASSED, "")


def test_a_path_that_never_appears_passes() -> None:
    play = Play(never_missing("head.img"))
    play.step()
    play.finish()
    assert play.judge.verdict() == (Verdict.PASSED, "")


def test_a_gap_of_one_step_is_found() -> None:
    play = Play(never_missing("head.img"))
    play.step(head_img=WHOLE)
    play.step("serve-2", Kind.UNLINK, head_img=None)
    play.step("serve-2", head_img=WHOLE)
    assert play.judge.violations == (
        Violation(
            "never_missing",
            "expected 'head.img' to stay since it was there, but found nothing",
            1,
            "serve-2",
        ),
    )


def test_what_is_there_at_the_start_has_been_seen() -> None:
    play = Play(never_missing("head.img"), files={"head.img": WHOLE})
    play.step(kind=Kind.UNLINK, head_img=None)
    assert len(play.messages) == 1


def test_what_the_last_execution_had_has_not_been_seen_in_this_one() -> None:
    rule = never_missing("head.img")
    Play(rule, files={"head.img": WHOLE}).end()
    play = Play(rule)
    play.step()
    assert play.messages == []


def test_a_link_that_leads_to_nothing_is_gone() -> None:
    play = Play(never_missing("o/link"), files={"m/a": b""}, links={"o/link": "../m/a"})
    play.step()
    assert play.messages == []
    play.step(kind=Kind.UNLINK, m__a=None)
    assert play.messages == [
        (
            "expected 'o/link' to stay since it was there, "
            "but found a link to nothing, '../m/a'"
        )
    ]


@pytest.mark.parametrize("files", [{"m/a": b""}, {"m/sub/a": b""}])
def test_a_link_to_a_folder_is_there(files: dict[str, bytes | None]) -> None:
    play = Play(never_missing("link"), files=files, links={"link": "m"})
    play.step()
    play.view.files.clear()
    play.step()
    assert len(play.messages) == 1


def test_a_link_whose_folder_only_a_pattern_reaches_is_there() -> None:
    play = Play(never_missing("link", after="writer"), links={"link": "/box/m"})
    play.view.files["link/a"] = b""
    play.operation("serve-1")
    assert play.messages == []


@pytest.mark.parametrize("path", ["overlay", "overlay/a"])
def test_a_folder_is_there_though_it_is_empty(path: str) -> None:
    play = Play(never_missing("overlay", after="writer"), files={path: None})
    play.operation("serve-1")
    assert play.messages == []
    play.view.files.clear()
    play.step(kind=Kind.RMDIR)
    assert len(play.messages) == 1


def test_after_allows_gaps_until_a_success() -> None:
    play = Play(never_missing("head.img", after="writer"))
    play.step(head_img=WHOLE)
    play.step(kind=Kind.UNLINK, head_img=None)
    play.step(head_img=WHOLE)
    play.operation("serve-1")
    play.finish()
    assert play.judge.verdict() == (Verdict.PASSED, "")


def test_after_a_success_it_has_to_be_there_though_it_was_never_seen() -> None:
    play = Play(never_missing("head.img", after="writer"))
    play.operation("serve-1")
    assert play.messages == [
        "expected 'head.img' to stay since writer succeeded, but found nothing"
    ]


def test_after_a_success_it_has_to_stay() -> None:
    play = Play(never_missing("head.img", after="serve-1"), files={"head.img": WHOLE})
    play.operation("serve-1")
    play.step("serve-2", Kind.UNLINK, head_img=None)
    assert play.messages == [
        "expected 'head.img' to stay since it was there, but found nothing"
    ]
