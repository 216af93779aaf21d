"""Guards `identical` and `converges`: what is there in the end is what has to be."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from racecheck.errors import ScenarioError
from racecheck.invariants import converges, identical
from tests.unit.fakes import WHOLE, Play

if TYPE_CHECKING:
    from collections.abc import Callable


def test_the_same_bytes_are_identical() -> None:
    played = Play(identical("head.img", WHOLE))
    played.step(head_img=WHOLE)
    played.finish()

    assert played.messages == []


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (None, "found nothing"),
        (b"", "found 0 bytes that differ from byte 0 on"),
        (WHOLE[:-1], "found 10 bytes that differ from byte 10 on"),
        (b"whole imAge", "found 11 bytes that differ from byte 8 on"),
        (WHOLE + b".", "found 12 bytes that differ from byte 11 on"),
    ],
)
def test_other_bytes_are_told_with_their_place(data: bytes | None, found: str) -> None:
    played = Play(identical("head.img", WHOLE))
    if data is not None:
        played.step(head_img=data)
    played.finish()

    (message,) = played.messages
    assert message.endswith(found)


def test_nothing_has_to_be_there_if_no_write_succeeded() -> None:
    played = Play(identical("head.img", WHOLE), converges("model", {"a": b""}))
    played.operation("serve-1", succeeded=False)
    played.operation("serve-2", succeeded=False)
    played.finish()

    assert played.messages == []


TREE = {"a": b"1", "b": "-> a", "c": None, "c/d": b"22"}


def tree(**changes: bytes | None) -> Play:
    files = {"model/a": b"1", "model/c": None, "model/c/d": b"22", "model/x.tmp": b""}
    links = {"model/b": "a"}
    files |= {path.replace("__", "/"): data for path, data in changes.items()}
    return Play(converges("model", TREE, ignore="*.tmp"), files=files, links=links)


def test_the_expected_tree_converges() -> None:
    played = tree()
    played.finish()

    assert played.messages == []


@pytest.mark.parametrize(
    ("change", "wrong"),
    [
        ({"model__a": b"2"}, "'a' is a file of 1 byte and should be a file of 1 byte"),
        ({"model__c__e": b""}, "'c/e' is a file of 0 bytes and should be missing"),
        ({"model__c__d": None}, "'c/d' is a folder and should be a file of 2 bytes"),
    ],
)
def test_what_differs_is_told(change: dict[str, bytes | None], wrong: str) -> None:
    played = tree(**change)
    played.finish()

    (message,) = played.messages
    assert message.endswith(wrong)


def test_a_link_elsewhere_and_a_missing_one_are_told() -> None:
    played = tree()
    played.view.links["model/b"] = "c"
    played.finish()
    assert "'b' is a link -> c and should be a link -> a" in played.messages[0]

    played = tree()
    del played.view.links["model/b"]
    played.finish()
    assert "'b' is missing and should be a link -> a" in played.messages[0]


@pytest.mark.parametrize(
    ("make", "arguments"),
    [
        (identical, ("a", "text")),
        (identical, ("*", b"")),
        (converges, ("a", [b"1"])),
        (converges, ("a", {"b": 1})),
        (converges, ("a", {"/b": b""})),
    ],
)
def test_what_cannot_be_compared_is_refused(
    make: Callable[..., object], arguments: tuple[object, ...]
) -> None:
    with pytest.raises(ScenarioError):
        make(*arguments)
