"""Guards what invariants are made with: a slip is told in one line, at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from racecheck.errors import ScenarioError
from racecheck.invariants import (
    never_missing,
    no_lost_writes,
    no_silent_loss,
    no_unexpected_errors,
    progress,
    served,
    source_untouched,
    temp_files_bounded,
    whole_images,
)
from tests.unit.fakes import TORN, Play, validate

if TYPE_CHECKING:
    from collections.abc import Callable

# Arguments are wrong on purpose here, so their types are not looked at.
ANY: Any = None


async def later(data: bytes) -> bytes:
    return data


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: whole_images(ANY, validate), "the path of whole_images is text"),
        (lambda: whole_images("", validate), "stays in it, not ''"),
        (lambda: whole_images("/a", validate), "relative to the box and stays in it"),
        (lambda: whole_images("a/../b", validate), "not 'a/../b'"),
        (lambda: whole_images("a\0", validate), "stays in it"),
        (lambda: whole_images("./", validate), "names something in the box, not './'"),
        (lambda: whole_images("a/**/b", validate), "'**' cannot be used in 'a/**/b'"),
        (
            lambda: whole_images("a", ANY),
            "validate of whole_images is a function of the bytes of a file, not None",
        ),
        (lambda: whole_images("a", later), "that returns its answer, not <function"),
        (lambda: whole_images("a", lambda: None), "takes ()"),  # type: ignore[misc,arg-type]
        (lambda: whole_images("a", validate, name=""), "a word or two, not ''"),
        (lambda: whole_images("a", validate, name=" a"), "a word or two, not ' a'"),
        (lambda: whole_images("a", validate, name="a\nb"), "a word or two"),
        (lambda: whole_images("a", validate, name=ANY), "a word or two, not None"),
        (
            lambda: whole_images("a", validate, after=""),
            "after of whole_images is a name, not ''",
        ),
        (
            lambda: no_silent_loss("*.img", validate),
            "no_silent_loss takes one path and no pattern, not '*.img'",
        ),
        (lambda: no_silent_loss("a", ANY), "validate of no_silent_loss is a function"),
        (lambda: no_silent_loss("a", validate, role=""), "role of no_silent_loss is"),
        (lambda: no_lost_writes(role=ANY), "role of no_lost_writes is a name"),
        (lambda: no_lost_writes(name=""), "a word or two"),
        (lambda: temp_files_bounded("/tmp/*"), "the pattern of temp_files_bounded is"),
        (
            lambda: temp_files_bounded("*", per_crash=-1),
            "per_crash of temp_files_bounded is a number from 0 on, not -1",
        ),
        (lambda: temp_files_bounded("*", per_crash=True), "from 0 on, not True"),
        (lambda: temp_files_bounded("*", per_writer=ANY), "from 0 on, not None"),
        (lambda: temp_files_bounded("*", role=""), "role of temp_files_bounded is"),
        (lambda: no_unexpected_errors(name=""), "a word or two"),
        (lambda: progress(name=""), "a word or two"),
        (lambda: source_untouched("m?"), "source_untouched takes one path"),
        (lambda: served("", validate), "actor of served is a name, not ''"),  # type: ignore[arg-type]
        (lambda: served("load", ANY), "check of served is a function of a returned"),
        (lambda: never_missing(".."), "the path of never_missing is relative"),
        (lambda: never_missing("a", after=""), "after of never_missing is a name"),
    ],
)
def test_arguments_that_make_no_sense_are_refused(
    make: Callable[[], object], message: str
) -> None:
    with pytest.raises(ScenarioError) as caught:
        make()
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_path_is_taken_in_its_shortest_form() -> None:
    play = Play(whole_images("./out//a.img", validate), files={"out/a.img": TORN})
    play.end()
    assert len(play.messages) == 1


def test_a_function_that_does_not_tell_its_arguments_is_taken_as_it_is() -> None:
    play = Play(whole_images("a", min))
    play.step(a=b"\1")
    assert play.messages == ["expected a whole image at 'a', but found 1 byte: 1"]
