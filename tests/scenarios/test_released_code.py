"""Guards what is found of released code, and that the shipped subject is true to it."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

import pytest

from racecheck.api import Options, explore_all
from racecheck.model import Verdict
from racecheck.scenario import load
from scenarios.ensure_symlink.wheels import UnavailableError, Wheel
from tests.scenarios.races import SCENARIOS, explored, found_in, meetings

if TYPE_CHECKING:
    from pathlib import Path

    from racecheck.model import ScenarioResult, Trace

pytestmark = [pytest.mark.processes, pytest.mark.slow]

STATES = ["absent", "stale_link", "stale_folder"]


@pytest.fixture(scope="module")
def released() -> dict[str, ScenarioResult]:
    """Explore the released function, which needs its wheels."""
    try:
        importlib.import_module("scenarios.ensure_symlink.released")
    except UnavailableError as error:
        pytest.skip(str(error))
    found = load([SCENARIOS / "ensure_symlink" / "released.py"])
    return {result.name: result for result in explore_all(found, Options())}


def calls(trace: Trace) -> list[tuple[str, str, bool]]:
    return [(step.actor, step.call, step.failed) for step in trace.steps]


def of(released: dict[str, ScenarioResult], state: str, post: int) -> ScenarioResult:
    return released[f"ensure_symlink/released_{state}/0.6.7.post{post}"]


@pytest.mark.parametrize("state", STATES)
def test_the_faulty_release_races_call_for_call_as_the_shipped_subject(
    state: str, released: dict[str, ScenarioResult]
) -> None:
    theirs = found_in(of(released, state, 2))
    ours = found_in(explored(f"ensure_symlink/{state}/faulty"))

    assert theirs.keys() == ours.keys()
    for invariant, finding in theirs.items():
        assert calls(finding.trace) == calls(ours[invariant].trace)
    assert any("name 'include' in ." in m for m in meetings(finding.trace))


@pytest.mark.parametrize("state", STATES)
def test_the_locked_release_passes(
    state: str, released: dict[str, ScenarioResult]
) -> None:
    result = of(released, state, 3)

    assert result.verdict is Verdict.PASSED, result.reason
    assert result.executions > 1


def test_another_file_under_the_name_of_a_wheel_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    folder = tmp_path / "racecheck" / "wheels"
    folder.mkdir(parents=True)
    (folder / "some.whl").write_bytes(b"else")

    with pytest.raises(UnavailableError, match="has the hash"):
        Wheel("some==1", "some.whl", "0" * 64).path()


def test_a_wheel_that_cannot_be_fetched_is_told_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)

    with pytest.raises(UnavailableError, match="cannot fetch some==1"):
        Wheel("some==1", "some.whl", "0" * 64).path()
