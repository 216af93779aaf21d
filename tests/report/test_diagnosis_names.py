"""Checks, evictions and removed lock files are told from what their steps looked at.

Each faulty order stands beside one that looks much like it, and of which nothing, or
something else, is to be said.
"""

from __future__ import annotations

import fcntl
import os
import shutil
from typing import TYPE_CHECKING

import pytest

from racecheck.invariants import invariant, no_unexpected_errors
from racecheck.report.diagnosis import diagnose
from racecheck.scenario import Scenario
from tests.engine.lab import run
from tests.report.telling import kind, old, told

if TYPE_CHECKING:
    from pathlib import Path

    from racecheck.model import History, View
    from tests.report.telling import Act

pytestmark = pytest.mark.processes


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
    trace = run(scenario, *lines, record=True).trace

    assert kind(diagnose(trace, "found_what_it_looked_for")) == expected


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
