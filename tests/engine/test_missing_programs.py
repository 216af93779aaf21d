"""Guards that a program that is nowhere is a broken scenario, and no race."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from racecheck.api import Options, explore
from racecheck.api.exploring import replay_one
from racecheck.errors import ScenarioError
from racecheck.model import Verdict
from racecheck.scenario import Budget, Scenario, command

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.processes

FEW = Options(budget=Budget(executions=20))
FAILS = "no_unexpected_errors"


def running(*argv: str, env: dict[str, str] | None = None) -> Scenario:
    made = Scenario("missing", expect={FAILS})
    made.actor(command(argv, env=env), name="one")
    return made


@pytest.mark.parametrize("engine", ["process", "stress"])
@pytest.mark.parametrize(
    ("argv", "env", "told"),
    [
        (["nosuchprog123"], None, "'nosuchprog123' on PATH"),
        (["nosuchprog123"], {"A": "1"}, "'nosuchprog123' on PATH"),
        (["sh", "-c", "exit 1"], {"PATH": "/nosuch"}, "'sh' on PATH"),
        ([""], None, "'' on PATH"),
        (["/nosuch/{name}"], None, "'/nosuch/one'"),
        (["{box}/../../../nosuch"], None, "/nosuch'"),
    ],
)
def test_a_program_that_is_nowhere_is_a_broken_scenario(
    argv: list[str], env: dict[str, str] | None, told: str, engine: str
) -> None:
    options = Options(budget=FEW.budget, engine=engine)

    with pytest.raises(ScenarioError) as info:
        explore(running(*argv, env=env), options)

    assert str(info.value).startswith("missing: one: no program ")
    assert str(info.value).endswith(told)
    assert "\n" not in str(info.value)


@pytest.mark.parametrize(
    ("argv", "env"),
    [
        (["sh", "-c", "exit 1"], None),
        (["sh", "-c", "exit 1"], {"A": "1"}),
        (["/bin/sh", "-c", "exit 1"], None),
        (["bin/made"], None),
        (["{box}/made"], None),
        (["made"], {"PATH": "{box}/bin:/nosuch"}),
    ],
)
def test_what_is_there_or_may_come_is_run(
    argv: list[str], env: dict[str, str] | None
) -> None:
    result = explore(running(*argv, env=env), FEW)

    assert result.verdict is Verdict.VIOLATED
    assert {finding.invariant for finding in result.findings} == {FAILS}


def test_the_search_is_that_of_the_actor() -> None:
    made = Scenario("missing")

    @made.setup
    def setup(box: Path) -> None:
        program = box / "own"
        program.write_text("#!/bin/sh\n")
        program.chmod(0o755)
        os.environ["PATH"] += f":{box}"

    made.actor(command(["own"]), name="one")

    assert explore(made, FEW).verdict is Verdict.PASSED


def test_a_replay_tells_it_too(tmp_path: Path) -> None:
    program = tmp_path / "program"
    program.write_text("#!/bin/sh\nexit 1\n")
    program.chmod(0o755)
    made = running(str(program))
    (finding,) = explore(made, FEW).findings
    program.unlink()

    with pytest.raises(ScenarioError, match="missing: one: no program"):
        replay_one(finding.token, made)
