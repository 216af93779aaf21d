"""Guards `source_untouched`: no change of a source is overlooked."""

from __future__ import annotations

from racecheck.invariants import source_untouched
from racecheck.model import Kind, Verdict, Violation
from tests.unit.fakes import Play

MODEL = {"model/config.json": b"{}", "model/a.bin": b"weights"}


def test_a_source_that_is_only_read_passes() -> None:
    play = Play(source_untouched("model"), files=MODEL)
    play.step("load", Kind.READ)
    play.step("serve-1", overlay__config_json=b"{1}")
    play.finish()
    assert play.judge.verdict() == (Verdict.PASSED, "")


def test_a_file_that_changed_is_told_with_both_contents() -> None:
    play = Play(source_untouched("model"), files=MODEL)
    play.step("load", Kind.READ)
    play.step("serve-1", model__config_json=b"{1}")
    assert play.judge.violations == (
        Violation(
            "source_untouched",
            "expected 'model' as it was at the start, but 'model/config.json' "
            "changed from file 644 {} to file 644 {1}",
            1,
            "serve-1",
        ),
    )


def test_a_change_that_is_undone_is_found() -> None:
    play = Play(source_untouched("model"), files=MODEL)
    play.step(kind=Kind.OPEN, model__config_json=b"")
    play.step(model__config_json=b"{}")
    play.finish()
    assert len(play.messages) == 1


def test_a_file_that_is_gone_is_told() -> None:
    play = Play(source_untouched("model"), files=MODEL)
    play.step(kind=Kind.UNLINK, model__a_bin=None)
    assert play.messages == [
        "expected 'model' as it was at the start, but 'model/a.bin' is gone"
    ]


def test_a_file_that_appeared_is_told() -> None:
    play = Play(source_untouched("model"), files=MODEL)
    play.step(model__b_bin=b"new")
    assert play.messages == [
        (
            "expected 'model' as it was at the start, "
            "but 'model/b.bin' appeared as file 644 new"
        )
    ]


def test_the_first_of_several_changes_is_told_with_their_number() -> None:
    play = Play(source_untouched("model"), files=MODEL)
    play.step(model__a_bin=None, model__b_bin=b"", model__c_bin=b"")
    assert play.messages == [
        (
            "expected 'model' as it was at the start, "
            "but 'model/a.bin' is gone and 2 other changes"
        )
    ]


def test_a_change_in_a_crash_is_found() -> None:
    play = Play(source_untouched("model"), files=MODEL)
    play.view.files["model/config.json"] = b"{"
    play.crash("serve-1")
    assert len(play.messages) == 1


def test_a_single_file_can_be_a_source() -> None:
    play = Play(source_untouched("config.json"), files={"config.json": b"{}"})
    play.step(config_json=b"{1}")
    assert len(play.messages) == 1
    assert "'config.json' changed from file " in play.messages[0]


def test_an_empty_folder_that_is_removed_is_gone() -> None:
    play = Play(source_untouched("model"), files={"model": None})
    play.step("load", Kind.WRITE)
    assert play.messages == []
    play.step(kind=Kind.RMDIR, model=None)
    assert play.messages == [
        "expected 'model' as it was at the start, but 'model' is gone"
    ]


def test_a_folder_that_becomes_a_link_to_its_like_has_changed() -> None:
    play = Play(source_untouched("model"), files=MODEL)
    play.view.links["model"] = "model"
    play.view._followed = lambda path: path  # type: ignore[method-assign]
    play.step(kind=Kind.RENAME)
    assert play.messages == [
        (
            "expected 'model' as it was at the start, "
            "but 'model' changed from folder to link to model, folder"
        )
    ]


def test_a_source_that_is_not_there_at_the_start_gives_no_verdict() -> None:
    play = Play(source_untouched("modle"), files=MODEL)
    play.finish()
    verdict, reason = play.judge.verdict()
    assert verdict is Verdict.UNKNOWN
    assert "source_untouched expects 'modle' at the start, found nothing" in reason


def test_each_execution_has_a_start_of_its_own() -> None:
    rule = source_untouched("model")
    Play(rule, files=MODEL).end()
    play = Play(rule, files={"model/other": b""})
    play.step()
    play.finish()
    assert play.judge.verdict() == (Verdict.PASSED, "")
