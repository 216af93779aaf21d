"""Guards where settings come from, and how bad ones are told."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from racecheck.errors import UsageError
from racecheck.scenario import Budget, Settings, read_settings

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    # The nearest pyproject.toml is this one, whatever lies above the folder of tests.
    (tmp_path / "pyproject.toml").write_text("")
    return tmp_path


def configure(folder: Path, table: str) -> None:
    (folder / "pyproject.toml").write_text(f"[tool.racecheck]\n{table}\n")


def test_without_any_setting_the_usual_folder_is_taken(folder: Path) -> None:
    assert read_settings(folder, {}) == Settings(paths=(folder,))

    (folder / "scenarios").mkdir()
    assert read_settings(folder, {}).paths == (folder / "scenarios",)


def test_no_pyproject_at_all_is_fine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pathlib.Path.is_file", lambda _: False)

    assert read_settings(tmp_path, {}) == Settings(paths=(tmp_path,))


def test_the_nearest_pyproject_upward_is_read(folder: Path) -> None:
    configure(folder, 'paths = ["a", "b/c.py"]\nseed = 7\nbudget = "30s"\njobs = 2')
    below = folder / "x" / "y"
    below.mkdir(parents=True)

    assert read_settings(below, {}) == Settings(
        paths=(folder / "a", folder / "b" / "c.py"),
        seed=7,
        budget=Budget(seconds=30),
        jobs=2,
    )


def test_the_environment_overrides_the_file(folder: Path) -> None:
    configure(folder, 'paths = ["a"]\nseed = 7\nbudget = "30s"\njobs = 2')
    below = folder / "x"
    below.mkdir()
    environment = {
        "RACECHECK_SEED": "8",
        "RACECHECK_BUDGET": "100",
        "RACECHECK_JOBS": "3",
        "RACECHECK_PATHS": "b:c",
        "RACECHECK_OTHER": "is none of ours",
    }

    assert read_settings(below, environment) == Settings(
        paths=(below / "b", below / "c"), seed=8, budget=Budget(executions=100), jobs=3
    )


def test_an_empty_variable_is_none(folder: Path) -> None:
    assert read_settings(folder, {"RACECHECK_SEED": ""}).seed == 0


def test_one_path_may_stand_without_a_list(folder: Path) -> None:
    configure(folder, 'paths = "a:b"')

    assert read_settings(folder, {}).paths == (folder / "a:b",)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("sede = 1", "[tool.racecheck] has no key 'sede', did you mean 'seed'?"),
        ("seed = -1", "is a whole number from 0 on, not -1"),
        ("seed = true", "is a whole number from 0 on, not True"),
        ("seed = 'x'", "is a whole number from 0 on, not 'x'"),
        (f"seed = {2**63}", "is too large"),
        ("jobs = 10001", "is too large: it is at most 10000"),
        (f"budget = {10**20}", "a budget is at most 9223372036854775807 executions"),
        ("jobs = 0", "is a whole number from 1 on, not 0"),
        ("budget = 'soon'", "a budget is a number of executions or a time"),
        ("budget = [1]", "is a number or a text, not [1]"),
        ("paths = []", "is a list of paths, not []"),
        ("paths = [1]", "is a list of paths, not [1]"),
        ("paths = 3", "is a list of paths, not 3"),
        ("seed = ", "pyproject.toml: Invalid value"),
    ],
)
def test_bad_values_are_refused_with_their_place(
    folder: Path, table: str, message: str
) -> None:
    configure(folder, table)

    with pytest.raises(UsageError) as caught:
        read_settings(folder, {})
    assert message in str(caught.value)
    assert "pyproject.toml" in str(caught.value)


def test_a_bad_variable_is_refused_by_its_name(folder: Path) -> None:
    with pytest.raises(UsageError, match=r"^RACECHECK_BUDGET: a budget is"):
        read_settings(folder, {"RACECHECK_BUDGET": "x"})


@pytest.mark.parametrize("text", ["tool = 3", "[tool]\nracecheck = 3", "[project]"])
def test_a_file_without_a_table_of_ours(folder: Path, text: str) -> None:
    (folder / "pyproject.toml").write_text(text)

    if "racecheck" in text:
        with pytest.raises(UsageError, match="is a table, not 3"):
            read_settings(folder, {})
    else:
        assert read_settings(folder, {}) == Settings(paths=(folder,))


def test_a_file_that_is_no_text_is_refused(folder: Path) -> None:
    (folder / "pyproject.toml").write_bytes(b"\xff\xfe")

    with pytest.raises(UsageError, match=r"pyproject\.toml: "):
        read_settings(folder, {})
