"""Guards what the project promises of itself: its layers, and a set-up that explains.

That subjects import nothing of racecheck is a contract over a list of modules. The list
is kept complete here, so that a module left out of it cannot slip through.
"""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]


def project() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def imported_modules(source: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(source.read_bytes())):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
    return names


def imported_packages(source: Path) -> set[str]:
    return {name.partition(".")[0] for name in imported_modules(source)}


def module_name(source: Path) -> str:
    parts = source.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def test_imports_point_down() -> None:
    program = shutil.which("lint-imports", path=str(Path(sys.executable).parent))
    if program is None:
        pytest.skip("import-linter is not installed (it comes with the extra 'dev')")

    outcome = subprocess.run(
        [program, "--no-cache", "--no-logo"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )

    assert outcome.returncode == 0, outcome.stdout + outcome.stderr


def test_every_module_of_scenarios_is_a_scenario_or_a_listed_subject() -> None:
    contracts = project()["tool"]["importlinter"]["contracts"]
    (subjects,) = (one for one in contracts if one["id"] == "subjects")
    sources = {
        module_name(source): source for source in (ROOT / "scenarios").rglob("*.py")
    }
    scenarios = {
        name
        for name, source in sources.items()
        if "racecheck" in imported_packages(source)
    }
    # A file of scenarios may leave racecheck to the parts that it is made of.
    found = {
        name
        for name, source in sources.items()
        if name not in scenarios and not scenarios & imported_modules(source)
    }

    assert found <= set(subjects["source_modules"])


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Return a checkout in a folder with a space in its name, without a `.venv`."""
    folder = tmp_path / "a checkout"
    (folder / ".ci").mkdir(parents=True)
    for name in ("suite", ".ci/setup", "pyproject.toml"):
        shutil.copy(ROOT / name, folder / name)
    return folder


def run_suite(checkout: Path, python: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["sh", "suite"],
        cwd=checkout,
        env={"PATH": os.environ["PATH"], "RACECHECK_PYTHON": python},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    ("answer", "complaint"),
    [
        ("echo version", "which is older than Python 3.11"),
        ("echo ensurepip", "which has no ensurepip module: install it"),
        ("exit 127", "which does not run"),
    ],
)
def test_setup_says_in_one_line_what_is_wrong_with_the_python(
    checkout: Path, tmp_path: Path, answer: str, complaint: str
) -> None:
    python = tmp_path / "python"
    python.write_text(f"#!/bin/sh\n{answer}\n", encoding="utf-8")
    python.chmod(0o755)

    outcome = run_suite(checkout, str(python))

    assert outcome.returncode == 4
    assert outcome.stdout == ""
    (line,) = outcome.stderr.splitlines()
    assert line.startswith(f"racecheck: RACECHECK_PYTHON is '{python}', {complaint}")
    assert not (checkout / ".venv").exists()
