"""Guards the simulated engine: other machines' rules, and what is no pass under it."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from racecheck.api import Options, explore
from racecheck.errors import EngineError, RacecheckError
from racecheck.invariants import (
    never_missing,
    no_leaked_descriptors,
    no_lost_writes,
    temp_files_bounded,
    whole_images,
)
from racecheck.model import Coverage, Kind, Simulation, Verdict
from racecheck.report import summary
from racecheck.scenario import (
    Budget,
    Scenario,
    command,
    crashes,
    errno,
    short_write,
    simulated,
    stall,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from racecheck.model import Finding, ScenarioResult

pytestmark = pytest.mark.processes

WINDOWS = simulated("windows")


def shared_temp(path: Path) -> Path:
    return path.with_suffix(".tmp")


def own_temp(path: Path) -> Path:
    return path.with_suffix(f".{os.getpid()}")


def publisher(
    temp_of: Callable[[Path], Path],
    engine: str | Simulation = "simulated",
    publish: Callable[[Path, Path], object] = Path.replace,
    writers: int = 2,
    **options: object,
) -> Scenario:
    """Return a scenario of processes that publish one file."""
    made = Scenario(
        "publish",
        invariants=[
            no_lost_writes(),
            whole_images("image", lambda data: data == b"whole"),
            temp_files_bounded("image.*"),
        ],
        engine=engine,
        **options,  # type: ignore[arg-type]  # passed on
    )

    @made.writer(count=writers)
    def save(box: Path) -> None:
        temp = temp_of(box / "image")
        temp.write_bytes(b"whole")
        publish(temp, box / "image")

    return made


def simulate(
    scenario: Scenario, budget: int = 500, **options: object
) -> ScenarioResult:
    asked = Options(
        budget=Budget(executions=budget),
        **options,  # type: ignore[arg-type]  # passed on
    )
    return explore(scenario, asked)


def found(result: ScenarioResult) -> dict[str, Finding]:
    assert all(each.confirmed for each in result.findings)
    return {each.invariant: each for each in result.findings}


def broken_step(finding: Finding) -> str:
    """Return the call after which an invariant was broken, and whose it was."""
    (index,) = (
        each.step
        for each in finding.trace.violations
        if each.invariant == finding.invariant
    )
    assert index is not None
    trace = finding.trace
    step = trace.steps[index]
    before = [each for each in trace.steps[:index] if each.actor == step.actor]
    return str(before[-1] if step.kind is Kind.RETURN else step)


# --- the same as everywhere -----------------------------------------------------------


def test_a_shared_temp_name_loses_a_write_as_it_does_on_linux() -> None:
    expected = {"no_lost_writes", "no_unexpected_errors", "whole_images"}
    result = simulate(publisher(shared_temp, expect=expected))

    broken = found(result)
    assert broken.keys() == expected
    assert broken_step(broken["no_lost_writes"]) == "rename(image.tmp, image) = ENOENT"
    assert broken_step(broken["whole_images"]) == "rename(image.tmp, image) = 0"


def test_names_of_their_own_pass_and_the_answer_says_that_it_is_a_simulation() -> None:
    result = simulate(publisher(own_temp))

    assert result.verdict is Verdict.PASSED, result.reason
    assert result.engine == "simulated"
    assert result.coverage is Coverage.COMPLETE
    assert result.assumptions[0].startswith("this is a simulation of linux")
    assert "(simulated linux, complete, " in summary(result)


# --- Windows --------------------------------------------------------------------------


def test_windows_refuses_to_replace_a_file_that_somebody_reads() -> None:
    made = publisher(own_temp, WINDOWS, writers=1)

    @made.setup
    def published(box: Path) -> None:
        (box / "image").write_bytes(b"whole")

    @made.reader
    def load(box: Path) -> bytes:
        return (box / "image").read_bytes()

    result = simulate(made)

    lost = found(result)["no_lost_writes"]
    assert broken_step(lost).startswith("replace(image.")
    assert broken_step(lost).endswith("image) = EACCES")
    assert "simulation of windows" in result.assumptions[0]
    assert "PermissionError" in lost.message


def test_a_reader_is_no_hindrance_elsewhere() -> None:
    for machine in (simulated("linux"), simulated("macos")):
        made = publisher(own_temp, machine, writers=1)

        @made.reader(raises=FileNotFoundError)
        def load(box: Path) -> bytes:
            return (box / "image").read_bytes()

        assert simulate(made).verdict is Verdict.PASSED


def test_a_rename_replaces_nothing_on_windows() -> None:
    result = simulate(publisher(own_temp, WINDOWS, Path.rename))

    lost = found(result)["no_lost_writes"]
    assert broken_step(lost).endswith("image) = EEXIST")


def remove_and_rename(temp: Path, path: Path) -> None:
    path.unlink(missing_ok=True)
    temp.rename(path)


def test_to_remove_and_rename_leaves_a_gap() -> None:
    made = publisher(own_temp, WINDOWS, remove_and_rename)
    made.invariants = (*made.invariants, never_missing("image"))

    broken = found(simulate(made))

    assert broken_step(broken["never_missing"]) == "unlink(image) = 0"


def branch(path: Path) -> Path:
    return shared_temp(path) if os.name == "nt" else own_temp(path)


def branch_by_platform(path: Path) -> Path:
    return shared_temp(path) if sys.platform == "win32" else own_temp(path)


@pytest.mark.parametrize("temp", [branch, branch_by_platform])
def test_a_subject_takes_its_branch_for_windows(
    temp: Callable[[Path], Path],
) -> None:
    there = found(simulate(publisher(temp, WINDOWS)))
    here = simulate(publisher(temp))

    assert "image.tmp" in str(there["no_lost_writes"].trace.steps)
    assert here.verdict is Verdict.PASSED, here.reason


# --- macOS, mounts, disks -------------------------------------------------------------


def test_names_that_differ_in_case_are_one_on_macos() -> None:
    def by_case(engine: Simulation) -> ScenarioResult:
        made = Scenario("case", invariants=[no_lost_writes()], engine=engine)

        @made.writer(count=2)
        def claim(box: Path, me: object) -> None:
            name = "Lock" if str(me).count("claim-1") else "lock"
            os.close(os.open(box / name, os.O_CREAT | os.O_EXCL | os.O_WRONLY))

        return simulate(made)

    macos, linux = by_case(simulated("macos")), by_case(simulated("linux"))

    lost = found(macos)["no_lost_writes"]
    assert broken_step(lost).endswith(") = EEXIST")
    assert linux.reason == "vacuous: no two actors touched the same thing"


def test_a_temp_on_another_mount_cannot_be_renamed() -> None:
    def elsewhere(path: Path) -> Path:
        return Path(tempfile.gettempdir()) / f"{path.name}.{os.getpid()}"

    mounted = simulate(publisher(elsewhere, simulated(mounts=["$TMPDIR"])))
    beside = simulate(publisher(own_temp, simulated(mounts=["$TMPDIR"])))

    lost = found(mounted)["no_lost_writes"]
    assert broken_step(lost).startswith("rename($TMPDIR/image.")
    assert broken_step(lost).endswith("image) = EXDEV")
    assert beside.verdict is Verdict.PASSED, beside.reason


def test_a_disk_that_is_too_small_is_full() -> None:
    full = simulate(publisher(own_temp, simulated(disk_nbytes=8)))
    large = simulate(publisher(own_temp, simulated(disk_nbytes=100)))

    lost = found(full)["no_lost_writes"]
    assert "No space left" in lost.message
    assert any(step.kind is Kind.WRITE and step.failed for step in lost.trace.steps)
    assert large.verdict is Verdict.PASSED, large.reason


# --- faults, time ---------------------------------------------------------------------


def test_faults_come_at_their_calls() -> None:
    full = simulate(publisher(own_temp, faults=[errno("ENOSPC", "save-1", on="write")]))
    torn = simulate(publisher(own_temp, faults=[short_write("save-1", 2)], writers=2))
    killed = simulate(publisher(own_temp, faults=[crashes(1)]))

    # A failed write leaves its file behind, and that is no fault of the machine's.
    assert found(full).keys() == {"temp_files_bounded"}
    assert torn.verdict is Verdict.PASSED, torn.reason
    assert killed.verdict is Verdict.PASSED, killed.reason
    assert killed.coverage is Coverage.COMPLETE


def test_time_is_virtual() -> None:
    made = Scenario("time", faults=[stall("late", 60, on="write")], engine="simulated")

    @made.writer
    def late(box: Path) -> None:
        (box / "file").write_text("42")

    @made.writer
    def sleeper(box: Path) -> float:
        began = time.monotonic()
        time.sleep(3600)
        (box / "file").write_text("43")
        return time.monotonic() - began

    began = time.monotonic()
    result = simulate(made, budget=5)

    assert result.verdict is Verdict.PASSED, result.reason
    assert result.coverage is not Coverage.COMPLETE
    assert time.monotonic() - began < 600


def test_a_killed_actor_writes_nothing_of_what_it_had_in_buffers() -> None:
    made = Scenario(
        "buffers",
        invariants=[whole_images("file", lambda data: data == b"")],
        faults=[crashes(1, actor="save")],
        engine="simulated",
    )

    @made.writer
    def save(box: Path) -> None:
        with (box / "file").open("w") as stream:
            stream.write("in a buffer")
            (box / "other").touch()
            stream.flush()

    @made.reader(raises=FileNotFoundError)
    def load(box: Path) -> str:
        return (box / "file").read_text()

    result = simulate(made)

    # Without a crash the flush breaks it; with one before that, nothing does.
    whole = found(result)["whole_images"]
    assert broken_step(whole) == "write(3, 11 B) = 11"


# --- what is no pass ------------------------------------------------------------------


def no_pass(function: Callable[..., object]) -> str:
    """Return why a scenario in which an actor does this has no verdict."""
    made = Scenario("limits", engine="simulated")
    made.actor(function, name="one", raises=BaseException)

    @made.actor
    def other(box: Path) -> None:
        (box / "file").touch()

    result = simulate(made, budget=2)
    assert result.verdict is Verdict.UNKNOWN, result
    return result.reason


counted: list[int] = []


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (lambda: os.copy_file_range(3, 4, 5), "os.copy_file_range is not simulated"),
        (lambda: os.fork(), "os.fork is not simulated"),  # noqa: PLW0108  what is called
        (
            lambda: subprocess.run(["true"], check=True),
            "subprocess.Popen on the real machine",
        ),
        (lambda: threading.Thread(target=print).start(), "threads of an actor"),
        (lambda: counted.append(len(counted)), "the subject has changed"),
    ],
)
def test_what_is_not_simulated_is_no_pass(
    function: Callable[..., object], reason: str
) -> None:
    assert reason in no_pass(function)


def test_programs_are_no_pass() -> None:
    made = Scenario("program", engine="simulated")
    made.actor(command(["true"]), name="one")

    with pytest.raises(EngineError, match="programs cannot be simulated"):
        simulate(made)


def test_another_engine_is_not_the_machine_that_is_meant() -> None:
    with pytest.raises(RacecheckError, match="about a simulated windows"):
        simulate(publisher(own_temp, WINDOWS), engine="process")


def test_real_files_are_never_changed(tmp_path: Path) -> None:
    real = tmp_path / "real"
    real.write_text("kept")
    name = str(real)

    reason = no_pass(lambda: _unlink(name))

    assert "os.remove on the real machine" in reason
    assert real.read_text() == "kept"


def _unlink(name: str) -> None:
    import posix  # noqa: PLC0415  a way round `os`

    posix.unlink(name)


def test_a_descriptor_left_open_is_found() -> None:
    made = Scenario("open", invariants=[no_leaked_descriptors()], engine="simulated")

    @made.writer(count=2)
    def keep(box: Path) -> None:
        os.open(box / "file", os.O_WRONLY | os.O_CREAT)

    assert "no_leaked_descriptors" in found(simulate(made))
