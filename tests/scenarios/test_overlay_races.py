"""Guards what is found of overlays that several jobs build, by its trace."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from racecheck.model import Coverage, Kind, Verdict
from tests.scenarios.races import explored, failed, found_in, meetings

if TYPE_CHECKING:
    from racecheck.model import Finding, Step

pytestmark = [pytest.mark.processes, pytest.mark.slow]


def breaking(finding: Finding) -> Step:
    """Return the step after which the invariant did not hold."""
    (violation,) = (
        each for each in finding.trace.violations if each.invariant == finding.invariant
    )
    assert violation.step is not None
    return finding.trace.steps[violation.step]


def test_the_literal_repair_links_to_the_unchanged_config_after_a_success() -> None:
    found = found_in(explored("overlay/marked/proposed"))

    finding = found["stays_merged"]
    step = breaking(finding)
    assert step.kind is Kind.RENAME
    assert "config.json.tmp." in str(step.args)
    (other,) = {"build-1", "build-2"} - {step.actor}
    (done,) = (op for op in finding.trace.operations if op.actor == other)
    assert done.succeeded
    assert done.last is not None
    assert done.last < step.index
    # The other's config stood there before.
    assert any(
        pair.startswith(f"{other} rename | {step.actor} rename | name 'config.json'")
        for pair in meetings(finding.trace)
    )
    assert "marker_covers" in found


def test_a_marker_that_comes_first_covers_nothing() -> None:
    found = found_in(explored("overlay/killed/marked_first"))

    assert "is not the merged one" in found["marker_covers"].message
    trace = found["converges"].trace
    assert any(end.crashed for end in trace.ends)
    # The other one has found the marker, and left it at that.
    (left,) = (op for op in trace.operations if op.succeeded)
    assert left.actor in {"build-1", "build-2"}


@pytest.mark.parametrize("builder", ["stage_folder", "locked"])
def test_a_crash_anywhere_is_healed_by_the_next_build(builder: str) -> None:
    result = explored(f"overlay/killed/{builder}")

    assert result.verdict is Verdict.PASSED, result.reason
    assert result.bounds["most crash"] == 1


def test_weights_are_missing_while_an_overlay_is_built_again() -> None:
    found = found_in(explored("overlay/rebuilt/faulty"))

    step = breaking(found["weights_stay"])
    assert step.kind is Kind.UNLINK
    assert "model.safetensors" in str(step.args["path"])
    torn = breaking(found["whole_images"])
    assert torn.kind is Kind.OPEN
    assert "O_TRUNC" in str(torn.args["flags"])


def test_who_serves_needs_no_lock_to_see_what_a_locked_builder_does() -> None:
    rebuilt = found_in(explored("overlay/rebuilt/locked"))
    cold = explored("overlay/two_jobs/locked")

    assert "whole_images" in rebuilt
    assert cold.as_expected
    assert cold.coverage is Coverage.COMPLETE


def test_a_finished_overlay_is_left_alone() -> None:
    for builder in ("faulty", "fixed"):
        assert explored(f"overlay/warm/{builder}").verdict is Verdict.PASSED
    touched = found_in(explored("overlay/warm/listed"))
    assert "source_untouched" in touched


def test_a_marker_that_names_no_files_stamps_half_a_model_for_ever() -> None:
    found = found_in(explored("overlay/changing_source/fixed"))

    trace = found["late_job_is_complete"].trace
    (late,) = (op for op in trace.operations if op.actor == "late_job")
    assert late.value == ["more.safetensors"]
    assert any(
        "build getdents64 | download rename | membership of model" in pair
        for pair in meetings(trace)
    )
    # One that lists twice stamps what it has not linked.
    assert explored("overlay/changing_source/listed_twice").as_expected
    assert explored("overlay/changing_source/listed").verdict is Verdict.PASSED


def test_hosts_with_one_process_id_race_as_with_one_temp_name() -> None:
    found = found_in(explored("overlay/same_pid/proposed"))

    trace = found["no_lost_writes"].trace
    assert failed(trace, "builtins.FileExistsError") or failed(
        trace, "builtins.FileNotFoundError"
    )
    assert any("build-1" in pair and ".tmp.1001'" in pair for pair in meetings(trace))
    assert explored("overlay/same_pid/stage_folder").verdict is Verdict.PASSED


def test_a_temp_file_that_looks_like_weights_is_listed_among_them() -> None:
    found = found_in(explored("overlay/listing_server/globbed"))

    listed = found["listed"].trace
    (server,) = (op for op in listed.operations if op.actor == "list_weights")
    assert isinstance(server.value, list)
    assert any(str(name).startswith("tmp.") for name in server.value)
    gone = failed(found["no_unexpected_errors"].trace, "builtins.FileNotFoundError")
    assert [op.actor for op in gone] == ["list_weights"]


def test_a_temp_file_stays_where_nobody_cleans_up() -> None:
    for what in ("disk_full", "rename_fails", "close_fails"):
        found = found_in(explored(f"overlay/{what}/unclean"))

        assert ".tmp." in found["clean_failure"].message
        assert explored(f"overlay/{what}/fixed").coverage is Coverage.COMPLETE
