"""Writing in place and lost updates are told from which bytes were there when.

Each faulty order stands beside one that looks much like it, and of which nothing, or
something else, is to be said.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from racecheck.invariants import invariant, served
from racecheck.report.diagnosis import diagnose
from racecheck.scenario import Scenario, crash
from tests.engine.lab import run
from tests.report.telling import kind, old, told

if TYPE_CHECKING:
    from pathlib import Path

    from racecheck.model import FaultBound, History, PlannedFault, View
    from tests.report.telling import Act

pytestmark = pytest.mark.processes


# An operation reads a file while another writes it in place.


def in_place(box: Path) -> None:
    (box / "file").write_text("new")


def at_once(box: Path) -> None:
    descriptor = os.open(box / "file", os.O_WRONLY)
    os.write(descriptor, b"new")
    os.close(descriptor)


def in_two_writes(box: Path) -> None:
    descriptor = os.open(box / "file", os.O_WRONLY)
    os.write(descriptor, b"n")
    os.write(descriptor, b"ew")
    os.close(descriptor)


def append(box: Path) -> None:
    with open(box / "file", "ab", buffering=0) as file:
        file.write(b", n")
        file.write(b"ew")


def read(box: Path) -> str:
    return (box / "file").read_text()


WRITE, CLOSE = ("one to write", "two to end"), ("one to close", "two to end")
BETWEEN = "one to write", "one", "two to end"


@pytest.mark.parametrize(
    ("one", "lines", "expected"),
    [
        (in_place, WRITE, "write-in-place"),
        (in_place, CLOSE, None),
        (at_once, WRITE, None),
        (in_two_writes, WRITE, None),
        (in_two_writes, BETWEEN, "write-in-place"),
        (append, BETWEEN, None),
    ],
)
def test_a_piece_is_what_was_read_between_the_first_write_and_the_last(
    one: Act, lines: tuple[str, ...], expected: str | None
) -> None:
    found = told(served("two", lambda _: False), one, read, *lines, setup=old)

    assert kind(found) == expected


@pytest.mark.parametrize(
    "fault", [crash("one", on="write"), crash("one", after_bytes=1)]
)
def test_what_a_crash_left_of_a_file_is_a_piece_since_then(
    fault: PlannedFault | FaultBound,
) -> None:
    scenario = Scenario(
        "two", faults=[fault], invariants=[served("two", lambda _: False)]
    )
    scenario.setup(old)
    scenario.writer(in_place, name="one")
    scenario.reader(read, name="two")

    trace = run(scenario, "one to end", "two to end", record=True).trace
    found = diagnose(trace, "served")

    assert found is not None
    assert found.pattern == "write-in-place"
    assert " and was killed in step " in found.sentence
    assert found.sentence.endswith("whole: since then others find a piece.")


# What is whole at the end was not broken by being written in place.


def add(box: Path) -> None:
    number = int((box / "number").read_text())
    (box / "number").write_text(str(number + 1))


def zero(box: Path) -> None:
    (box / "number").write_text("0")


@invariant
def counts_to_two(view: View, history: History) -> bool:
    return history.live("writer") > 0 or view.read("number") == b"2"


@pytest.mark.parametrize(
    ("line", "expected"),
    [("one to write", "write-in-place"), ("one to end", "lost-update")],
)
def test_a_lost_update_is_told_unless_two_writes_are_mixed(
    line: str, expected: str
) -> None:
    lines = "one to close", "two to close", "two to open", line, "two to end"

    found = told(counts_to_two, add, add, *lines, setup=zero)

    assert kind(found) == expected
