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
        UsageError: It could not.
    """
    target = file.resolve()
    if not target.parent.is_dir():
        raise UsageError(f"cannot write {file}: its folder does not exist")
    if target.exists() and not target.is_file():
        return
    # Modes do not tell: root may write where nothing can be made, as in /proc.
    trial = _temporary(target)
    try:
        trial.touch(exist_ok=False)
        trial.unlink()
    except OSError as error:
        raise UsageError(f"cannot write {file}: {error.strerror}") from error


def write_results(
    file: Path, seed: int, results: Sequence[ScenarioResult], *, interrupted: bool
) -> None:
    """Write results so that readers see the old file or all of the new one.

    Args:
        file: Where to.
        seed: Seed of the explorations.
        results: What came of those that were made.
        interrupted: Whether something ended the run before they all were.

    Raises:
        RacecheckError: The file cannot be written.
    """
    made = document(seed, results, interrupted=interrupted)
    replace_file(file, json.dumps(made, indent=2) + "\n")


def replace_file(file: Path, text: str) -> None:
    """Write a text so that readers see the old file or all of the new one.

    Raises:
        RacecheckError: The file cannot be written.
    """
    try:
        _replace(file, text)
    except OSError as error:
        raise RacecheckError(f"cannot write {file}: {error.strerror}") from error


def document(
    seed: int, results: Sequence[ScenarioResult], *, interrupted: bool = False
) -> dict[str, object]:
    """Return results as plain data, as `write_results` writes them."""
    return {
        "schema": SCHEMA,
        "racecheck": version(),
        "seed": seed,
        "interrupted": interrupted,
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
    temporary = _temporary(target)
    try:
        with temporary.open("x", encoding="utf-8") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _temporary(target: Path) -> Path:
    # Not `tempfile`: its files are readable by nobody else.
    suffix = f"{os.getpid()}.{secrets.token_hex(4)}.tmp"
    return target.with_name(f".{target.name}.{suffix}")
