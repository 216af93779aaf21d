"""Guards that head-image writers and evictors fail by the race that they are there for.

Everything is explored as `racecheck run` does it by default. A verdict alone would pass
for whatever else is wrong with a variant, so each has the steps that have to meet.
"""

from __future__ import annotations

import itertools
import re
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

from racecheck.api import Options, explore_all
from racecheck.footprint import dependence
from racecheck.model import Coverage, Kind, Verdict
from racecheck.scenario import load, select
from tests.engine.calls import usual

if TYPE_CHECKING:
    from collections.abc import Sequence

    from racecheck.model import Finding, ScenarioResult, Trace

pytestmark = [pytest.mark.processes, pytest.mark.slow]

ROOT = Path(__file__).parents[2]
FOLDERS = [ROOT / "scenarios" / name for name in ("head_image", "eviction")]


class Race(NamedTuple):
    """A variant with a race.

    Attributes:
        name: Name of the scenario.
        broken: One of the invariants that the race breaks.
        steps: Patterns of steps of two actors that meet in what is found, in the order
            in which they were taken, and of what they meet on.
    """

    name: str
    broken: str
    steps: tuple[str, ...]


RACES = (
    Race(
        "head_image/two_cold_serves/pid_reverted",
        "no_lost_writes",
        (r"serve-\d (rename|openat) \| serve-\d rename \| name 'head.img.tmp' in \.",),
    ),
    Race(
        "head_image/two_cold_serves/skip_if_busy",
        "no_silent_loss",
        (r"serve-(\d) openat \| serve-(?!\1)\d openat \| name 'head.img.tmp' in \.",),
    ),
    Race(
        "head_image/two_cold_serves/remove_rename",
        "no_lost_writes",
        (
            # It has made room, and the other one has filled it meanwhile.
            r"serve-(\d) unlink \| serve-(?!\1)\d renameat2 \| name 'head.img' in \.",
            r"serve-(\d) renameat2 \| serve-(?!\1)\d renameat2 \| name 'head.img' .*",
        ),
    ),
    Race(
        "head_image/same_pid/counted",
        "no_lost_writes",
        (r"serve-\d \w+ \| serve-\d rename \| name 'head.img.tmp.1001.1' in \.",),
    ),
    Race(
        "head_image/older_build/verify_first",
        "no_downgrade",
        (
            r"serve_older openat \| serve_newer rename \| name 'head.img' in \.",
            r"serve_newer rename \| serve_older rename \| name 'head.img' in \.",
        ),
    ),
    Race(
        "head_image/reading/two_opens-pid",
        "served",
        (
            r"load openat \| replace rename \| name 'head.img' in \.",
            r"replace rename \| load openat \| name 'head.img' in \.",
        ),
    ),
    Race(
        "head_image/reading/if_there-remove_rename",
        "no_unexpected_errors",
        (
            r"load newfstatat \| replace unlink \| name 'head.img' in \.",
            r"replace unlink \| load openat \| name 'head.img' in \.",
        ),
    ),
    Race(
        "head_image/two_builds/any_key-one_path",
        "key_matches_two",
        (r"serve_one-\d rename \| serve_two openat \| name 'head.img' in \.",),
    ),
    Race(
        "eviction/replaced_victim/recheck-pid",
        "evicted_as_chosen",
        (
            # However often it looks, the last look comes before the rename.
            r"tidy newfstatat \| serve rename \| name 'head.img' in cache",
            r"serve rename \| tidy unlink \| name 'head.img' in cache",
        ),
    ),
    Race(
        "eviction/replaced_victim/locked-pid",
        "evicted_as_chosen",
        (
            r"tidy newfstatat \| serve rename \| name 'head.img' in cache",
            r"serve rename \| tidy unlink \| name 'head.img' in cache",
        ),
    ),
    Race(
        "eviction/replaced_victim/aside-pid",
        "never_missing",
        (
            r"serve rename \| tidy rename \| name 'head.img' in cache",
            r"serve rename \| tidy link \| name 'head.img' in cache",
        ),
    ),
    Race(
        "eviction/live_temp/by_name-pid",
        "no_lost_writes",
        (r"tidy unlink \| serve rename \| name 'head.img.tmp.1001' in cache",),
    ),
    Race(
        "eviction/stalled_writer/unlocked-flocked_temp",
        "no_lost_writes",
        (r"sweep_later unlink \| serve rename \| name 'head.img.tmp.1001' in cache",),
    ),
)

