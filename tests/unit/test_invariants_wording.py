"""Guards the words of messages: one line each, whatever they are made of."""

from __future__ import annotations

import pytest

from racecheck.invariants.wording import (
    amount,
    complaint,
    described,
    happened,
    one_line,
)
from racecheck.model import Ending, Operation


def test_what_happened_is_told_for_every_ending() -> None:
    told = {
        ending: happened(Operation("w", "writer", 1, ending, succeeded=False))
        for ending in Ending
    }
    assert told == {
        Ending.RETURNED: "w operation 1 returned None",
        Ending.RAISED: "w operation 1 raised ",
        Ending.EXITED: "w operation 1 ended its process",
        Ending.CRASHED: "w operation 1 was crashed",
        Ending.UNFINISHED: "w operation 1 never ended",
    }


class MuteError(Exception):
    def __str__(self) -> str:
        raise ValueError


def test_an_exception_is_told_by_class_and_text() -> None:
    assert described(KeyError("a")) == "KeyError: 'a'"
    assert described(KeyError()) == "KeyError"
    assert described(MuteError()) == "MuteError"


@pytest.mark.parametrize(
    ("number", "noun", "told"),
    [
        (0, "crash", "0 crashes"),
        (1, "crash", "1 crash"),
        (2, "live writer", "2 live writers"),
    ],
)
def test_amounts_have_a_plural(number: int, noun: str, told: str) -> None:
    assert amount(number, noun) == told


def test_text_is_cut_only_where_it_is_too_long() -> None:
    assert one_line(" a\n\tb ", 3) == "a b"
    assert one_line("abcd", 3) == "ab…"
    assert len(one_line("a" * 900)) == 200
    assert complaint("a" * 900, "", 600) == "a" * 599 + "…"
