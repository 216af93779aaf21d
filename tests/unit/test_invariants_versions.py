"""Guards `no_downgrade`, `no_redundant_work` and `no_leaked_descriptors`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from racecheck.errors import ScenarioError
from racecheck.invariants import (
    no_downgrade,
    no_leaked_descriptors,
    no_redundant_work,
)
from racecheck.model import Ending, Kind
from tests.unit.fakes import Play

if TYPE_CHECKING:
    from collections.abc import Callable


def version(data: bytes) -> int | None:
    return int(data) if data.isdigit() else None


def test_a_version_may_stay_and_rise_and_be_gone_for_a_while() -> None:
    played = Play(no_downgrade("v", version), files={"v": b"1"})
    played.step(v=b"1")
    played.step(v=b"3")
    played.step(v=b"torn")
    played.step(kind=Kind.UNLINK, v=None)
    played.step(v=b"3")
    played.finish()

    assert played.messages == []


def test_an_older_version_is_told_also_after_a_gap() -> None:
    played = Play(no_downgrade("v", version), files={"v": b"2"})
    played.step(kind=Kind.UNLINK, v=None)
    played.step(v=b"1")

    assert played.messages == [
        "expected 'v' to stay at version 2 or a newer one, but found version 1"
    ]


def test_a_version_that_is_no_number_gives_no_verdict() -> None:
    played = Play(no_downgrade("v", lambda data: data))  # type: ignore[arg-type,return-value]  # a mistake
    played.step(v=b"1")
    played.finish()

    assert "a version is a number or None" in played.judge.errors[0]


def packs(value: object) -> int:
    return value if isinstance(value, int) else 0


def test_work_is_counted_over_all_that_succeeded() -> None:
    played = Play(no_redundant_work("writer", packs, most=2, least=2))
    played.operation("serve-1", value=1)
    played.operation("serve-2", value=1)
    played.operation("load", value=5)
    played.finish()

    assert played.messages == []


def test_too_much_work_is_told_when_it_is_done() -> None:
    played = Play(no_redundant_work("writer", packs, most=1))
    played.operation("serve-1", value=1)
    played.operation("serve-2", value=0, succeeded=False)
    played.operation("serve-2", value=1)

    (violation,) = played.judge.violations
    assert violation.message == (
        "expected the work of writer to be done 1 times at the most, but it was done 2 "
        "times when serve-2 operation 1 returned 1"
    )


def test_too_little_work_is_told_at_the_end() -> None:
    played = Play(no_redundant_work("serve-1", packs, most=1, least=1))
    played.operation("serve-1", value=0)
    played.operation("serve-2", value=1)
    played.finish()

    assert "1 times or more, but it was done 0 times" in played.messages[0]


def test_work_of_nobody_is_no_pass() -> None:
    played = Play(no_redundant_work("nobody", packs, most=1))
    played.finish()

    assert played.judge.errors


@pytest.mark.parametrize("ending", [Ending.RETURNED, Ending.RAISED])
def test_what_is_open_after_an_operation_is_told(ending: Ending) -> None:
    played = Play(no_leaked_descriptors())
    played.history.opened["serve-1"] = ["head.img", "serve-1#0"]
    played.operation(ending=ending)

    (message,) = played.messages
    assert message.endswith("with 2 descriptors open: head.img, serve-1#0")


def test_a_process_that_ends_keeps_nothing_open() -> None:
    played = Play(no_leaked_descriptors(who="serve-2"))
    played.history.opened["serve-1"] = ["head.img"]
    played.operation()
    played.history.opened["serve-2"] = ["head.img"]
    played.operation("serve-2", ending=Ending.CRASHED)
    played.finish()

    # Of these two nothing is judged, and `load` is none of them.
    assert played.messages == []


@pytest.mark.parametrize(
    ("make", "arguments", "named"),
    [
        (no_downgrade, ("v", 3), {}),
        (no_downgrade, ("*", version), {}),
        (no_redundant_work, ("writer", packs), {"most": -1}),
        (no_redundant_work, ("writer", packs), {"most": 1, "least": 2}),
        (no_redundant_work, ("writer", None), {"most": 1}),
        (no_leaked_descriptors, (), {"who": 3}),
    ],
)
def test_arguments_that_make_no_sense_are_refused(
    make: Callable[..., object], arguments: tuple[object, ...], named: dict[str, object]
) -> None:
    with pytest.raises(ScenarioError):
        make(*arguments, **named)
