"""Guards what is found of links that several processes make sure of, by its trace."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from racecheck.model import Coverage, Kind, Verdict
from tests.scenarios.races import explored, failed, found_in, in_order, meetings, story

if TYPE_CHECKING:
    from racecheck.model import Step, Trace

pytestmark = [pytest.mark.processes, pytest.mark.slow]

EXISTS = "builtins.FileExistsError"


def at_the_link(step: Step) -> str:
    """Tell of steps that change what is at the link, or fail to."""
    changing = {Kind.SYMLINK, Kind.UNLINK, Kind.RENAME}
    ends = ("include", "include/")
    if step.kind in changing and str(step.args.get("path", "")).endswith(ends):
        return f"{step.actor} {step.call}{' fails' if step.failed else ''}"
    return ""


def changes(trace: Trace) -> list[str]:
    return story(trace, at_the_link)


def test_a_link_that_was_absent_exists_when_it_is_made() -> None:
    finding = found_in(explored("ensure_symlink/absent/faulty"))["no_lost_writes"]

    assert finding.execution <= 2
    assert failed(finding.trace, EXISTS)
    assert {
        "ensure-1 newfstatat | ensure-2 symlink | name 'include' in .",
        "ensure-2 symlink | ensure-1 symlink | name 'include' in .",
    } <= meetings(finding.trace)


def test_a_process_removes_the_link_that_another_has_made() -> None:
    found = found_in(explored("ensure_symlink/stale_link/faulty"))

    trace = found["never_missing"].trace
    (violation,) = (v for v in trace.violations if v.invariant == "never_missing")
    assert violation.step is not None
    gone = trace.steps[violation.step]
    assert gone.call == "unlink"
    (other,) = {"ensure-1", "ensure-2"} - {gone.actor}
    (done,) = (op for op in trace.operations if op.actor == other)
    # The other one had made the link and was told so.
    assert done.succeeded
    assert done.last is not None
    assert done.last < gone.index
    assert f"{other} symlink" in changes(trace)
    assert f"{other} symlink | {gone.actor} unlink | name 'include' in ." in meetings(
        trace
    )


def test_a_compiler_finds_nothing_behind_a_link_that_was_right() -> None:
    found = found_in(explored("ensure_symlink/compiler/eexist"))

    trace = found["no_unexpected_errors"].trace
    raised = failed(trace, "builtins.FileNotFoundError")
    assert raised
    assert any(pair.startswith("ensure-") for pair in meetings(trace))
    assert "never_missing" in found


def test_a_folder_is_emptied_by_two_at_once() -> None:
    found = found_in(explored("ensure_symlink/stale_folder/missing_ok"))

    trace = found["no_lost_writes"].trace
    assert any(" in include" in pair or "'include'" in pair for pair in meetings(trace))
    assert found["no_lost_writes"].message


def test_a_folder_cannot_be_renamed_over() -> None:
    found = found_in(explored("ensure_symlink/stale_folder/atomic"))

    assert failed(found["no_lost_writes"].trace, "builtins.IsADirectoryError")


@pytest.mark.parametrize("way", ["eexist", "missing_ok"])
def test_to_catch_and_verify_fails_with_three(way: str) -> None:
    two = explored(f"ensure_symlink/caught_by_two/{way}")
    three = explored(f"ensure_symlink/caught_by_three/{way}")

    assert two.verdict is Verdict.PASSED, two.reason
    assert two.coverage is Coverage.COMPLETE
    trace = found_in(three)["never_taken"].trace
    (operation,) = failed(trace, EXISTS)
    verifier = operation.actor
    # One makes the link between the look and the try of another, and a third, which
    # had found the stale link, removes it before that one has verified it.
    told = changes(trace)
    at = told.index(f"{verifier} symlink fails")
    (made,) = {each for each in told[:at] if each.endswith(" symlink")}
    removed = [each for each in told[at:] if each.endswith(" unlink")]
    assert removed
    third = removed[0].split()[0]
    assert len({verifier, made.split()[0], third}) == 3
    assert in_order([made, f"{verifier} symlink fails", removed[0]], told)


def test_a_wrong_link_is_told_or_replaced_but_never_taken_for_right() -> None:
    told = found_in(explored("ensure_symlink/wrong_link/eexist"))
    taken = found_in(explored("ensure_symlink/wrong_link/blind"))
    replaced = explored("ensure_symlink/wrong_link/atomic")

    (operation,) = failed(told["no_lost_writes"].trace, EXISTS)
    assert operation.actor == "ensure"
    for finding in (told["no_lost_writes"], taken["never_led_astray"]):
        assert in_order(
            ["plant symlink", "ensure symlink fails"], changes(finding.trace)
        )
    assert replaced.as_expected
    assert replaced.coverage is Coverage.COMPLETE


def test_a_relative_target_is_made_again_each_time() -> None:
    for way in ("faulty", "filelock"):
        found = found_in(explored(f"ensure_symlink/relative_target/{way}"))

        told = changes(found["made_once"].trace)
        assert told == ["ensure symlink", "ensure unlink", "ensure symlink"]
        assert failed(found["no_unexpected_errors"].trace, "builtins.FileNotFoundError")
    assert explored("ensure_symlink/relative_target/relfix").as_expected


def test_a_lock_ends_with_its_holder_or_the_file_stays() -> None:
    kept = found_in(explored("ensure_symlink/killed/lock_file"))
    ended = found_in(explored("ensure_symlink/killed/flock"))

    assert failed(kept["no_lost_writes"].trace, "builtins.TimeoutError")
    assert any(end.crashed for end in kept["no_lost_writes"].trace.ends)
    assert ended.keys() == set()


def test_who_waits_for_a_lock_gives_up_after_a_minute() -> None:
    found = found_in(explored("ensure_symlink/stalled/lock_file"))

    assert failed(found["no_lost_writes"].trace, "builtins.TimeoutError")
    assert explored("ensure_symlink/stalled/flock").as_expected


def test_a_temp_link_stays_where_nobody_cleans_up() -> None:
    found = found_in(explored("ensure_symlink/refused/unclean"))

    assert "include.tmp." in found["temp_files_bounded"].message
    assert explored("ensure_symlink/refused/atomic").as_expected


@pytest.mark.parametrize(
    "name",
    [
        "absent/atomic",
        "absent/flock",
        "stale_link/atomic",
        "stale_link/exchange",
        "stale_folder/exchange",
        "full_folder/exchange",
        "compiler/atomic",
        "killed/exchange",
    ],
)
def test_what_replaces_at_one_stroke_passes_in_every_order(name: str) -> None:
    result = explored(f"ensure_symlink/{name}")

    assert result.verdict is Verdict.PASSED, result.reason
    assert result.coverage is Coverage.COMPLETE
    assert result.executions > 1
