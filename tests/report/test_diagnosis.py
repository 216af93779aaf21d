"""What is said of races is what their steps show, whatever anybody is called."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec
import pytest

from racecheck.engine import Machine
from racecheck.explore.explorer import explore
from racecheck.explore.runner import Runner
from racecheck.model import ScenarioResult, Trace, Verdict, Violation
from racecheck.report.diagnosis import diagnose
from racecheck.report.diagnosis.case import path_of
from racecheck.report.diagnosis.kinds import Known
from racecheck.report.story import tell
from racecheck.scenario import Budget, Scenario, load
from racecheck.scheduling import (
    PlannedFaultsScheduler,
    RandomFaultsScheduler,
    mixed_scheduler,
)
from racecheck.storage import read_trace
from tests.engine.calls import usual
from tests.engine.lab import in_child

if TYPE_CHECKING:
    from collections.abc import Iterable

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "reports" / "examples"
SCENARIOS = {each.name: each.scenario for each in load([ROOT / "scenarios"])}


class Said(NamedTuple):
    """A diagnosis by its kind and its steps, these by call and path."""

    pattern: str
    first: str
    second: str
    relied: str | None = None


KEPT = {
    "ensure_symlink.stale_link.faulty.never_missing": Said(
        "unlink-create-gap", "unlink include", "symlink include"
    ),
    "ensure_symlink.stale_link.faulty.no_lost_writes": Said(
        "unlink-create-gap", "symlink include", "symlink include", "unlink include"
    ),
    "head_image.killed_before_rename.shared.whole_images": Said(
        "shared-temp",
        "write head.img.tmp",
        "rename head.img.tmp",
        "openat head.img.tmp",
    ),
    "head_image.two_cold_serves.inplace.whole_images": Said(
        "write-in-place", "openat head.img", "write head.img"
    ),
    "head_image.two_cold_serves.shared.no_lost_writes": Said(
        "shared-temp",
        "rename head.img.tmp",
        "rename head.img.tmp",
        "openat head.img.tmp",
    ),
    "head_image.two_cold_serves.shared.whole_images": Said(
        "shared-temp",
        "write head.img.tmp",
        "rename head.img.tmp",
        "openat head.img.tmp",
    ),
    "names.evicted_file.exists.no_unexpected_errors": Said(
        "check-then-act", "unlink cache/a", "openat cache/a", "newfstatat cache/a"
    ),
    "names.lost_update.unlocked.every_increment_counts": Said(
        "lost-update", "rename counter.1002", "rename counter.1001", "openat counter"
    ),
    "names.stale_lock.lock_file.no_unexpected_errors": Said(
        "stale-lock", "symlink lock", "unlink lock", "readlink lock"
    ),
    "names.two_evictors.listed.no_unexpected_errors": Said(
        "check-then-act", "unlink cache/b", "unlink cache/b", "getdents64 cache"
    ),
    "overlay.two_jobs.faulty.source_untouched": Said(
        "write-through-link",
        "symlink config.json",
        "openat config.json",
        "unlink config.json",
    ),
    "overlay.two_jobs.faulty.whole_images": Said(
        "write-in-place", "openat config.json", "write config.json"
    ),
}
"""What is said of the examples that are kept, by the name of their files."""

TEMP = "head.img.tmp.1001"
FOUND = {
    ("names/gap_by_open/unlink", "no_unexpected_errors"): {
        Said("unlink-create-gap", "unlink file", "openat file")
    },
    ("names/gap_by_exists/unlink", "served"): {
        Said("unlink-create-gap", "unlink file", "newfstatat file")
    },
    ("names/claimed_file/exists", "no_unexpected_errors"): {
        Said("check-then-act", "openat file", "openat file", "newfstatat file")
    },
    ("names/made_folder/isdir", "no_unexpected_errors"): {
        Said("check-then-act", "mkdir folder", "mkdir folder", "newfstatat folder")
    },
    ("names/fixed_temp/fixed", "no_unexpected_errors"): {
        Said("shared-temp", "unlink file.tmp", "rename file.tmp", "openat file.tmp"),
        Said("shared-temp", "openat file.tmp", "openat file.tmp"),
    },
    ("eviction/replaced_victim/by_name-pid", "evicted_as_chosen"): {
        Said(
            "eviction-by-name",
            f"rename {TEMP}",
            "unlink head.img",
            "newfstatat head.img",
        )
    },
    ("eviction/live_temp/by_name-pid", "no_lost_writes"): {
        Said("live-temp-removed", f"unlink {TEMP}", f"rename {TEMP}", f"openat {TEMP}")
    },
    ("eviction/live_temp/by_name-pid", "no_live_temp_evicted"): {
        Said("live-temp-removed", f"unlink {TEMP}", f"rename {TEMP}", f"openat {TEMP}")
    },
    ("head_image/reading/two_opens-pid", "served"): {
        Said("torn-read", f"rename {TEMP}", "openat head.img", "openat head.img")
    },
    ("head_image/same_pid/pid", "whole_images"): {
        Said("wrong-pid", f"openat {TEMP}", f"rename {TEMP}", f"openat {TEMP}"),
        Said("wrong-pid", f"write {TEMP}", f"rename {TEMP}", f"openat {TEMP}"),
    },
    ("head_image/stale_temp/link-pid", "source_untouched"): {
        Said("write-through-link", f"openat {TEMP}", f"write {TEMP}")
    },
    ("head_image/killed_without_trace/pid", "temp_files_bounded"): {
        Said("missing-clean-up", f"openat {TEMP}", "crash"),
        Said("missing-clean-up", "openat head.img.tmp.1002", "crash"),
    },
    ("head_image/failing_calls/never_removed", "clean_failure"): {
        Said("missing-clean-up", f"openat {TEMP}", f"{call} {TEMP}")
        for call in ("rename", "write", "close")
    }
    | {
        Said("missing-clean-up", "openat head.img.tmp.1002", f"{call} {name}")
        for call, name in (
            ("rename", "head.img.tmp.1002"),
            ("write", "head.img.tmp.1002"),
            ("close", "head.img.tmp.1002"),
        )
    },
    ("head_image/two_threads/pid", "whole_images"): {
        Said("wrong-pid", f"{call} {TEMP}", f"rename {TEMP}", f"openat {TEMP}")
        for call in ("openat", "write")
    },
    ("eviction/replaced_victim/aside-pid", "never_missing"): {
        Said("unlink-create-gap", "rename head.img", "link cache/.evict.1002")
    },
    ("head_image/three_cold_serves/flock_removed", "no_lost_writes"): {
        Said("lock-file-removed", "unlink head.img.lock", "flock head.img.lock")
    },
}
"""What may be said of what an exploration finds; it may find one of several."""

SHARED = "head_image.two_cold_serves.shared.no_lost_writes"

TWINS = (
    "ensure_symlink/absent/eexist",
    "eviction/live_temp/skip_temps-pid",
    "head_image/failing_calls/mkstemp",
    "head_image/reading/one_open-pid",
    "head_image/same_pid/mkstemp",
    "head_image/stale_temp/link-mkstemp",
    "head_image/three_cold_serves/flock",
    "head_image/two_cold_serves/mkstemp",
    "names/claimed_file/exclusive",
    "names/fixed_temp/own",
    "names/gap_by_open/replace",
    "names/lost_update/locked",
    "names/made_folder/mkdir",
    "names/stale_lock/flock",
)
"""Subjects without any of these races, also where they are said to break something."""


@pytest.mark.parametrize("name", KEPT)
def test_the_kept_examples_are_told_by_their_steps(name: str) -> None:
    finding = read_trace(EXAMPLES / f"{name}.trace").finding

    assert said(blank(finding.trace), finding.invariant) == KEPT[name]
    assert said(finding.trace, finding.invariant) == KEPT[name]


def test_every_kept_example_has_its_expectation() -> None:
    assert {path.stem for path in EXAMPLES.glob("*.trace")} == KEPT.keys()


@pytest.mark.parametrize("name", KEPT)
def test_both_steps_have_their_lines(name: str) -> None:
    finding = read_trace(EXAMPLES / f"{name}.trace").finding

    story = tell(finding.trace, finding.invariant, finding.message)

    assert story.first is not None
    assert story.second is not None
    for act in (story.first, story.second):
        assert act.place is not None
        assert act.place.frame is not None
        assert not act.place.frame.library


@pytest.mark.processes
@pytest.mark.parametrize("name", sorted({name for name, _ in FOUND}))
def test_what_is_found_is_told_by_its_steps(name: str) -> None:
    findings = {each.invariant: each.trace for each in explored(name).findings}

    for (scenario, invariant), expected in FOUND.items():
        if scenario == name:
            assert said(blank(findings[invariant]), invariant) in expected


def test_each_kind_has_its_expectation() -> None:
    told = {each.pattern for each in KEPT.values()}
    told |= {each.pattern for several in FOUND.values() for each in several}

    assert told == {kind.pattern for kind in Known}


@pytest.mark.processes
@pytest.mark.parametrize("name", TWINS)
def test_nothing_is_invented_where_there_is_no_such_race(name: str) -> None:
    traces = sampled(name, 6)

    assert {trace.verdict for trace in traces} == {Verdict.PASSED}
    for trace in traces:
        accused = list(violated(blank(trace)))
        assert accused
        for each in accused:
            found = diagnose(each, "artificial")
            assert found is None, found


def test_an_accusation_is_not_enough_to_be_passed_over() -> None:
    # What the test above does to fixed twins finds the race where there is one.
    trace = read_trace(EXAMPLES / f"{SHARED}.trace").finding.trace

    kinds = {
        found.pattern
        for each in violated(blank(trace))
        if (found := diagnose(each, "artificial")) is not None
    }

    assert kinds == {"shared-temp"}


def test_recipes_name_repaired_scenarios() -> None:
    text = (ROOT / "docs" / "recipes.md").read_text("utf-8")
    sections = dict(
        re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    )
    anchors = {
        title.lower().replace(" ", "-"): body for title, body in sections.items()
    }

    assert anchors.keys() == {kind.pattern for kind in Known}
    for body in anchors.values():
        names = re.findall(r"`(\w+(?:/[\w-]+){2,})`", body)
        assert names
        assert [name for name in names if SCENARIOS[name].expect] == []


def said(trace: Trace, invariant: str) -> Said | None:
    found = diagnose(trace, invariant)
    if found is None:
        return None
    first, second = shown(trace, found.first), shown(trace, found.second)
    relied = None if found.relied is None else shown(trace, found.relied)
    return Said(found.pattern, first, second, relied)


def shown(trace: Trace, index: int) -> str:
    step = trace.steps[index]
    names = (path_of(step, each) for each in ("oldpath", "path", "file"))
    path = next(filter(None, names), "")
    # Folders are left out where they are long, or those of one scenario alone.
    short = path if path.count("/") < 2 and len(path) < 20 else path.rpartition("/")[2]
    short = short.removeprefix("cache/") if short.endswith(("img", "1001")) else short
    return f"{usual(step.call)} {short}".strip()


def blank(trace: Trace) -> Trace:
    """Return an execution in which the scenario has no name and actors are letters."""
    letters = {each.name: chr(ord("A") + n) for n, each in enumerate(trace.actors)}

    def renamed(value: object) -> object:
        if isinstance(value, dict):
            return {renamed(key): renamed(each) for key, each in value.items()}
        if isinstance(value, (list, tuple)):
            return [renamed(each) for each in value]
        if isinstance(value, str):
            name, mark, rest = value.partition("#")
            return f"{letters.get(name, name)}{mark}{rest}"
        return value

    plain = msgspec.to_builtins(trace, builtin_types=(bytes,))
    plain["scenario"] = ""
    found = msgspec.convert(renamed(plain), Trace, builtin_types=(bytes,))
    assert {step.actor for step in found.steps} <= set(letters.values())
    return found


def violated(trace: Trace) -> Iterable[Trace]:
    """Yield an execution with each step accused of having broken something."""
    for step in trace.steps:
        yield msgspec.structs.replace(
            trace,
            verdict=Verdict.VIOLATED,
            violations=(Violation("artificial", "it is said", step.index, step.actor),),
        )


def explored(name: str) -> ScenarioResult:
    scenario = SCENARIOS[name]

    def body() -> ScenarioResult:
        with Machine() as machine:
            return explore(
                Runner(machine, scenario),
                seed=1,
                budget=Budget(executions=300),
                scheduler_name="dpor",
                on_progress=lambda _: None,
            )

    return in_child(body)


def sampled(name: str, count: int) -> list[Trace]:
    scenario: Scenario = SCENARIOS[name]

    def body() -> list[Trace]:
        sampling = RandomFaultsScheduler(mixed_scheduler(1))
        planned = PlannedFaultsScheduler(sampling, scenario.faults)
        found = []
        with Machine() as machine:
            runner = Runner(machine, scenario)
            for _ in range(count):
                seed = planned.start_execution()
                assert seed is not None
                trace = runner.run(planned, seed, reuse=True)
                assert trace is not None
                found.append(trace)
        return found

    return in_child(body)
