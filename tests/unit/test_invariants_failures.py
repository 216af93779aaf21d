"""Guards `clean_failure`: a failed write is as if it had not been tried."""

from __future__ import annotations

import pytest

from racecheck.errors import ScenarioError
from racecheck.invariants import clean_failure
from racecheck.model import Ending, Kind
from tests.unit.fakes import WHOLE, Play

OLD = {"head.img": WHOLE}


def play(files: dict[str, bytes | None] | None = None) -> Play:
    return Play(clean_failure("head.img", "head.img.tmp*"), files=files or {**OLD})


def test_a_write_that_fails_and_has_cleaned_up_is_clean() -> None:
    played = play()
    played.view.makers["head.img.tmp.1"] = "serve-1"
    played.step(head_img_tmp_1=b"half")
    played.step(kind=Kind.UNLINK, head_img_tmp_1=None)
    played.operation(succeeded=False)
    played.finish()

    assert played.messages == []


def test_a_temp_file_of_ones_own_is_told_and_that_of_another_is_not() -> None:
    played = play()
    played.view.makers |= {"head.img.tmp.1": "serve-1", "head.img.tmp.2": "serve-2"}
    played.step(head_img_tmp_1=b"half")
    played.step("serve-2", head_img_tmp_2=b"half")
    played.operation(succeeded=False)

    (message,) = played.messages
    assert message == (
        "expected a failed write to leave no temporary file, but serve-1 operation 0 "
        "returned None and left head.img.tmp.1"
    )


@pytest.mark.parametrize("ending", [Ending.RETURNED, Ending.RAISED, Ending.EXITED])
def test_a_change_of_its_own_is_told_even_if_the_bytes_came_back(
    ending: Ending,
) -> None:
    played = play()
    played.step(kind=Kind.TRUNCATE, head_img=b"")
    played.step(head_img=WHOLE)
    played.operation(ending=ending, succeeded=False)

    (message,) = played.messages
    assert "to leave 'head.img' alone, but serve-1 operation 0" in message
    assert message.endswith("after truncate() = 0")


def test_another_file_with_equal_bytes_is_a_change() -> None:
    played = play()
    played.view.identities["head.img"] = "serve-1#0"
    played.step(kind=Kind.RENAME)
    played.operation(succeeded=False)

    assert "after rename()" in played.messages[0]


def test_what_others_changed_is_theirs() -> None:
    played = play()
    played.step("serve-2", head_img=b"new")
    played.operation("serve-2")
    played.operation("serve-1", succeeded=False)
    played.finish()

    assert played.messages == []


def test_a_success_and_a_crash_are_not_judged() -> None:
    played = play()
    played.view.makers["head.img.tmp.1"] = "serve-1"
    played.step(head_img=b"new", head_img_tmp_1=b"half")
    played.operation()
    played.crash("serve-1")
    played.finish()

    assert played.messages == []


def test_each_operation_is_judged_by_its_own_steps() -> None:
    played = play()
    played.step(head_img=b"new")
    played.operation()
    played.step(kind=Kind.STAT, operation=1)
    played.operation(succeeded=False)

    assert played.messages == []


@pytest.mark.parametrize(
    "arguments", [("/head.img", "*.tmp"), ("head.img", "../*"), ("*", "*.tmp")]
)
def test_paths_out_of_the_box_are_refused(arguments: tuple[str, str]) -> None:
    with pytest.raises(ScenarioError, match="clean_failure"):
        clean_failure(*arguments)
