"""Setting a scenario up in a box, once for all executions."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from racecheck.errors import PASSING, RacecheckError, ScenarioError
from racecheck.invariants.wording import described
from racecheck.scenario.checks import about
from racecheck.scenario.lookup import check_found

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from racecheck.engine.sandbox import Sandbox
    from racecheck.model import Program
    from racecheck.scenario import Scenario


def set_up(scenario: Scenario, sandbox: Sandbox) -> tuple[Program, ...]:
    """Let a scenario fill the box, keep it as the start, and return the programs.

    Raises:
        ScenarioError: Its setup raises, its functions ask for what is not there, or a
            program that it runs is missing.
    """
    sandbox.clear()
    programs = prepared(scenario, sandbox.box, sandbox.keep_as_initial)
    with about(scenario.name):
        check_found(scenario.actors, programs, sandbox.root)
    return programs


def prepared(
    scenario: Scenario, box: Path, keep: Callable[[], None]
) -> tuple[Program, ...]:
    """Let a scenario fill a box, have that kept, and return the programs.

    Raises:
        ScenarioError: Its setup raises, or its functions ask for what is not there.
    """
    own = os.getpid()
    try:
        state = scenario.prepare(box)
    except (RacecheckError, *PASSING):
        raise
    except BaseException as error:
        raise ScenarioError(
            f"{scenario.name}: setup raised {described(error)}"
        ) from error
    finally:
        if os.getpid() != own:
            # What it has forked is not to go on as a second worker.
            os._exit(1)
    keep()
    return scenario.programs(box, state)
