"""Guards that races over names are found, said where they are, and gone once repaired.

Everything is explored as `racecheck run` does it by default: nothing is told of where
to look, and the programs that are right have to be covered to the last order.
"""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

from racecheck.api import Options, explore_all
from racecheck.footprint import dependence
from racecheck.model import Coverage, Verdict
from racecheck.scenario import load

if TYPE_CHECKING:
    from racecheck.model import ScenarioResult, Trace

pytestmark = [pytest.mark.processes, pytest.mark.slow]

FOLDER = Path(__file__).parents[2] / "scenarios" / "names"


class Race(NamedTuple):
    """A program with a race and one without.

    Attributes:
        scenario: Name of the scenario, without its folder.
        faulty: Variant that has the race.
        fixed: Variant that has not.
        broken: The invariant that the race breaks.
        executions: The most that may be needed to find it.
        steps: Steps that have to meet in what is found, and on what: those after which,
            taken the other way round, nothing would have been broken.
    """

    scenario: str
    faulty: str
    fixed: str
    broken: str
    executions: int
    steps: tuple[str, ...]


RACES = (
    Race(
        "lost_update",
        "unlocked",
        "locked",
        "every_increment_counts",
        12,
        ("count-2 openat | count-1 rename | name 'counter' in .",),
    ),
    Race(
        "gap_by_open",
        "unlink",
        "replace",
        "no_unexpected_errors",
        2,
        (
            "replace unlink | load openat | name 'file' in .",
            "load openat | replace rename | name 'file' in .",
        ),
    ),
    Race(
        "gap_by_exists",
        "unlink",
        "replace",
        "served",
        2,
        (
            "replace unlink | look newfstatat | name 'file' in .",
            "look newfstatat | replace rename | name 'file' in .",
        ),
    ),
    Race(
        "turned_link",
        "unlink",
        "replace",
        "no_unexpected_errors",
        2,
        (
            "deploy unlink | ask openat | name 'current' in .",
            "ask openat | deploy symlink | name 'current' in .",
        ),
    ),
    Race(
        "claimed_file",
        "exists",
        "exclusive",
        "no_unexpected_errors",
        2,
        (
            "ask_for-1 newfstatat | ask_for-2 openat | name 'file' in .",
            "ask_for-2 openat | ask_for-1 openat | name 'file' in .",
        ),
    ),
    Race(
        "made_folder",
        "isdir",
        "mkdir",
        "no_unexpected_errors",
        2,
        (
            "store-1 newfstatat | store-2 mkdir | name 'folder' in .",
            "store-2 mkdir | store-1 mkdir | name 'folder' in .",
        ),
    ),
    Race(
        "two_evictors",
        "listed",
        "missing_ok",
        "no_unexpected_errors",
        2,
        (
            "sweep-1 getdents64 | sweep-2 unlink | membership of cache",
            "sweep-2 unlink | sweep-1 unlink | name 'b' in cache",
        ),
    ),
    Race(
        "evicted_file",
        "exists",
        "open",
        "no_unexpected_errors",
        3,
        (
            "use newfstatat | clear unlink | name 'a' in cache",
            "clear unlink | use openat | name 'a' in cache",
        ),
    ),
    Race(
        "stale_lock",
        "lock_file",
        "flock",
        "no_unexpected_errors",
        20,
        ("job-2 readlink | job-1 symlink | name 'lock' in .",),
    ),
    Race(
        "fixed_temp",
        "fixed",
        "own",
        "no_unexpected_errors",
        3,
        (
            "save-1 openat | save-2 openat | name 'file.tmp' in .",
            "save-2 unlink | save-1 rename | name 'file.tmp' in .",
        ),
    ),
    Race(
        "skewed_window",
        "once",
        "again",
        "no_unexpected_errors",
        10,
        (
            "fetch readlink | update rename | name 'index' in .",
            "update unlink | fetch openat | name 'blob-1' in .",
        ),
    ),
)


@pytest.fixture(scope="module")
def results() -> dict[str, ScenarioResult]:
    """Explore them all, as the command line does."""
    return {result.name: result for result in explore_all(load([FOLDER]), Options())}


def meetings(trace: Trace) -> set[str]:
    """Return which steps of different actors conflict, and on what, a line each."""
    return {
        f"{one.actor} {one.call} | {other.actor} {other.call} | {resource}"
        for one, other in itertools.combinations(trace.steps, 2)
        if one.actor != other.actor
        for resource in dependence(one.footprint, other.footprint)
    }


def id_of(race: Race) -> str:
    return race.scenario


def test_every_scenario_of_the_folder_is_one_of_these(
    results: dict[str, ScenarioResult],
) -> None:
    expected = {
        f"names/{race.scenario}/{variant}"
        for race in RACES
        for variant in (race.faulty, race.fixed)
    }

    assert len(RACES) == 11
    assert results.keys() == expected


@pytest.mark.parametrize("race", RACES, ids=id_of)
def test_a_race_over_names_is_found(
    race: Race, results: dict[str, ScenarioResult]
) -> None:
    result = results[f"names/{race.scenario}/{race.faulty}"]

    assert result.verdict is Verdict.VIOLATED, result.reason
    assert result.as_expected
    (finding,) = result.findings
    assert finding.invariant == race.broken
    assert finding.confirmed
    assert finding.execution <= race.executions
    assert set(race.steps) <= meetings(finding.trace)


@pytest.mark.parametrize("race", RACES, ids=id_of)
def test_without_the_race_every_order_passes(
    race: Race, results: dict[str, ScenarioResult]
) -> None:
    result = results[f"names/{race.scenario}/{race.fixed}"]

    assert result.verdict is Verdict.PASSED, result.reason
    assert result.as_expected
    assert result.coverage is Coverage.COMPLETE
    # A program without a choice would prove nothing.
    assert result.executions > 1
