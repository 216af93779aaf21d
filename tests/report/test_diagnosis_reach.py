"""Kinds of races are told from footprints, and not where only their outside is alike.

Each faulty order stands beside one that looks much like it, and of which nothing, or
something else, is to be said.
"""

from __future__ import annotations

import fcntl
import os
import shutil
from typing import TYPE_CHECKING

import pytest

from racecheck.invariants import invariant, no_unexpected_errors, served
from racecheck.report.diagnosis import diagnose
from racecheck.scenario import Scenario, crash
from tests.engine.lab import run

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from racecheck.model import FaultBound, History, Invariant, PlannedFault, View
    from racecheck.report.diagnosis import Diagnosis

    Act = Callable[[Path], object]

pytestmark = pytest.mark.processes


def told(
    rule: Invariant, one: Act, two: Act, *lines: str, setup: Act | None = None
) -> Diagnosis | None:
    """Run two actors in an order that breaks a rule, and say what is told of it."""
    scenario = Scenario("two", invariants=[rule])
    if setup is not None:
        scenario.setup(setup)
    scenario.writer(one, name="one")
    scenario.writer(two, name="two")
    trace = run(scenario, *lines).trace
    (name,) = {each.invariant for each in trace.violations}
    return diagnose(trace, name)


def kind(found: Diagnosis | None) -> str | None:
    return found.pattern if found is not None else None


# A folder is looked for where the folder above it is missing as well.


def make_if_missing(box: Path) -> None:
    if not (box / "above" / "folder").exists():
        os.makedirs(box / "above" / "folder")


def make_whatever_is_there(box: Path) -> None:
    if not (box / "above" / "other").exists():
        os.makedirs(box / "above" / "folder")


@pytest.mark.parametrize(
    ("one", "expected"),
    [(make_if_missing, "check-then-act"), (make_whatever_is_there, None)],
)
def test_a_folder_missing_above_is_a_look_at_what_is_below(
    one: Act, expected: str | None
) -> None:
    lines = "one to mkdir", "one", "two to end"

    found = told(no_unexpected_errors(), one, make_if_missing, *lines)

    assert kind(found) == expected


def test_the_look_is_the_one_at_the_whole_path() -> None:
    lines = "one to mkdir", "one", "two to end"

    found = told(no_unexpected_errors(), make_if_missing, make_if_missing, *lines)

    assert found is not None
    assert found.sentence == (
        "one looked for above/folder in step 0 and relied on that in step "
        f"{found.second}, but in between two made it in step {found.first}."
    )


# A folder is prepared and renamed to where another one is by then.


def publish(box: Path) -> None:
    if not (box / "folder").exists():
        prepared = box / f"prepared.{os.getpid()}"
        prepared.mkdir()
        (prepared / "file").touch()
        prepared.rename(box / "folder")


def test_a_folder_renamed_to_one_that_came_meanwhile_relied_on_a_check() -> None:
    lines = "one to rename", "two to end"

    found = told(no_unexpected_errors(), publish, publish, *lines)

    assert kind(found) == "check-then-act"
    assert found is not None
    assert found.relied == 0


def test_a_folder_renamed_to_one_that_was_there_all_along_did_not() -> None:
    def publish_anyway(box: Path) -> None:
        (box / "folder").exists()
        (box / "prepared").mkdir()
        (box / "prepared").rename(box / "folder")

    def fill(box: Path) -> None:
        (box / "folder" / "another").touch()

    def full(box: Path) -> None:
        (box / "folder").mkdir()
        (box / "folder" / "file").touch()

    lines = "one to rename", "two to end"
    found = told(no_unexpected_errors(), publish_anyway, fill, *lines, setup=full)

    assert found is None


# A folder is emptied and removed while another puts something into it.


def folder(box: Path) -> None:
    (box / "folder").mkdir()
    (box / "folder" / "file").touch()


def put(box: Path) -> None:
    (box / "folder" / "new").touch()


def test_a_folder_filled_since_it_was_listed_relied_on_the_list() -> None:
    def clear(box: Path) -> None:
        shutil.rmtree(box / "folder")

    lines = "one to rmdir", "two to end"
    found = told(no_unexpected_errors(), clear, put, *lines, setup=folder)

    assert found is not None
    assert found.pattern == "check-then-act"
    assert found.sentence.startswith("one listed folder in step ")


def test_a_folder_that_was_full_when_listed_did_not() -> None:
    def clear_in_part(box: Path) -> None:
        os.listdir(box / "folder")
        (box / "folder" / "file").unlink()
        (box / "folder").rmdir()

    lines = "two to end", "one to end"
    found = told(no_unexpected_errors(), clear_in_part, put, *lines, setup=folder)

    assert found is None


# What another had put in the place of an old file is removed, and then missed.


def old(box: Path) -> None:
    (box / "file").write_text("old")


def evict(box: Path) -> None:
    if (box / "file").read_text() == "old":
        (box / "file").unlink()


def renew_and(look: str) -> Act:
    def act(box: Path) -> bool:
        (box / "new").write_text("new")
        (box / "new").rename(box / "file")
        return (box / look).exists()

    return act


@pytest.mark.parametrize(
    ("look", "expected"), [("file", "eviction-by-name"), ("elsewhere", None)]
)
def test_an_eviction_is_felt_by_who_looks_for_what_it_took(
    look: str, expected: str | None
) -> None:
    @invariant
    def found_what_it_looked_for(view: View, history: History) -> bool:
        del view
        return all(each.value is not False for each in history.operations)

    scenario = Scenario("three", invariants=[found_what_it_looked_for])
    scenario.setup(old)
    scenario.evictor(evict, name="one")
    scenario.writer(renew_and("file"), name="two")
    scenario.reader(lambda box: (box / look).exists(), name="three", after="two")
    lines = "one to unlink", "two to end", "one to end", "three to end"
    trace = run(scenario, *lines).trace

    assert kind(diagnose(trace, "found_what_it_looked_for")) == expected


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

    found = diagnose(run(scenario, "one to end", "two to end").trace, "served")

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


# A lock file is removed; who locks the old one may look what its name means.


@invariant
def one_at_a_time(view: View, history: History) -> bool:
    del history
    return len(view.glob("held.*")) < 2


def lock(*, looks: bool) -> Act:
    def act(box: Path) -> None:
        descriptor = os.open(box / "lock", os.O_RDWR | os.O_CREAT)
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if looks and not os.path.exists(box / "lock"):
            # It goes on all the same, which then is another mistake.
            os.fstat(descriptor)
        (box / f"held.{os.getpid()}").touch()

    return act


def remove_and_lock(box: Path) -> None:
    (box / "lock").unlink()
    lock(looks=False)(box)


@pytest.mark.parametrize(
    ("looks", "expected"), [(False, "lock-file-removed"), (True, None)]
)
@pytest.mark.parametrize("first", ["one", "two"])
def test_a_removed_lock_file_is_told_unless_its_holder_looks(
    first: str, *, looks: bool, expected: str | None
) -> None:
    lines = "one to flock", "two to flock", f"{first} to utimes"

    found = told(one_at_a_time, lock(looks=looks), remove_and_lock, *lines)

    assert kind(found) == expected
    if found is not None:
        assert "one had opened it and locks that file in step " in found.sentence
        assert "two locks the new one of that name in step " in found.sentence
