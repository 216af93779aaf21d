"""Guards what comes of too little: room, descriptors, memory, for actors and for all.

A program that is refused what it asks for gets the kernel's error and answers for what
it makes of it. Where racecheck itself has too little, that is what its answer says, of
the scenarios that need more, and the others are answered.
"""

from __future__ import annotations

import errno
import json
import os
import resource
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from racecheck.model import Verdict
from racecheck.scenario import Scenario
from tests.engine.lab import Seen, run

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.processes

ROOT = Path(__file__).parents[2]
MEGABYTE = 1 << 20


def beside(act: Callable[[Path], object], *raises: type[Exception]) -> Seen:
    """Run an actor beside another one, who is to be as always."""
    made = Scenario("shortage")
    made.actor(act, name="one", raises=raises)

    @made.actor
    def two(box: Path) -> str:
        (box / "other").write_text("as always")
        return "as always"

    seen = run(made)
    assert seen.trace.uncontrolled == ()
    assert seen.operation("two").value == "as always"
    return seen


def ended_with(act: Callable[[Path], object], error: type[Exception]) -> Seen:
    """Check that an actor fails with an error, and passes where that is declared."""
    assert beside(act).trace.verdict is Verdict.VIOLATED
    seen = beside(act, error)
    assert seen.trace.verdict is Verdict.PASSED, seen.trace.reason
    return seen


def test_an_actor_without_descriptors_gets_the_error() -> None:
    def act(box: Path) -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (40, 40))
        while True:
            os.open(box / "file", os.O_CREAT | os.O_RDWR)

    seen = ended_with(act, OSError)

    opens = seen.of("one", "open")
    assert opens[-1].result == -errno.EMFILE
    assert [step.result for step in opens[:-1]] == list(range(3, 40))


def test_an_actor_without_memory_gets_the_error() -> None:
    def act(box: Path) -> None:
        (box / "file").touch()
        resource.setrlimit(resource.RLIMIT_AS, (300 * MEGABYTE, 300 * MEGABYTE))
        kept = []
        while True:
            kept.append(bytes(50 * MEGABYTE))

    ended_with(act, MemoryError)


def test_an_actor_that_dies_of_its_stack_is_told_of() -> None:
    def one(box: Path) -> None:
        (box / "file").touch()
        # So little that it comes before any limit of Python's own.
        resource.setrlimit(resource.RLIMIT_STACK, (MEGABYTE // 4, MEGABYTE // 4))
        sys.setrecursionlimit(1 << 30)

        def deeper(number: int) -> int:
            # Through C, so that the stack of the processor is what is used.
            return max([number], key=lambda each: deeper(each + 1))

        deeper(0)

    made = Scenario("shortage")
    made.actor(one)

    seen = run(made)

    assert seen.trace.verdict is Verdict.VIOLATED
    assert seen.trace.ends[0].status < 0


# --- racecheck itself -----------------------------------------------------------------

SCENARIOS = '''
"""Scenarios that need little and much."""

import os

from racecheck.scenario import Scenario


def made(name, **options):
    scenario = Scenario(name, budget=2, **options)

    @scenario.writer(count=2)
    def touch(box):
        (box / "file").touch()

    return scenario


first = made("first")
many = made("many")


@many.writer(count=40)
def more(box):
    (box / "file").touch()


much = made("much")


@much.setup
def fill(box):
    (box / "much").write_bytes(bytes(5_000_000))


greedy = made("greedy")


@greedy.writer(raises=OSError)
def greed(box):
    with (box / "all").open("wb", buffering=0) as file:
        while True:
            file.write(bytes(500_000))


last = made("last")
'''


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A file of scenarios."""
    path = tmp_path / "scenario_shortage.py"
    path.write_text(SCENARIOS)
    return path


def racecheck(
    file: Path, *names: str, before: str = "true", wrapper: tuple[str, ...] = ()
) -> dict[str, Any]:
    """Run scenarios from a shell that has done something before; return results.

    Args:
        file: Where the scenarios are.
        names: Their names.
        before: What the shell does first; `$WORKDIR` is where the boxes will lie.
        wrapper: What the shell is started by.
    """
    workdir = file.parent / "workdir"
    workdir.mkdir()
    answer = file.parent / "answer.json"
    script = f'{before} && "$@" --workdir "$WORKDIR"; ls -A "$WORKDIR" >&2'
    run = (sys.executable, "-m", "racecheck", "run", str(file), *names)
    done = subprocess.run(
        [*wrapper, "sh", "-c", script, "sh", *run, "--json", str(answer)],
        env={
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(ROOT),
            "WORKDIR": str(workdir),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Traceback" not in done.stderr
    # Nothing is left, whatever there was too little of.
    assert not done.stderr.splitlines()[-1].startswith("racecheck-"), done.stderr
    found = json.loads(answer.read_text())["scenarios"]
    if not found:
        return {"error": done.stderr}
    return {each["name"]: (each["verdict"], each["reason"]) for each in found}


def test_too_few_descriptors_for_many_actors_are_enough_for_others(file: Path) -> None:
    found = racecheck(file, "first", "many", "last", before="ulimit -n 30")

    assert found.pop("many") == (
        "unknown",
        "cannot get 42 actors ready: Too many open files",
    )
    assert found == {"first": ("passed", ""), "last": ("passed", "")}


def mounting(options: str) -> dict[str, Any]:
    """Return how to have a small file system at hand, in a namespace of its own."""
    unshare = shutil.which("unshare")
    mount = f"mount -t tmpfs -o {options} none"
    if unshare is None or os.getuid() != 0:
        pytest.skip("only root can mount a small file system")
    wrapper = (unshare, "--mount")
    tried = subprocess.run(
        [*wrapper, "sh", "-c", f"{mount} /mnt"], capture_output=True, check=False
    )
    if tried.returncode:
        pytest.skip("no file system can be mounted here")
    return {"wrapper": wrapper, "before": f'{mount} "$WORKDIR"'}


@pytest.mark.root
def test_who_finds_the_disk_full_is_told_and_others_are_not(file: Path) -> None:
    found = racecheck(
        file, "first", "much", "greedy", "last", **mounting("size=3m,mode=700")
    )

    assert found.pop("much") == (
        "unknown",
        "much: setup raised OSError: [Errno 28] No space left on device",
    )
    assert set(found.values()) == {("passed", "")}
    assert set(found) == {"first", "greedy", "last"}


@pytest.mark.root
def test_a_disk_without_room_for_a_sandbox_is_told_in_one_line(file: Path) -> None:
    found = racecheck(file, "first", **mounting("nr_inodes=5"))

    assert "cannot make a sandbox in" in found["error"]
    assert "No space left on device" in found["error"]
