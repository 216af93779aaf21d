"""Guards that `racecheck doctor` says what a machine allows, and what it does not."""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from racecheck.doctor import State, kernel, places
from tests.engine.circumstances import (
    NOBODY,
    ROOT,
    become_nobody,
    python_of_nobody,
    refuse,
)

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.processes


def doctor(
    folder: Path,
    *options: str,
    prepare: Callable[[], object] | None = None,
    python: str = sys.executable,
    path: str = str(ROOT),
) -> tuple[int, dict[str, Any], str]:
    """Run it; return its status, what it found by name, and what it printed."""
    target = folder / "found.json"
    done = subprocess.run(
        [python, "-m", "racecheck", "doctor", "--json", target, *options],
        env={"PATH": os.environ["PATH"], "PYTHONPATH": path},
        cwd=folder,
        preexec_fn=prepare,
        capture_output=True,
        text=True,
        check=False,
    )
    assert not done.stderr
    checks = json.loads(target.read_text())["checks"]
    assert all(each["found"] in done.stdout for each in checks)
    assert all(each["advice"] in done.stdout for each in checks)
    return done.returncode, {each["name"]: each for each in checks}, done.stdout


def test_all_that_is_needed_works_here(tmp_path: Path) -> None:
    status, found, _ = doctor(tmp_path)

    assert status == 0
    for name in ("system", "tracing", "sandbox", "process engine", "stress engine"):
        assert found[name]["state"] == "fine", found[name]


def test_a_profile_that_refuses_ptrace_is_named_with_the_way_out(
    tmp_path: Path,
) -> None:
    status, found, text = doctor(tmp_path, prepare=refuse("ptrace"))

    assert status == 4
    assert found["tracing"]["state"] == "refused"
    assert "seccomp profile" in found["tracing"]["advice"]
    assert "--cap-add=SYS_PTRACE" in text
    assert found["process engine"]["state"] == "refused"
    # The others do without.
    assert found["stress engine"]["state"] == "fine"


def test_fixed_addresses_that_are_refused_cost_the_replay_of_some_programs(
    tmp_path: Path,
) -> None:
    status, found, _ = doctor(tmp_path, prepare=refuse("personality"))

    assert status == 0
    assert found["addresses"]["state"] == "limited"
    assert "may not replay" in found["addresses"]["advice"]
    assert found["process engine"]["state"] == "fine"


def test_without_landlock_the_tracer_alone_keeps_actors_in(tmp_path: Path) -> None:
    status, found, _ = doctor(tmp_path, prepare=refuse("landlock_create_ruleset"))

    assert status == 0
    assert found["confinement"]["state"] == "limited"
    assert found["process engine"]["state"] == "fine"


@pytest.mark.root
def test_without_shared_memory_boxes_are_made_elsewhere(tmp_path: Path) -> None:
    unshare = shutil.which("unshare")
    if os.getuid() != 0 or unshare is None:
        pytest.skip("only root can take /dev/shm away, with unshare(1)")
    hidden = f"mount -t tmpfs -o ro none /dev/shm && exec {sys.executable} -m racecheck"
    done = subprocess.run(
        [unshare, "--mount", "sh", "-c", f"{hidden} doctor"],
        env={**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(tmp_path)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    if "mount" in done.stderr:
        pytest.skip(f"no file system can be mounted here: {done.stderr.strip()}")

    assert done.returncode == 0, done.stderr
    (line,) = (each for each in done.stdout.splitlines() if "sandbox  " in each)
    assert line.startswith("limited")
    assert str(tmp_path) in line
    assert "/dev/shm cannot be used" in done.stdout


@pytest.mark.root
def test_another_user_can_run_all_of_it(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    if os.getuid() != 0:
        pytest.skip("only root can become another user")
    found_python = python_of_nobody()
    if found_python is None:
        pytest.skip("no interpreter that another user could run")
    python, path = found_python
    folder = Path("/tmp") / tmp_path_factory.mktemp("other").name
    folder.mkdir()
    try:
        os.chown(folder, NOBODY, NOBODY)
        status, found, _ = doctor(
            folder, prepare=become_nobody, python=python, path=path
        )
    finally:
        shutil.rmtree(folder)

    assert status == 0
    assert found["process engine"]["state"] == "fine"


@pytest.mark.parametrize(
    ("scope", "advice"),
    [("1", "ptrace_scope is 1, which does no harm"), ("0", "")],
)
def test_a_scope_that_does_no_harm_is_told_all_the_same(
    scope: str, advice: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = kernel._text
    monkeypatch.setattr(
        kernel, "_text", lambda path: scope if "yama" in path else real(path)
    )

    found = kernel.tracing()

    assert found.state is State.FINE
    assert advice in found.advice


@pytest.mark.parametrize("scope", ["2", "3"])
def test_a_scope_that_forbids_tracing_is_named(
    scope: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Yama is not in every kernel, so both of its answers are stubs.
    def seize(_: int) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr("racecheck.kernel.ptrace.seize", seize)
    monkeypatch.setattr(
        "racecheck.kernel.probe._text",
        lambda path: scope if "yama" in path else "",
    )

    found = kernel.tracing()

    assert found.state is State.REFUSED
    assert found.needed
    assert f"ptrace_scope is {scope}" in found.advice


def test_a_folder_without_rights_is_refused_with_its_name(tmp_path: Path) -> None:
    found = places.sandbox(tmp_path / "missing")

    assert found.state is State.REFUSED
    assert "missing" in found.found
    assert "--workdir" in found.advice


def test_the_file_system_of_a_folder_is_named() -> None:
    assert places.file_system(Path("/proc/self")) == "proc"


def test_an_engine_that_cannot_run_for_want_of_descriptors_is_refused(
    tmp_path: Path,
) -> None:
    def leave_few() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (12, 12))

    status, found, _ = doctor(tmp_path, prepare=leave_few)

    assert status == 4
    assert found["process engine"]["state"] == "refused"
    assert "Too many open files" in found["process engine"]["advice"]
