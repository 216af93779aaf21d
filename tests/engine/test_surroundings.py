"""Guards that racecheck runs where it has little, and says so where it cannot run."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.engine.circumstances import (
    NOBODY,
    become_nobody,
    python_of_nobody,
    refuse,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = pytest.mark.processes

HARNESS = Path(__file__).with_name("harness.py")
ROOT = Path(__file__).parents[2]
HEAD_IMAGE = ROOT / "scenarios" / "head_image" / "scenario.py"
RACE = "head_image/two_cold_serves/shared"


def explore(
    workdir: Path,
    *,
    python: str = sys.executable,
    path: str = str(ROOT),
    prepare: Callable[[], object] | None = None,
    file: Path = HEAD_IMAGE,
) -> dict[str, Any]:
    """Explore the head image's race in a process of its own; return what came of it."""
    done = subprocess.run(
        [python, HARNESS, "explore", file, RACE, "300", workdir],
        env={"PATH": os.environ["PATH"], "PYTHONPATH": path},
        cwd=workdir,
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=prepare,
    )
    assert done.returncode == 0, done.stderr
    assert list(workdir.iterdir()) == []
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def check_race(answer: dict[str, Any]) -> None:
    assert answer.get("verdict") == "violated", answer
    assert {"no_lost_writes", "no_silent_loss"} <= answer["tokens"].keys()


def close_input() -> None:
    os.close(0)


def few_descriptors() -> None:
    resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))


def no_core_and_little_stack() -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_STACK, (1 << 20, 1 << 20))


@pytest.mark.parametrize(
    "prepare", [close_input, few_descriptors, no_core_and_little_stack, os.setsid]
)
def test_the_race_is_found_with_little_at_hand(
    prepare: Callable[[], None], tmp_path: Path
) -> None:
    check_race(explore(tmp_path, prepare=prepare))


def test_the_race_is_found_with_no_standard_input_or_error(tmp_path: Path) -> None:
    def close() -> None:
        os.close(0)
        os.close(2)

    check_race(explore(tmp_path, prepare=close))


def test_the_race_is_found_on_one_processor(tmp_path: Path) -> None:
    one = min(os.sched_getaffinity(0))

    check_race(explore(tmp_path, prepare=lambda: os.sched_setaffinity(0, {one})))


# --- another user ---------------------------------------------------------------------


@pytest.fixture(scope="module")
def nobody() -> tuple[str, str]:
    """An interpreter for a user without any rights, and its path."""
    if os.getuid() != 0:
        pytest.skip("only root can become another user")
    found = python_of_nobody()
    if found is None:
        pytest.skip("no interpreter that another user could run")
    return found


@pytest.fixture
def of_nobody() -> Iterator[Path]:
    """A folder that another user can get to, and owns."""
    with tempfile.TemporaryDirectory() as name:
        os.chown(name, NOBODY, NOBODY)
        yield Path(name)


@pytest.mark.root
def test_another_user_finds_the_race(nobody: tuple[str, str], of_nobody: Path) -> None:
    python, path = nobody

    answer = explore(of_nobody, python=python, path=path, prepare=become_nobody)

    check_race(answer)


@pytest.mark.root
def test_another_user_finds_the_race_with_little_at_hand(
    nobody: tuple[str, str], of_nobody: Path
) -> None:
    python, path = nobody

    def prepare() -> None:
        become_nobody()
        few_descriptors()
        close_input()

    check_race(explore(of_nobody, python=python, path=path, prepare=prepare))


LOCKED = """
import os
from pathlib import Path

from racecheck.invariants import never_missing
from racecheck.scenario import Scenario

scenario = Scenario("head_image/two_cold_serves/shared")

@scenario.setup
def setup(box: Path) -> None:
    (box / "folder").mkdir()
    (box / "folder" / "file").touch()

@scenario.actor(count=2, raises=OSError)
def lock(box: Path) -> None:
    (box / "folder" / "file").chmod(0)
    (box / "folder").chmod(0)
    box.chmod(0)
"""


@pytest.mark.root
def test_what_an_actor_has_locked_away_is_made_again_and_removed(
    nobody: tuple[str, str], of_nobody: Path
) -> None:
    python, path = nobody
    file = of_nobody / "locked.py"
    file.write_text(LOCKED)
    work = of_nobody / "work"
    work.mkdir()
    os.chown(work, NOBODY, NOBODY)

    answer = explore(work, python=python, path=path, prepare=become_nobody, file=file)

    assert answer["verdict"] == "passed", answer
    assert answer["executions"] > 1


# --- where it cannot run --------------------------------------------------------------


def test_a_kernel_that_refuses_ptrace_is_told_in_one_line(tmp_path: Path) -> None:
    answer = explore(tmp_path, prepare=refuse("ptrace"))

    assert answer["error"] == "CannotRunError"
    assert answer["exit_code"] == 4
    assert answer["message"].startswith("ptrace is refused here (Operation not permit")
    assert "--cap-add=SYS_PTRACE" in answer["message"]
    assert "\n" not in answer["message"]


def test_a_kernel_that_refuses_ptrace_gives_exit_status_4(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "racecheck", "run", HEAD_IMAGE, "--workdir", tmp_path],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=refuse("ptrace"),
    )

    assert done.returncode == 4, done.stderr
    where, why = done.stderr.splitlines()
    assert where.startswith("boxes are made in ")
    assert "ptrace is refused here" in why
    assert list(tmp_path.iterdir()) == []


def test_no_address_space_layout_can_be_asked_for_and_it_runs_all_the_same(
    tmp_path: Path,
) -> None:
    # As Docker's default profile has it.
    check_race(explore(tmp_path, prepare=refuse("personality")))


def test_no_processor_can_be_asked_for_and_it_runs_all_the_same(
    tmp_path: Path,
) -> None:
    check_race(explore(tmp_path, prepare=refuse("sched_setaffinity")))
