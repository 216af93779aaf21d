"""Guards that properties of a few lines find known races, and how small they get."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

import racecheck
from racecheck.model import Coverage, Kind
from racecheck.property import Drawn, evictors, workloads, writers
from racecheck.property import operations as ops
from scenarios.ensure_symlink import parts
from scenarios.ensure_symlink.links import ensure_missing_ok
from scenarios.eviction.evictors import EVICTORS
from scenarios.eviction.scenario import other_image, tidy
from scenarios.eviction.scenario import serve as serve_cache
from scenarios.head_image.image import validate
from scenarios.head_image.serves import IMAGE, serve
from scenarios.head_image.writers import write_pid, write_shared
from scenarios.overlay.model_folder import CONFIG, YARN_OVERRIDES
from scenarios.overlay.overlay import CONFIG_NAME, build_fixed, build_proposed
from scenarios.overlay.parts import OVERLAY, build, model_folder
from tests.property.finding import falsified, operations, quick, switches_until

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.processes

BY_PID = ops(serve, write=write_pid)
WHOLE = racecheck.whole_images(IMAGE, validate)


@quick()
@given(workloads(writers(ops(serve, write=write_shared), succeeds=bool)))
def images_of_a_shared_temp_are_whole(workload: Drawn) -> None:
    racecheck.check(workload, invariants=[WHOLE])


def test_a_shared_temp_comes_down_to_two_writers_and_two_switches() -> None:
    error = falsified(images_of_a_shared_temp_are_whole)
    assert operations(error.trace) == ["serve-1", "serve-2"]
    assert switches_until(error.trace, "whole_images") == 2
    workload = "[writer(operation(serve, write=write_shared), count=2)]"
    assert error.about == f"Workload.of({workload})"
    assert error.about in str(error)
    assert "rename(head.img.tmp, head.img) = 0" in str(error)


@quick()
@given(
    workloads(
        writers(ops(serve, write=write_pid), succeeds=bool), same_pid=st.booleans()
    )
)
def images_of_temps_by_pid_are_whole(workload: Drawn) -> None:
    racecheck.check(workload, invariants=[WHOLE])


@quick(8)
@given(workloads(writers(BY_PID, succeeds=bool)))
def images_of_temps_by_different_pids_are_whole(workload: Drawn) -> None:
    racecheck.check(workload, invariants=[WHOLE])


def test_a_temp_by_pid_needs_two_writers_of_one_pid() -> None:
    error = falsified(images_of_temps_by_pid_are_whole)
    assert error.about.endswith("count=2)], same_pid=True)")
    assert operations(error.trace) == ["serve-1", "serve-2"]
    assert switches_until(error.trace, "whole_images") == 2
    images_of_temps_by_different_pids_are_whole()


def is_merged(data: bytes) -> object:
    return json.loads(data) == {**CONFIG, **YARN_OVERRIDES}


MERGED = racecheck.whole_images(f"{OVERLAY}/{CONFIG_NAME}", is_merged, after="writer")


@quick(10)
@given(workloads(writers(ops(build, builder=build_proposed)), setup=model_folder))
def built_configs_stay_merged(workload: Drawn) -> None:
    racecheck.check(workload, invariants=[MERGED])


@quick(2)
@given(workloads(writers(ops(build, builder=build_fixed)), setup=model_folder))
def repaired_configs_stay_merged(workload: Drawn) -> None:
    racecheck.check(workload, invariants=[MERGED], budget=20)


def test_the_proposed_overlay_comes_down_to_two_builders() -> None:
    error = falsified(built_configs_stay_merged)
    assert operations(error.trace) == ["build-1", "build-2"]
    repaired_configs_stay_merged()


def releases(box: Path) -> dict[str, Path]:
    parts.make_release(box / parts.OLD, parts.OLD)
    parts.make_release(box / parts.NEW, parts.NEW)
    return {"link": box / parts.LINK, "target": box / parts.NEW}


EVICTING = [EVICTORS["skip_temps"], EVICTORS["by_name"]]
ENSURE = ops(parts.ensure, way=ensure_missing_ok)


@quick(4)
@given(workloads(writers(ENSURE, at_most=5), setup=releases))
def any_number_can_ensure_an_absent_link(workload: Drawn) -> None:
    racecheck.check(workload, invariants=[racecheck.no_lost_writes()])


@quick(5)
@given(workloads(writers(ENSURE), setup=releases, box=parts.leave_stale_link))
def any_number_can_ensure_a_stale_link(workload: Drawn) -> None:
    racecheck.check(workload, invariants=[racecheck.no_lost_writes()])


def test_a_link_that_is_absent_is_ensured_and_a_stale_one_is_not() -> None:
    any_number_can_ensure_an_absent_link()
    error = falsified(any_number_can_ensure_a_stale_link)
    assert operations(error.trace) == ["ensure-1", "ensure-2"]
    (lost,) = (each for each in error.trace.operations if not each.succeeded)
    assert lost.exception != "builtins.FileExistsError"


@quick(3)
@given(
    workloads(
        writers(ENSURE, at_least=2, at_most=4, operations=1, raises=OSError),
        setup=releases,
        box=parts.leave_stale_link,
        budget=1000,
    )
)
def nobody_finds_the_name_taken(workload: Drawn) -> None:
    result = racecheck.check(workload, invariants=[parts.never_taken()])
    assert workload.count("writer") > 2 or result.coverage is Coverage.COMPLETE


@pytest.mark.slow
def test_the_name_is_found_taken_by_three_and_never_by_two() -> None:
    # An example with two writers is explored to its end, else the property would fail
    # for another reason; and shrinking would have come to one of two if there were any.
    error = falsified(nobody_finds_the_name_taken)
    assert operations(error.trace) == ["ensure-1", "ensure-2", "ensure-3"]
    (lost,) = (each for each in error.trace.operations if not each.succeeded)
    assert lost.exception == "builtins.FileExistsError"


@quick()
@given(
    workloads(
        writers(ops(serve_cache, write=write_pid), succeeds=bool),
        evictors(ops(tidy, evict=st.sampled_from(EVICTING)), operations=2),
        setup=other_image,
    )
)
def no_write_is_lost_to_an_evictor(workload: Drawn) -> None:
    racecheck.check(workload, invariants=[racecheck.no_lost_writes()])


def test_an_evictor_by_name_comes_down_to_one_writer() -> None:
    error = falsified(no_write_is_lost_to_an_evictor)
    assert operations(error.trace) == ["serve", "tidy"]
    # The other one spares temporary files.
    assert "choose=<function excess at" in error.about
    lost = [step for step in error.trace.steps if step.kind is Kind.RENAME]
    assert [(step.actor, step.failed) for step in lost] == [("serve", True)]
    removed = [step for step in error.trace.steps if step.kind is Kind.UNLINK]
    assert removed[0].actor == "tidy"
    assert removed[0].args["path"] == "cache/head.img.tmp.1001"
