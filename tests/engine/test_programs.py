"""Guards that programs of any language race as Python functions do.

Each is the head image's writer, once with a temp name that all writers share and once
with one of its own: the first race is found, and the second has none.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from racecheck.api import Options, explore
from racecheck.invariants import (
    no_lost_writes,
    no_silent_loss,
    temp_files_bounded,
    whole_images,
)
from racecheck.model import Kind, Verdict
from racecheck.scenario import Budget, Scenario, command, load
from scenarios.head_image.geometry import HEADER_NBYTES
from scenarios.head_image.image import validate
from scenarios.head_image.serves import IMAGE, SECTIONS
from scenarios.head_image.writers import write_pid

if TYPE_CHECKING:
    from racecheck.model import Finding, Invariant, ScenarioResult
    from racecheck.scenario import Command

pytestmark = pytest.mark.processes

SOURCE = Path(__file__).with_name("writer.c")
RACE = {"no_lost_writes", "no_silent_loss", "no_unexpected_errors", "whole_images"}
"""What a shared temp name breaks; a program that fails says so by its exit status."""


@pytest.fixture(scope="session", params=["dynamic", "static"])
def writer(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """The writer in C, compiled; also as a program that loads no library."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler")
    program = tmp_path_factory.mktemp("writer") / "writer"
    header = f"-DHEADER={HEADER_NBYTES}"
    options = ["-static"] if request.param == "static" else []
    made = subprocess.run(
        [compiler, *options, header, "-o", program, SOURCE], check=False
    )
    if made.returncode and options:
        pytest.skip("no static C library")
    assert made.returncode == 0
    return program


def rules() -> list[Invariant]:
    return [
        whole_images(IMAGE, validate),
        no_lost_writes(),
        no_silent_loss(IMAGE, validate),
        temp_files_bounded(f"{IMAGE}.tmp*"),
    ]


def writing(
    program: Command, expect: set[str], *, same_pid: bool = False, count: int = 2
) -> Scenario:
    """Return writers of the same image, who take it from a file."""
    made = Scenario(
        "programs/writers", invariants=rules(), same_pid=same_pid, expect=expect
    )

    @made.setup
    def setup(box: Path) -> None:
        (box / "payload").write_bytes(b"".join(SECTIONS))

    made.writer(program, name="serve", count=count)
    return made


def found(result: ScenarioResult) -> dict[str, Finding]:
    return {finding.invariant: finding for finding in result.findings}


def check_race(result: ScenarioResult) -> None:
    """Check that the race on the temp name is what was found."""
    assert result.verdict is Verdict.VIOLATED, result.reason
    assert {"no_lost_writes", "no_silent_loss"} <= found(result).keys() <= RACE
    for finding in result.findings:
        assert finding.confirmed
    # Two wrote to one name, which one of them renamed away from the other.
    lost = found(result)["no_lost_writes"].trace
    temps = {
        step.actor: step.args["path"]
        for step in lost.steps
        if step.kind is Kind.OPEN and "tmp" in str(step.args["path"])
    }
    assert len(temps) == 2
    assert len(set(temps.values())) == 1


def budget(executions: int) -> Options:
    return Options(budget=Budget(executions=executions))


@pytest.mark.compiler
def test_a_c_program_with_a_shared_temp_name_races(writer: Path) -> None:
    program = command([str(writer), "shared", "{box}/payload", "{box}/head.img"])

    check_race(explore(writing(program, RACE), budget(100)))


@pytest.mark.compiler
def test_a_c_program_with_its_process_id_in_the_name_does_not_race(
    writer: Path,
) -> None:
    program = command([str(writer), "pid", "{box}/payload", "{box}/head.img"])
    result = explore(writing(program, set()), budget(60))

    assert result.verdict is Verdict.PASSED, result.reason
    assert result.findings == ()


@pytest.mark.compiler
def test_c_programs_that_share_a_process_id_race(writer: Path) -> None:
    program = command([str(writer), "pid", "{box}/payload", "{box}/head.img"])

    check_race(explore(writing(program, RACE, same_pid=True), budget(100)))


TEXT = "begin of the image, end of it"


def whole(data: bytes) -> str | None:
    return None if data == TEXT.encode() else f"{len(data)} B"


def shells(temp: str, expect: set[str]) -> Scenario:
    """Return shells that write the same file, each in one process."""
    begin, end = TEXT.split(",")
    script = (
        f"{{ printf '{begin},' && printf '{end}'; }} > {temp} && exec mv {temp} final"
    )
    made = Scenario(
        "programs/shells",
        invariants=[
            whole_images("final", whole),
            no_lost_writes(),
            no_silent_loss("final", whole),
            temp_files_bounded("final.tmp*"),
        ],
        expect=expect,
    )
    made.writer(command(["sh", "-c", script]), name="serve", count=2)
    return made


def test_a_shell_with_a_shared_temp_name_races() -> None:
    check_race(explore(shells("final.tmp", RACE), budget(100)))


def test_a_shell_with_its_process_id_in_the_name_does_not_race() -> None:
    result = explore(shells("final.tmp.$$", set()), budget(40))

    assert result.verdict is Verdict.PASSED, result.reason
    assert result.findings == ()


def test_python_writers_that_share_a_process_id_race() -> None:
    made = Scenario(
        "programs/same_pid",
        invariants=rules(),
        same_pid=True,
        expect=RACE - {"no_unexpected_errors"},
    )

    @made.writer(count=2, succeeds=bool)
    def serve(box: Path) -> bool:
        return write_pid(box / IMAGE, SECTIONS)

    check_race(explore(made, budget(100)))


def test_a_c_program_and_python_race_with_each_other(writer: Path) -> None:
    program = command([str(writer), "shared", "{box}/payload", "{box}/head.img"])
    made = writing(program, RACE, count=1)

    @made.writer(succeeds=bool)
    def serve_too(box: Path) -> bool:
        from scenarios.head_image.writers import write_shared  # noqa: PLC0415  actor's

        return write_shared(box / IMAGE, SECTIONS)

    check_race(explore(made, budget(100)))


def test_the_shipped_scenario_of_a_shared_process_id_does_what_it_says() -> None:
    file = Path(__file__).parents[2] / "scenarios" / "head_image" / "scenario.py"
    by_name = {each.name: each.scenario for each in load([file])}

    result = explore(by_name["head_image/same_pid/pid"])

    assert result.as_expected, result
