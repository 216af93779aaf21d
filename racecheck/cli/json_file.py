"""Results for other programs."""

from __future__ import annotations

import json
import os
import secrets
from typing import TYPE_CHECKING

from racecheck.api.version import version
from racecheck.errors import RacecheckError, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from racecheck.model import Finding, ScenarioResult

SCHEMA = 1


def check_target(file: Path) -> None:
    """Refuse a file that could not be written in the end, before anything is run.

    Raises:
        UsageError: Its folder does not exist.
    """
    if not file.resolve().parent.is_dir():
        raise UsageError(f"cannot write {file}: its folder does not exist")


def write_results(file: Path, seed: int, results: Sequence[ScenarioResult]) -> None:
    """Write results so that readers see the old file or all of the new one.

    Raises:
        RacecheckError: The file cannot be written.
    """
    try:
        _replace(file, json.dumps(document(seed, results), indent=2) + "\n")
    except OSError as error:
        raise RacecheckError(f"cannot write {file}: {error.strerror}") from error


def document(seed: int, results: Sequence[ScenarioResult]) -> dict[str, object]:
    """Return results as plain data."""
    return {
        "schema": SCHEMA,
        "racecheck": version(),
        "seed": seed,
        "scenarios": [_scenario(result) for result in results],
    }


def _scenario(result: ScenarioResult) -> dict[str, object]:
    return {
        "name": result.name,
        "engine": result.engine,
        "verdict": str(result.verdict),
        "reason": result.reason,
        "expected": list(result.expected),
        "as_expected": result.as_expected,
        "coverage": str(result.coverage),
        "assumptions": list(result.assumptions),
        "bounds": dict(result.bounds),
        "executions": result.executions,
        "steps": result.steps,
        "seconds": result.seconds,
        "violations": [_violation(finding) for finding in result.findings],
        "counts": [
            {
                "actor": each.actor,
                "operations": list(each.operations),
                "failed": list(each.failed),
            }
            for each in result.counts
        ],
    }


def _violation(finding: Finding) -> dict[str, object]:
    return {
        "invariant": finding.invariant,
        "message": finding.message,
        "token": finding.token,
        "steps": finding.steps,
        "context_switches": finding.context_switches,
        "confirmed": finding.confirmed,
        "seen": finding.seen,
    }


def _replace(file: Path, text: str) -> None:
    target = file.resolve()
    if target.exists() and not target.is_file():
        # A pipe or a terminal has no old content, and a rename would remove it.
        target.write_text(text, "utf-8")
        return
    # Not `tempfile`: its files are readable by nobody else.
    suffix = f"{os.getpid()}.{secrets.token_hex(4)}.tmp"
    temporary = target.with_name(f".{target.name}.{suffix}")
    try:
        with temporary.open("x", encoding="utf-8") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