SOUND = (
    "head_image/same_pid/unique",
    "head_image/older_build/verify_first_locked",
    "head_image/reading/one_open-remove_rename",
    "head_image/two_builds/own_key-one_path",
    "eviction/live_temp/skip_temps-pid",
    "eviction/replaced_under_lock/locked-rename_locked",
)

ALONE = (
    # No race at all: these break something with nobody else about.
    ("head_image/two_cold_serves/never_closed", "no_leaked_descriptors"),
    ("head_image/two_cold_serves/link_kept", "temp_files_bounded"),
    ("head_image/dies_early/status_0-pid", "no_unexpected_errors"),
    ("head_image/dies_early/status_3-pid", "no_unexpected_errors"),
    ("head_image/stale_temp/link-pid", "source_untouched"),
    ("head_image/full_path/shared", "whole_images"),
    ("head_image/failing_close/close_unchecked", "failed_closes_count"),
    ("head_image/tmpdir_elsewhere/tmpdir", "no_lost_writes"),
    ("eviction/window/up_to_age", "converges"),
)


@pytest.fixture(scope="module")
def results() -> dict[str, ScenarioResult]:
    """Explore what is asked for here, as the command line does."""
    names = [*(race.name for race in RACES), *SOUND, *(name for name, _ in ALONE)]
    chosen = select(load(FOLDERS), names)
    return {result.name: result for result in explore_all(chosen, Options())}


def finding(result: ScenarioResult, invariant: str) -> Finding:
    """Return what was found of an invariant; a second execution has confirmed it."""
    assert result.as_expected, result
    (found,) = (each for each in result.findings if each.invariant == invariant)
    assert found.confirmed
    return found


def meetings(trace: Trace) -> Sequence[str]:
    """Return which steps of different actors conflict, and on what, a line each."""
    return [
        f"{one.actor} {usual(one.call)} | "
        f"{other.actor} {usual(other.call)} | {resource}"
        for one, other in itertools.combinations(trace.steps, 2)
        if one.actor != other.actor
        for resource in dependence(one.footprint, other.footprint)
    ]


@pytest.mark.parametrize("race", RACES, ids=lambda race: race.name)
def test_a_variant_fails_by_its_race(
    race: Race, results: dict[str, ScenarioResult]
) -> None:
    found = finding(results[race.name], race.broken)

    met = meetings(found.trace)
    for pattern in race.steps:
        assert any(re.fullmatch(pattern, line) for line in met), (pattern, met)


@pytest.mark.parametrize("name", SOUND)
def test_the_same_without_the_race_passes_in_every_order(
    name: str, results: dict[str, ScenarioResult]
) -> None:
    result = results[name]

    assert result.verdict is Verdict.PASSED, result.reason
    assert result.coverage is Coverage.COMPLETE
    assert result.executions > 1


@pytest.mark.parametrize(("name", "broken"), ALONE)
def test_what_is_wrong_with_a_subject_alone_cannot_pass(
    name: str, broken: str, results: dict[str, ScenarioResult]
) -> None:
    finding(results[name], broken)


def test_a_writer_is_held_up_between_its_open_and_its_lock(
    results: dict[str, ScenarioResult],
) -> None:
    name = "eviction/stalled_writer/unlocked-flocked_temp"
    trace = finding(results[name], "no_lost_writes").trace

    (stall,) = (step for step in trace.steps if step.kind is Kind.STALL)
    assert (stall.actor, stall.args["before"]) == ("serve", "flock")


def test_a_link_at_the_temp_name_is_written_through(
    results: dict[str, ScenarioResult],
) -> None:
    trace = finding(results["head_image/stale_temp/link-pid"], "source_untouched").trace

    (violation,) = trace.violations
    assert violation.step is not None
    opened = trace.steps[violation.step]
    assert (opened.kind, opened.args["path"]) == (Kind.OPEN, "head.img.tmp.1001")
    assert {write.resource.object for write in opened.footprint.writes} >= {"other"}
