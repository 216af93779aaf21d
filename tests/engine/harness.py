"""Explores or replays one scenario, for tests that start it as a process of its own.

    harness.py explore FILE NAME EXECUTIONS [WORKDIR [SCHEDULER]]
    harness.py replay FILE TOKEN [WORKDIR]

It prints what came of it as JSON, an error as well.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from racecheck.api import Options, explore_all, replay
from racecheck.errors import RacecheckError
from racecheck.scenario import Budget, load


def main(what: str, file: str, name: str, *rest: str) -> dict[str, object]:
    """Do what the command line says, and return what is to be printed."""
    loaded = load([Path(file)])
    if what == "replay":
        workdir = Path(rest[0]) if rest else None
        again = replay(name, loaded, Options(workdir=workdir))
        return {
            "same": again.same,
            "left": again.left,
            "steps": [f"{step.actor} {step}" for step in again.trace.steps],
            "broken": [each.invariant for each in again.trace.violations],
        }
    options = Options(
        budget=Budget(executions=int(rest[0])),
        workdir=Path(rest[1]) if rest[1:] else None,
        scheduler=rest[2] if rest[2:] else "dpor",
    )
    (result,) = explore_all([each for each in loaded if each.name == name], options)
    return {
        "verdict": result.verdict,
        "reason": result.reason,
        "executions": result.executions,
        "tokens": {each.invariant: each.token for each in result.findings},
    }


if __name__ == "__main__":
    try:
        answer = main(*sys.argv[1:])
    except RacecheckError as error:
        answer = {
            "error": type(error).__name__,
            "message": str(error),
            "exit_code": error.exit_code,
        }
    sys.stdout.write(json.dumps(answer))
