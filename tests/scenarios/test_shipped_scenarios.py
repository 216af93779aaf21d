"""Guards what the shipped scenarios find: each race by its trace, not just its name."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from racecheck.api import Options, explore_all
from racecheck.explore.explorer import ASSUMED_OF_TASKS
from racecheck.footprint import dependence
from racecheck.model import Buffer, Coverage, Kind, Verdict
from racecheck.scenario import Budget, load, select

if TYPE_CHECKING:
    from collections.abc import Iterator

    from racecheck.model import Finding, ScenarioResult, Step, Trace

pytestmark = [pytest.mark.processes, pytest.mark.slow]

ROOT = Path(__file__).parents[2]
SHARED_NAME = {"clean_failure", "no_lost_writes", "no_silent_loss", "whole_images"}


def explored(name: str, options: Options | None = None) -> ScenarioResult:
    """Explore one shipped scenario as `racecheck run` does by default."""
    (found,) = select(load([ROOT / "scenarios"]), [name])
    (result,) = explore_all([found], options or Options())
    return result


def found_in(result: ScenarioResult) -> dict[str, Finding]:
    """Return the findings by invariant; each was confirmed by a second execution."""
    assert all(finding.confirmed for finding in result.findings)
    return {finding.invariant: finding for finding in result.findings}


def racing(trace: Trace, what: str) -> Iterator[tuple[Step, Step]]:
    """Yield the pairs of steps of two actors that conflict on something."""
    for one, other in itertools.combinations(trace.steps, 2):
        if one.actor != other.actor:
            shared = dependence(one.footprint, other.footprint)
            if any(what in str(resource) for resource in shared):
                yield one, other


def test_a_shared_temp_name_loses_writes_by_a_race_on_that_name() -> None:
    result = explored("head_image/two_cold_serves/shared")

    found = found_in(result)
    assert found.keys() == SHARED_NAME
    assert result.as_expected
    for invariant in ("no_lost_writes", "no_silent_loss"):
        pairs = list(racing(found[invariant].trace, "name 'head.img.tmp'"))
        assert any(
            {one.actor, other.actor} == {"serve-1", "serve-2"}
            and Kind.RENAME in {one.kind, other.kind}
            for one, other in pairs
        )


def test_a_write_in_place_shows_a_torn_image() -> None:
    found = found_in(explored("head_image/two_cold_serves/inplace"))

    torn = found["whole_images"]
    assert "expected a whole image at 'head.img'" in torn.message
    (violation,) = (v for v in torn.trace.violations if v.invariant == "whole_images")
    assert violation.step is not None
    assert torn.trace.steps[violation.step].kind in {Kind.OPEN, Kind.WRITE}


@pytest.mark.parametrize(
    "name", ["head_image/two_cold_serves/pid", "overlay/two_jobs/fixed"]
)
def test_the_repaired_programs_pass(name: str) -> None:
    result = explored(name)

    assert result.verdict is Verdict.PASSED, result.reason
    assert result.as_expected
    assert result.findings == ()


def test_two_writers_with_one_pid_race_as_with_one_name() -> None:
    assert found_in(explored("head_image/same_pid/pid")).keys() == SHARED_NAME


def test_two_threads_of_one_process_race_on_the_name_with_its_id() -> None:
    result = explored("head_image/two_threads/pid")

    found = found_in(result)
    assert found.keys() == {"clean_failure", "no_lost_writes", "whole_images"}
    assert result.coverage is Coverage.CUT
    assert ASSUMED_OF_TASKS in result.assumptions
    # One thread renamed away what the other had opened by the same name.
    trace = found["no_lost_writes"].trace
    failed = next(
        each for each in trace.steps if each.kind is Kind.RENAME and each.failed
    )
    pairs = [
        (step.kind, sorted(map(str, dependence(step.footprint, failed.footprint))))
        for step in trace.steps
        if (step.actor, step.kind) == ("serve_two", Kind.RENAME)
        and {step.task, failed.task} == {1, 2}
    ]
    assert [kind for kind, _ in pairs] == [Kind.RENAME]
    assert any("name 'head.img.tmp.1001'" in each for _, on in pairs for each in on)


def test_threads_that_count_their_writes_do_not_race() -> None:
    result = explored("head_image/two_threads/counted")

    assert result.verdict is Verdict.PASSED, result.reason
    assert result.coverage is Coverage.CUT
    assert ASSUMED_OF_TASKS in result.assumptions
    assert int(result.bounds["sampled"]) >= 30


def test_a_retry_takes_the_temp_file_of_the_try_that_is_still_in_flight() -> None:
    result = explored("head_image/retry_in_flight/pid")

    trace = found_in(result)["no_lost_writes"].trace
    # The stalled thread renames last, and what it opened is renamed away.
    first, last = (each for each in trace.steps if each.kind is Kind.RENAME)
    assert (first.task, first.failed) == (0, False)
    assert (last.task, last.failed) == (1, True)
    dependent = sorted(map(str, dependence(first.footprint, last.footprint)))
    assert any("name 'head.img.tmp.1001'" in each for each in dependent)


def test_a_retry_with_names_of_its_own_leaves_the_first_try_alone() -> None:
    for variant in ("counted", "thread", "mkstemp"):
        result = explored(f"head_image/retry_in_flight/{variant}")
        assert (result.verdict, result.findings) == (Verdict.PASSED, ()), variant


@pytest.fixture(scope="module")
def faulty() -> dict[str, Finding]:
    """What is found of the overlay builder as it was reported."""
    result = explored("overlay/two_jobs/faulty")
    assert result.as_expected, result
    return found_in(result)


def test_two_builders_meet_a_link_that_exists() -> None:
    # Which error comes first is a matter of the order in which orders are tried.
    for seed in range(8):
        options = Options(seed=seed, scheduler="random", budget=Budget(executions=60))
        found = found_in(explored("overlay/two_jobs/faulty", options))
        for finding in found.values():
            trace = finding.trace
            for operation in trace.operations:
                if operation.exception == "builtins.FileExistsError":
                    assert operation.last is not None
                    tried = [
                        step
                        for step in trace.steps[: operation.last]
                        if step.actor == operation.actor
                    ][-1]
                    assert tried.kind is Kind.SYMLINK
                    made = [
                        step
                        for step in trace.steps[: tried.index]
                        if step.kind is Kind.SYMLINK
                        and step.actor != tried.actor
                        and step.args["path"] == tried.args["path"]
                    ]
                    assert made, "the other builder has made the link meanwhile"
                    return
    pytest.fail("no builder met a link that exists")


def test_a_job_sees_a_torn_config(faulty: dict[str, Finding]) -> None:
    assert "torn" in faulty["whole_images"].message


def test_the_model_itself_is_overwritten_through_a_link(
    faulty: dict[str, Finding],
) -> None:
    finding = faulty["source_untouched"]
    (violation,) = (
        v for v in finding.trace.violations if v.invariant == "source_untouched"
    )
    assert "model/config.json" in violation.message
    assert violation.step is not None
    clobber = finding.trace.steps[violation.step]
    # One builder opens the overlay's config to write it, after the other has made it a
    # link to the model's again.
    assert clobber.kind is Kind.OPEN
    assert str(clobber.args["path"]).endswith("/config.json")
    assert "O_TRUNC" in str(clobber.args["flags"])
    before = finding.trace.steps[: violation.step]
    linked = [
        step
        for step in before
        if step.kind is Kind.SYMLINK
        and step.actor != clobber.actor
        and step.args["path"] == clobber.args["path"]
        and not step.failed
    ]
    assert linked
    assert any(
        write.resource.object == "model/config.json"
        for write in clobber.footprint.writes
    )


def test_the_literal_repair_serves_a_config_that_is_whole_but_not_merged() -> None:
    result = explored("overlay/two_jobs/proposed")

    found = found_in(result)
    assert found.keys() == {"merged_config"}
    trace = found["merged_config"].trace
    (served,) = (op for op in trace.operations if op.actor == "start_server")
    assert isinstance(served.value, dict)
    assert "rope_scaling" in served.value
    assert served.value["rope_scaling"] != {"type": "yarn"}
    # The server read while a second builder had put the link back in its place.
    read = [
        step
        for step in trace.steps
        if step.actor == "start_server" and step.kind is Kind.READ
    ]
    assert any(isinstance(step.outputs.get("data"), Buffer) for step in read)
    built = [
        op for op in trace.operations if op.actor.startswith("build") and op.succeeded
    ]
    assert built
    assert served.first is not None
    assert min(op.last for op in built if op.last is not None) < served.first


def test_a_flipped_expectation_gives_exit_status_1(tmp_path: Path) -> None:
    for name, text in (
        ("pid", "expect={'no_lost_writes'}"),
        ("shared", "expect=set()"),
    ):
        file = tmp_path / f"{name}_scenario.py"
        file.write_text(
            "from racecheck.scenario import Scenario\n"
            "from scenarios.head_image.serves import invariants, serve, some\n"
            f"flipped = Scenario('flipped', invariants=invariants(), {text})\n"
            "flipped.writer(serve, count=2, succeeds=bool)\n"
            f"flipped.over(write=some('{name}'))\n"
        )
        out = tmp_path / "out.json"
        done = subprocess.run(
            [
                *(sys.executable, "-m", "racecheck", "run", str(file), "flipped"),
                *("--budget", "60", "--json", str(out)),
            ],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 1, done.stderr
        (scenario,) = json.loads(out.read_text())["scenarios"]
        assert scenario["as_expected"] is False
